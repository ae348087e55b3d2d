"""How often a step is attempted, and how long is waited in between (C75, C76)."""

from __future__ import annotations

MAX_ATTEMPTS = 4
MAX_MALFORMED = 2
MAX_RETRY_AFTER = 60.0


def backoff_delay(failures: int, retry_after: float | None) -> float:
    """Seconds before the next attempt after `failures` failed requests (counted from 1).

    1, 2, 4, …; a provider's `retry_after` is honoured up to a minute, never below the backoff.
    """
    exponential = float(2 ** (failures - 1))
    if not retry_after or retry_after <= 0:
        return exponential
    return max(min(retry_after, MAX_RETRY_AFTER), exponential)
