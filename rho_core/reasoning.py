"""How hard a model is asked to think (B45–B48)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class ReasoningLevel(StrEnum):
    """Ordered from off to max, not by spelling; the values are the words on the wire."""

    OFF = "off"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"

    @classmethod
    def parse(cls, text: str) -> ReasoningLevel:
        """Read a level; `none` and the empty text mean off. Raises ValueError naming all seven."""
        word = text.strip().lower()
        if word in ("", "none"):
            return cls.OFF
        try:
            return cls(word)
        except ValueError:
            words = ", ".join(cls)
            raise ValueError(f"unknown reasoning level {text!r}; use one of {words}") from None

    @property
    def rank(self) -> int:
        """The position in the order, off being 0."""
        return list(ReasoningLevel).index(self)

    def __lt__(self, other: str) -> bool:
        return self.rank < other.rank if isinstance(other, ReasoningLevel) else NotImplemented

    def __le__(self, other: str) -> bool:
        return self.rank <= other.rank if isinstance(other, ReasoningLevel) else NotImplemented

    def __gt__(self, other: str) -> bool:
        return self.rank > other.rank if isinstance(other, ReasoningLevel) else NotImplemented

    def __ge__(self, other: str) -> bool:
        return self.rank >= other.rank if isinstance(other, ReasoningLevel) else NotImplemented

    @property
    def effort(self) -> str | None:
        """The effort word for a provider, None when reasoning is off."""
        return None if self is ReasoningLevel.OFF else self.value

    @property
    def summary(self) -> str | None:
        """How a provider is asked to summarise its reasoning, None when reasoning is off (B48)."""
        return None if self is ReasoningLevel.OFF else "auto"

    def next_supported(self, supported: Sequence[ReasoningLevel] | None = None) -> ReasoningLevel:
        """The following level, cyclically, among the supported ones (all when None)."""
        if supported is not None and not supported:
            return self
        levels = list(ReasoningLevel)
        for step in range(1, len(levels) + 1):
            candidate = levels[(self.rank + step) % len(levels)]
            if supported is None or candidate in supported:
                return candidate
        return self

    def normalize(self, supported: Sequence[ReasoningLevel] | None) -> ReasoningLevel:
        """The nearest supported level: upwards first, then down, never to off (B47)."""
        if not supported or self in supported or self is ReasoningLevel.OFF:
            return self
        active = sorted((s for s in supported if s is not ReasoningLevel.OFF), key=lambda s: s.rank)
        above = [s for s in active if s.rank > self.rank]
        if above:
            return above[0]
        return active[-1] if active else self
