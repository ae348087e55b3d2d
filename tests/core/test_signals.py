"""The worker's wake-up call, the sink and the stream it feeds (L2, L4, C8)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import Cancelled
from rho_core.event_sink import ConsumerDropped, EventSink
from rho_core.event_stream import EventStream
from rho_core.signals import Signal
from tests.core.run_harness import until, within


@pytest.mark.clause("L4")
async def test_a_notification_before_the_wait_is_not_lost_and_counts_once() -> None:
    signal = Signal()
    signal.notify()
    signal.notify()
    await within(signal.wait())
    waiting = asyncio.create_task(signal.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    signal.notify()
    await within(waiting)


@pytest.mark.clause("L4")
async def test_a_cancelled_wait_leaves_the_signal_usable() -> None:
    signal = Signal()
    waiting = asyncio.create_task(signal.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    signal.notify()
    await within(signal.wait())


def sink(capacity: int) -> tuple[EventSink[int], Channel[int], CancellationToken]:
    channel: Channel[int] = Channel(capacity)
    token, signal = CancellationToken(), Signal()
    loop = asyncio.get_running_loop()
    token.on_cancel(lambda: loop.call_soon_threadsafe(signal.notify))
    return EventSink(channel, token, signal), channel, token


@pytest.mark.clause("C8")
async def test_with_room_even_a_cancelled_run_delivers() -> None:
    events, channel, token = sink(1)
    token.cancel()
    await events.emit(1)
    assert channel.try_receive() == 1


@pytest.mark.clause("C8", "C10")
async def test_a_blocked_send_gives_way_to_cancellation_but_a_terminal_one_does_not() -> None:
    events, channel, token = sink(1)
    await events.emit(1)
    blocked = asyncio.create_task(events.emit(2))
    await asyncio.sleep(0)
    token.cancel()
    with pytest.raises(Cancelled):
        await within(blocked)
    terminal = asyncio.create_task(events.emit_even_if_cancelled(3))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not terminal.done()
    assert channel.try_receive() == 1
    await within(terminal)
    assert channel.try_receive() == 3


@pytest.mark.clause("C9", "C10")
async def test_a_reader_that_has_gone_is_an_error_except_for_terminal_events() -> None:
    events, channel, _ = sink(1)
    await events.emit(1)
    blocked = asyncio.create_task(events.emit(2))
    await asyncio.sleep(0)
    channel.drop_receiver()
    with pytest.raises(ConsumerDropped):
        await within(blocked)
    with pytest.raises(ConsumerDropped):
        events.try_emit(3)
    await within(events.emit_even_if_cancelled(4))


@pytest.mark.clause("C54")
async def test_a_blocked_send_serves_what_stirs_meanwhile() -> None:
    channel: Channel[int] = Channel(1)
    signal = Signal()
    events = EventSink(channel, CancellationToken(), signal)
    served: list[str] = []
    await events.emit(1)
    blocked = asyncio.create_task(events.emit(2, lambda: served.append("command")))
    await asyncio.sleep(0)
    signal.notify()
    await until(lambda: len(served) == 2)
    assert not blocked.done()
    channel.try_receive()
    await within(blocked)


@pytest.mark.clause("C4")
async def test_a_stream_ends_for_every_reader_once_its_channel_closes() -> None:
    channel: Channel[int] = Channel(4)
    stream = EventStream(channel)
    channel.try_send(1)
    reader = asyncio.create_task(stream.next())
    assert await within(reader) == 1
    waiting = asyncio.create_task(stream.next())
    await asyncio.sleep(0)
    channel.close()
    assert await within(waiting) is None
    assert [event async for event in stream.iterate()] == []
    assert not stream.is_iterated


@pytest.mark.clause("C3")
async def test_a_wait_that_times_out_again_and_again_leaves_nothing_behind() -> None:
    channel: Channel[int] = Channel(4)
    stream = EventStream(channel)
    for _ in range(50):
        waiting = asyncio.create_task(stream.next())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert channel._getters == []
    channel.try_send(7)
    assert await within(stream.next()) == 7
