"""Whether an Enter was pressed by a person or is a line end of text that arrived in one go.

Terminals without bracketed paste send a paste as keys: `a`, Enter, `b`, Enter. Somebody who pipes
`hello` and Enter in one write means to submit. Both arrive without a pause, so the difference is
what follows: an Enter in a burst waits for a moment, more text makes it a newline, silence submits.
"""

from __future__ import annotations

BURST_GAP_SECONDS = 0.006
"""Keys that are created closer together than this were not typed by a person."""
SETTLE_SECONDS = 0.03
"""How long an Enter at the end of a burst waits for more."""


class EnterBurst:
    """Follows the creation times of keys; times are seconds on any one clock."""

    def __init__(self, gap: float = BURST_GAP_SECONDS) -> None:
        self._gap = gap
        self._last: float | None = None
        self._multiline = False

    def text_key(self, at: float) -> bool:
        """A printable key, or a paste; returns whether it belongs to a burst."""
        return self._advance(at)

    def paste(self, at: float) -> None:
        """A bracketed paste: an Enter right behind it belongs to it (its end marker was inside)."""
        self._advance(at)
        self._multiline = True

    def newline_taken(self) -> None:
        """An Enter of this burst became a newline: so do the others."""
        self._multiline = True

    def enter(self, at: float) -> str:
        """What an Enter at `at` means: `submit`, `wait` (for `SETTLE_SECONDS`) or `newline`."""
        in_burst = self._advance(at)
        if not in_burst:
            return "submit"
        return "newline" if self._multiline else "wait"

    def _advance(self, at: float) -> bool:
        in_burst = self._last is not None and at - self._last < self._gap
        self._last = at
        if not in_burst:
            self._multiline = False
        return in_burst
