"""How long a model call took, from what was observed of its stream (C93)."""

from __future__ import annotations

import time
from collections.abc import Callable

from rho_core.events import ModelCallMetrics


class ModelCallTimer:
    """Times one physical attempt; seconds of `now`, the clock that also stamps events."""

    __slots__ = ("_first", "_generation_tokens", "_last", "_now", "_start")

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.restart()

    def restart(self) -> None:
        """Start over: the provider repeats the physical request (C82)."""
        self._start = self._now()
        self._first: float | None = None
        self._last: float | None = None
        self._generation_tokens: int | None = None

    def observe(self, observed_at: float | None, generated: bool) -> None:
        """Note an event; synthesised ones carry no time and time nothing."""
        if observed_at is None:
            return
        self._last = observed_at
        if generated and self._first is None:
            self._first = observed_at

    def generation_output_tokens(self, tokens: int) -> None:
        """Keep the output tokens of the generation window alone; nonsense means unknown."""
        valid = isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0
        self._generation_tokens = tokens if valid else None

    def finish(self, output_tokens: int | None) -> ModelCallMetrics:
        """The figures of a call that has completed just now."""
        end = self._now() if self._last is None else self._last
        first = self._first
        return ModelCallMetrics(
            output_tokens=output_tokens,
            time_to_first_token=None if first is None else max(0.0, first - self._start),
            generation_time=None if first is None else max(0.0, end - first),
            total_latency=max(0.0, end - self._start),
            generation_output_tokens=self._generation_tokens,
        )
