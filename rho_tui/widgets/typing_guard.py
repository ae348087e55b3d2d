"""Whether a person is typing right now, so that no prompt takes keys meant for something else.

A prompt that appears while keys are in flight must not be answered by them. One guard is shared by
everything that takes keys: whoever sees a key press notes it; a prompt asks how long it has to
wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable

QUIET_SECONDS = 0.7
"""How long nobody may have typed before a prompt listens to keys."""


class TypingGuard:
    """Remembers the last key press.

    Args:
        quiet_seconds: Seconds without a key press before a prompt may take keys; 0 switches it off.
        clock: A monotonic clock in seconds.
    """

    def __init__(
        self,
        quiet_seconds: float = QUIET_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.quiet_seconds = quiet_seconds
        self._clock = clock
        self._last_key: float | None = None

    def now(self) -> float:
        """Seconds on the guard's clock."""
        return self._clock()

    def note_key(self) -> None:
        """A key was pressed or text was pasted, anywhere."""
        self._last_key = self._clock()

    def typed_since(self, moment: float) -> bool:
        """Whether a key was pressed after `moment`."""
        return self._last_key is not None and self._last_key > moment

    def remaining(self, since: float) -> float:
        """Seconds until a prompt that appeared at `since` may take keys; 0.0 when it may."""
        start = since if self._last_key is None else max(since, self._last_key)
        return max(0.0, start + self.quiet_seconds - self._clock())
