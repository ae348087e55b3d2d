"""The channel under any interleaving: bounded, in order, nothing lost, nobody stuck (C7, L2)."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.channels import Channel, ChannelClosed

#: one step of the world; the number picks whom it concerns
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["send", "send", "send", "try", "receive", "receive", "take", "cancel", "turn", "turn"]
        ),
        st.integers(0, 7),
    ),
    max_size=40,
)


class World:
    """A channel with many senders and one receiver at a time, and what became of each item."""

    def __init__(self, capacity: int) -> None:
        self.channel: Channel[int] = Channel(capacity)
        self.capacity = capacity
        self.next = 0
        self.sending: dict[int, asyncio.Task[None]] = {}
        self.receiving: list[asyncio.Task[int]] = []
        self.sent: set[int] = set()
        self.order: list[int] = []  # items in the order in which they were offered
        self.received: list[int] = []

    async def step(self, what: str, which: int) -> None:
        match what:
            case "send":
                item = self._item()
                self.sending[item] = asyncio.create_task(self.channel.send(item))
                await asyncio.sleep(0)  # it stands in line now
            case "try":
                item = self._item()
                if self.channel.try_send(item):
                    self.sent.add(item)
            case "receive" if not self.receiving or self.receiving[-1].done():
                self.receiving.append(asyncio.create_task(self.channel.receive()))
            case "take" if not self.receiving or self.receiving[-1].done():
                self.settle()
                taken = self.channel.try_receive()
                self.received += [] if taken is None else [taken]
            case "cancel":
                tasks = [*self.sending.values(), *self.receiving]
                if tasks:
                    tasks[which % len(tasks)].cancel()
            case "turn":
                await asyncio.sleep(0)
        self.settle()
        assert len(self.channel) <= self.capacity

    def _item(self) -> int:
        self.order.append(self.next)
        self.next += 1
        return self.next - 1

    def settle(self) -> None:
        for item, task in [*self.sending.items()]:
            if task.done():
                del self.sending[item]
                if not task.cancelled() and task.exception() is None:
                    self.sent.add(item)
        for receive in [*self.receiving]:
            if receive.done():
                self.receiving.remove(receive)
                if not receive.cancelled() and receive.exception() is None:
                    self.received.append(receive.result())

    async def finish(self, end: str) -> None:
        """Close one end, and wait for everybody."""
        if end == "close":
            self.channel.close()
        else:
            self.channel.drop_receiver()
        everyone = [*self.sending.values(), *self.receiving]
        if everyone:
            done, stuck = await asyncio.wait(everyone, timeout=5)
            assert not stuck
            for task in done:
                assert task.cancelled() or isinstance(task.exception(), ChannelClosed | None)
        self.settle()
        while (left := self.channel.try_receive()) is not None:
            self.received.append(left)


@pytest.mark.clause("C7", "C9", "L2")
@settings(max_examples=100)
@given(script=steps, capacity=st.integers(1, 4), end=st.sampled_from(["close", "drop"]))
def test_whatever_happens_items_arrive_once_in_order_and_nobody_waits_for_ever(
    script: list[tuple[str, int]], capacity: int, end: str
) -> None:
    async def live() -> None:
        world = World(capacity)
        for what, which in script:
            await world.step(what, which)
        await world.finish(end)
        assert len(set(world.received)) == len(world.received)
        assert world.received == sorted(world.received)  # in the order in which they were offered
        # a receive that is cancelled takes nothing; closing keeps what was sent, dropping may not
        assert set(world.received) <= world.sent
        if end == "close":
            assert set(world.received) == world.sent

    asyncio.run(live())
