"""The host's deadline for a questionnaire form: who stops it, when it fires (G22, APP4.21)."""

from __future__ import annotations

from rho_core.questions import HostInputRequest, HostInputResponse


class FormClock:
    """The host's deadline for one open form (G22).

    Without a duration or without a fallback no deadline exists. The first `touch` stops it for
    good.

    Args:
        request: The form; its timeout fallback is what `expire` returns.
        timeout_seconds: The configured duration, copied here; None means none.
        opened_at: Reading of the monotonic clock at which the form was opened.
    """

    def __init__(
        self, request: HostInputRequest, timeout_seconds: float | None, opened_at: float
    ) -> None:
        self._fallback = request.timeout_fallback
        armed = timeout_seconds is not None and self._fallback is not None
        self._deadline = opened_at + timeout_seconds if armed and timeout_seconds else None
        self._running = self._deadline is not None

    @property
    def exists(self) -> bool:
        """Whether this form ever had a deadline."""
        return self._deadline is not None

    @property
    def running(self) -> bool:
        """Whether the deadline still counts."""
        return self._running

    def touch(self) -> None:
        """The person interacted with the form: no deadline any more."""
        self._running = False

    def remaining(self, now: float) -> float:
        """Seconds left, 0.0 when due or not running."""
        if not self._running or self._deadline is None:
            return 0.0
        return max(0.0, self._deadline - now)

    def expire(self, now: float) -> HostInputResponse | None:
        """The tagged fallback, once, when the deadline has passed untouched."""
        if not self._running or self._deadline is None or now < self._deadline:
            return None
        self._running = False
        return self._fallback
