"""Noticing that a server has gone silent (2.39)."""

from __future__ import annotations

import asyncio


class IdleWatch:
    """Ends a `asyncio.timeout` scope when a wait for the server has lasted too long.

    One timer that re-arms itself: marking a payload costs one assignment, not a timer each.
    Time in which the consumer holds us up is nobody's silence.
    """

    __slots__ = ("_handle", "_loop", "_scope", "_seconds", "_since", "_waiting")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting = True
        self._scope: asyncio.Timeout | None = None
        self._handle: asyncio.TimerHandle | None = None

    def start(self, scope: asyncio.Timeout) -> None:
        """Begin to count."""
        self._loop = asyncio.get_running_loop()
        self._scope = scope
        self._since = self._loop.time()
        self._handle = self._loop.call_later(self._seconds, self._check)

    def payload_seen(self) -> None:
        """Something meaningful arrived; the consumer is busy with it now."""
        self._waiting = False

    def waiting(self) -> None:
        """We wait for the server again. The clock restarts only after a payload."""
        if not self._waiting:
            self._waiting = True
            self._since = self._loop.time()

    def shorten(self, seconds: float) -> None:
        """Wait at most this long from now on."""
        if seconds < self._seconds:
            self._seconds = seconds
            self.stop()
            self._handle = self._loop.call_later(seconds, self._check)

    def stop(self) -> None:
        """Release the timer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _check(self) -> None:
        now = self._loop.time()
        left = self._since + self._seconds - now if self._waiting else self._seconds
        if left <= 0 and self._scope is not None:
            self._scope.reschedule(now)
            return
        self._handle = self._loop.call_later(max(left, 0.001), self._check)
