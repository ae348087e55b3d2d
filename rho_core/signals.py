"""One wake-up call for a coroutine that watches many sources (L4).

The run's worker looks at its sources in a fixed order of priority and sleeps on one `Signal` when
none has anything. That gives a biased select without a task or a future per source and event.
"""

from __future__ import annotations

import asyncio


class Signal:
    """Remembers one notification; one coroutine waits at a time. Belongs to one event loop."""

    __slots__ = ("_set", "_waiter")

    def __init__(self) -> None:
        self._set = False
        self._waiter: asyncio.Future[None] | None = None

    def notify(self) -> None:
        """Wake the waiter, now or at its next `wait`."""
        if self._set:
            return  # the waiter has been woken already, or nobody waits
        self._set = True
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def wait(self) -> None:
        """Return once notified since the last return; then look at every source again."""
        if not self._set:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        self._set = False
