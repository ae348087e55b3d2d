"""One task that decides in which order things happen: run events first, the host's jobs second.

Whatever a run has told stands before whatever the host adds, because the host reacts to the run.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

from rho_core.channels import Channel, ChannelClosed
from rho_core.errors import Interrupted
from rho_core.events import RunEvent
from rho_core.run import Run
from rho_core.signals import Signal
from rho_tui.host.facts import ConversationEvent

T = TypeVar("T")

EVENT_CAPACITY = 256
"""Unread events before a conversation waits for its reader, and with it the run."""


class Sequencer:
    """Runs the conversation's work in order and holds the stream that its one reader reads.

    Args:
        on_event: Handles an event of the watched run.
        on_end: Handles the end of the watched run's events.
        on_reader_gone: Told once when the reader leaves before `close`.
    """

    def __init__(
        self,
        on_event: Callable[[RunEvent], Awaitable[None]],
        on_end: Callable[[], Awaitable[None]],
        on_reader_gone: Callable[[], None],
    ) -> None:
        self._on_event, self._on_end = on_event, on_end
        self._on_reader_gone = on_reader_gone
        self._stream: Channel[ConversationEvent] = Channel(EVENT_CAPACITY)
        self._jobs: deque[Callable[[], Awaitable[None]]] = deque()
        self._signal = Signal()
        self._run: Run | None = None
        self._has_reader = False
        self._closing = False
        self._task = asyncio.create_task(self._work(), name="rho conversation")

    # -- the reader -------------------------------------------------------------------------

    async def events(self) -> AsyncIterator[ConversationEvent]:
        """All events in order, until `close`.

        Raises RuntimeError for a second reader, and whatever broke the work, if anything did.
        """
        if self._has_reader:
            raise RuntimeError("a conversation has one reader")
        self._has_reader = True
        try:
            while True:
                try:
                    event = await self._stream.receive()
                except ChannelClosed:
                    break
                yield event
            if self._task.done() and not self._task.cancelled():
                self._task.result()
        finally:
            self._stream.drop_receiver()
            if not self._closing:
                self._on_reader_gone()

    async def show(self, events: Iterable[ConversationEvent]) -> None:
        """Hand events to the reader, waiting for it where needed; nothing happens without one."""
        for event in events:
            try:
                await self._stream.send(event)
            except ChannelClosed:
                return

    # -- work -------------------------------------------------------------------------------

    def post(self, job: Callable[[], Awaitable[None]]) -> None:
        """Run `job` once every event that the run has told so far is handled."""
        self._jobs.append(job)
        self._signal.notify()

    async def perform(self, job: Callable[[], Awaitable[tuple[T, list[ConversationEvent]]]]) -> T:
        """Run `job` in its turn and return its result; its events are shown afterwards.

        The caller may be the reader itself: the result is there before anything waits for it.
        Raises what `job` raises, and `Interrupted` when the conversation is closed before.
        """
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            try:
                value, events = await job()
            except Exception as error:  # noqa: BLE001 - it belongs to the caller
                if not result.done():
                    result.set_exception(error)
                return
            if not result.done():
                result.set_result(value)
            await self.show(events)

        if not self._task.done():
            self.post(run)
            await asyncio.wait((result, self._task), return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            raise Interrupted("the conversation is closed")
        return result.result()

    def watch(self, run: Run | None) -> None:
        """Handle the events of `run` from now on; None: of no run."""
        if self._run is not None:
            self._run.on_event(None)
        self._run = run
        if run is not None:
            run.on_event(self._signal.notify)
        self._signal.notify()

    async def close(self, patience: float) -> bool:
        """Show nothing more, finish what is under way; False if that takes over `patience` s.

        Then the work is dropped.
        """
        self._closing = True
        self._stream.close()
        self._stream.drop_receiver()
        self._signal.notify()
        await asyncio.wait((self._task,), timeout=patience)
        if self._task.done():
            self._task.result()
            return True
        self._task.cancel()
        await asyncio.wait((self._task,), timeout=patience / 5)
        return False

    async def _work(self) -> None:
        try:
            await self._take_turns()
        finally:
            self._stream.close()  # a reader must never wait for work that has broken

    async def _take_turns(self) -> None:
        while True:
            run = self._run
            if run is not None:
                event = run.take_event()
                if event is not None:
                    await self._on_event(event)
                    continue
                if run.events_ended:
                    await self._on_end()
                    continue
            if self._jobs:
                await self._jobs.popleft()()
                continue
            if self._closing and run is None:
                return
            await self._signal.wait()
