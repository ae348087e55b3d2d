"""The bounded channel: order, backpressure, and both kinds of goodbye (L2)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core.channels import Channel, ChannelClosed
from tests.core.authorization import until

pytestmark = pytest.mark.clause("L2")


def test_capacity_is_at_least_one() -> None:
    with pytest.raises(ValueError):
        Channel(0)


async def test_items_come_in_order_and_try_send_refuses_a_full_channel() -> None:
    channel: Channel[int] = Channel(2)
    assert channel.try_receive() is None
    assert channel.try_send(1)
    assert channel.try_send(2)
    assert not channel.try_send(3)
    assert len(channel) == 2
    assert [await channel.receive(), channel.try_receive()] == [1, 2]


async def test_senders_wait_for_room_in_fifo_order() -> None:
    channel: Channel[int] = Channel(1)
    sending = [asyncio.create_task(channel.send(number)) for number in range(5)]
    received = [await channel.receive() for _ in range(5)]
    assert received == list(range(5))
    await asyncio.gather(*sending)


async def test_a_late_try_send_does_not_overtake_a_waiting_sender() -> None:
    channel: Channel[str] = Channel(1)
    await channel.send("first")
    waiting = asyncio.create_task(channel.send("second"))
    await asyncio.sleep(0)
    assert channel.try_receive() == "first"
    # the room belongs to the sender that waits, though it has not run yet
    assert not channel.try_send("third")
    await waiting
    assert await channel.receive() == "second"


async def test_a_cancelled_sender_gives_its_turn_away() -> None:
    channel: Channel[str] = Channel(1)
    await channel.send("a")
    gone = asyncio.create_task(channel.send("gone"))
    stays = asyncio.create_task(channel.send("b"))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    assert [await channel.receive(), await channel.receive()] == ["a", "b"]
    await stays


async def test_a_sender_cancelled_after_its_room_was_granted_passes_it_on() -> None:
    channel: Channel[str] = Channel(1)
    await channel.send("a")
    gone = asyncio.create_task(channel.send("gone"))
    stays = asyncio.create_task(channel.send("b"))
    await asyncio.sleep(0)
    assert channel.try_receive() == "a"  # grants the room to `gone`, which has not run yet
    gone.cancel()
    await asyncio.wait((gone,))
    assert await asyncio.wait_for(channel.receive(), 5) == "b"
    await stays
    assert channel.try_send("c")


async def test_a_closed_channel_can_be_read_to_its_end() -> None:
    channel: Channel[int] = Channel(2)
    await channel.send(1)
    channel.close()
    with pytest.raises(ChannelClosed):
        channel.try_send(2)
    with pytest.raises(ChannelClosed):
        await channel.send(2)
    assert await channel.receive() == 1
    with pytest.raises(ChannelClosed):
        await channel.receive()


async def test_closing_wakes_the_receiver_and_waiting_senders() -> None:
    channel: Channel[int] = Channel(1)
    receiving = asyncio.create_task(channel.receive())
    await asyncio.sleep(0)
    channel.close()
    with pytest.raises(ChannelClosed):
        await receiving

    full: Channel[int] = Channel(1)
    await full.send(1)
    sending = asyncio.create_task(full.send(2))
    await asyncio.sleep(0)
    full.close()
    with pytest.raises(ChannelClosed):
        await sending
    assert await full.receive() == 1


async def test_a_receiver_that_leaves_fails_all_senders() -> None:
    channel: Channel[int] = Channel(1)
    await channel.send(1)
    sending = asyncio.create_task(channel.send(2))
    await asyncio.sleep(0)
    channel.drop_receiver()
    assert channel.receiver_gone
    assert channel.is_closed
    with pytest.raises(ChannelClosed):
        await sending
    with pytest.raises(ChannelClosed):
        channel.try_send(3)
    assert len(channel) == 0


async def test_ready_waits_and_takes_nothing() -> None:
    channel: Channel[int] = Channel(1)
    waiting = asyncio.create_task(channel.ready())
    await asyncio.sleep(0)
    assert not waiting.done()
    await channel.send(1)
    await waiting
    assert len(channel) == 1
    channel.close()
    await channel.ready()


async def test_a_cancelled_receive_loses_no_item() -> None:
    channel: Channel[int] = Channel(1)
    receiving = asyncio.create_task(channel.receive())
    await asyncio.sleep(0)
    receiving.cancel()
    await channel.send(1)
    await asyncio.wait((receiving,))
    assert receiving.cancelled()
    assert await asyncio.wait_for(channel.receive(), 5) == 1


async def test_callbacks_tell_of_items_and_room() -> None:
    channel: Channel[int] = Channel(1)
    seen: list[str] = []
    channel.on_item(lambda: seen.append("item"))
    await channel.send(1)
    channel.once_room(lambda: seen.append("room"))
    channel.try_receive()
    channel.try_receive()
    assert seen == ["item", "room"]
    channel.once_room(lambda: seen.append("room"))
    channel.close()
    assert seen == ["item", "room", "item", "room"]


async def test_a_busy_pair_of_ends_moves_everything_once() -> None:
    channel: Channel[int] = Channel(3)

    async def produce(start: int) -> None:
        for number in range(start, start + 100):
            await channel.send(number)

    producers = [asyncio.create_task(produce(base)) for base in (0, 1000, 2000)]
    received = [await channel.receive() for _ in range(300)]
    await until(lambda: all(task.done() for task in producers))
    for base in (0, 1000, 2000):
        assert [n for n in received if base <= n < base + 1000] == list(range(base, base + 100))
