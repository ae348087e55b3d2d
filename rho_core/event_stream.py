"""The reading end of a run's events, shared by model runs and tool host runs (C3, C4, H7)."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from rho_core.channels import Channel

E = TypeVar("E")


class EventStream(Generic[E]):
    """Reads one bounded channel, by hand or by iteration, and can make room for a stalled sender.

    While an iteration lives, making room loses nothing: events are set aside for it.
    """

    def __init__(self, channel: Channel[E]) -> None:
        self._channel = channel
        self._set_aside: deque[E] = deque()
        self.has_set_aside = False
        self._readers = 0  # coroutines that wait for an event right now
        self._iterations: weakref.WeakSet[EventIteration[E]] = weakref.WeakSet()

    @property
    def is_iterated(self) -> bool:
        """Whether an `async for` over the events is in progress."""
        return bool(self._iterations)

    def take(self) -> E | None:
        """The next event if one is there already."""
        return self._set_aside.popleft() if self._set_aside else self._channel.try_receive()

    def on_event(self, callback: Callable[[], None] | None) -> None:
        """Call `callback` whenever an event is queued or the stream ends; it only takes note."""
        self._channel.on_item(callback)

    @property
    def has_ended(self) -> bool:
        """Whether no event is left and none will come."""
        return not self._set_aside and not len(self._channel) and self._channel.is_closed

    async def next(self) -> E | None:
        """The next event; None at the end of the stream."""
        while True:
            if self._set_aside:
                return self._set_aside.popleft()
            self.has_set_aside = False
            event = self._channel.try_receive()
            if event is not None:
                return event
            if self._channel.is_closed:
                return None
            self._readers += 1
            try:
                await self._channel.ready()
            finally:
                self._readers -= 1

    def iterate(self) -> EventIteration[E]:
        """A new iteration from here on."""
        iteration = EventIteration(self, self._channel.try_receive)
        self._iterations.add(iteration)
        return iteration

    def drop(self) -> None:
        """Stop reading for good: the sender learns that its consumer has gone."""
        self._channel.drop_receiver()

    async def relieve_while(self, task: asyncio.Task[object]) -> None:
        """Until `task` is done, keep its sender from waiting for a reader that does not come."""
        relief = asyncio.ensure_future(self._relieve())
        await _beside(task, relief)

    async def discard_while(
        self, task: asyncio.Task[object], dispose: Callable[[E], object]
    ) -> None:
        """Until `task` is done, take every event and `dispose` of it."""
        await _beside(task, asyncio.ensure_future(self._discard(dispose)))

    async def _relieve(self) -> None:
        while True:
            await self._channel.blocked()
            if self._channel.is_closed:
                return  # whatever is left can still be read
            if self._readers:  # a reader is about to take what is there
                await asyncio.sleep(0)
                continue
            keep = self.is_iterated
            while (event := self._channel.try_receive()) is not None:
                if keep:
                    self._set_aside.append(event)
                    self.has_set_aside = True

    async def _discard(self, dispose: Callable[[E], object]) -> None:
        while (event := await self.next()) is not None:
            dispose(event)

    def forget(self, iteration: EventIteration[E]) -> None:
        """The iteration has reached the end."""
        self._iterations.discard(iteration)


class EventIteration(Generic[E]):
    """One `async for` over a stream; it ends when the stream does or when it is let go of."""

    __slots__ = ("__weakref__", "_stream", "_take")

    def __init__(self, stream: EventStream[E], take: Callable[[], E | None]) -> None:
        self._stream = stream
        self._take = take

    def __aiter__(self) -> EventIteration[E]:
        return self

    async def __anext__(self) -> E:
        stream = self._stream
        if not stream.has_set_aside:  # the usual case costs one call
            event = self._take()
            if event is not None:
                return event
        event = await stream.next()
        if event is None:
            stream.forget(self)
            raise StopAsyncIteration
        return event


async def _beside(task: asyncio.Task[object], companion: asyncio.Future[None]) -> None:
    try:
        await asyncio.wait((task,))
    finally:
        companion.cancel()
        await asyncio.wait((companion,))
