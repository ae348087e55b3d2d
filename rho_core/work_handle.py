"""What the handles on a model run and on a tool host call share: events, cancelling, owning."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import InvalidHostResponse
from rho_core.event_stream import EventIteration, EventStream

E = TypeVar("E")
R = TypeVar("R")


class WorkHandle(Generic[E, R]):
    """Work that is already scheduled, with the stream of its events.

    `async with` owns it. Whoever lets go of the handle without that drops the work as well.

    Args:
        task: The work.
        events: What it tells.
        token: What asks it to stop.
        drop: Makes the work end soon. It must not hold the handle: it is called when that is gone.
    """

    def __init__(
        self,
        task: asyncio.Task[R],
        events: Channel[E],
        token: CancellationToken,
        drop: Callable[[], object],
    ) -> None:
        self._task = task
        self._events = EventStream(events)
        self._token = token
        self._drop = drop
        self._outcome_taken = False
        loop = asyncio.get_running_loop()
        weakref.finalize(self, _let_go, loop, task, drop).atexit = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Drop the work if it has not finished, and wait until it has ended."""
        if not self._task.done():
            self._drop()
            await asyncio.wait((self._task,))

    def __aiter__(self) -> EventIteration[E]:
        return self._events.iterate()

    async def next_event(self) -> E | None:
        """The next event; None at the end of the stream."""
        return await self._events.next()

    def cancel(self) -> None:
        """Ask the work to stop in good order (C63, H10). A no-op after its end."""
        self._token.cancel()

    @property
    def cancellation_handle(self) -> CancellationToken:
        """The token of the work, to be cancelled from elsewhere, any thread included."""
        return self._token

    @property
    def is_finished(self) -> bool:
        """Whether the work has ended."""
        return self._task.done()

    def _take_outcome(self, name: str) -> None:
        """Note that the outcome is asked for, which is possible once."""
        if self._outcome_taken:
            raise InvalidHostResponse(f"{name} outcome was already consumed")
        self._outcome_taken = True


def _let_go(
    loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], drop: Callable[[], object]
) -> None:
    """The handle was let go of. The collector may run in any thread: hand over to the loop."""
    if not task.done() and not loop.is_closed():
        loop.call_soon_threadsafe(drop)
