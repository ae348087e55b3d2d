"""Facts of physical provider requests, for the host's ledgers (J1–J5).

Separate from the `UsageUpdated` events of a run: this sees every attempt, failed ones included.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rho_core.errors import InvalidConfiguration, ProviderErrorKind
from rho_core.history.messages import ModelIdentity
from rho_core.ids import RunId, SessionId, UsageEventId
from rho_core.text import truncate_utf8
from rho_core.usage import ModelUsage

DEFAULT_PURPOSE = "agent"
MAX_DIAGNOSTICS = 16
MAX_DIAGNOSTIC_BYTES = 1024


@dataclass(frozen=True, slots=True)
class AttemptCompleted:
    """The attempt gave a usable answer."""


@dataclass(frozen=True, slots=True)
class AttemptInvalidResponse:
    """The attempt gave a malformed answer."""


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """The attempt failed."""

    kind: ProviderErrorKind


@dataclass(frozen=True, slots=True)
class AttemptCancelled:
    """The attempt was cancelled, whatever error it ended with."""


AttemptOutcome: TypeAlias = (
    AttemptCompleted | AttemptInvalidResponse | AttemptFailed | AttemptCancelled
)


@dataclass(frozen=True, slots=True)
class UsageContext:
    """What an attempt belongs to. `step_index` and `attempt_index` count from 1 (J2)."""

    identity: ModelIdentity
    purpose: str = DEFAULT_PURPOSE
    session_id: SessionId | None = None
    parent_session_id: SessionId | None = None
    run_id: RunId | None = None
    step_index: int | None = None
    attempt_index: int | None = None
    workspace_path: Path | None = None

    @classmethod
    def for_purpose(cls, identity: ModelIdentity, purpose: str) -> UsageContext:
        """A context without run facts, for requests that the host makes itself."""
        return cls(identity, _checked_purpose(purpose))


@dataclass(frozen=True, slots=True)
class UsageEvent:
    """One physical attempt; `usage` is that attempt's alone (J1)."""

    event_id: UsageEventId
    timestamp_utc_ms: int
    context: UsageContext
    usage: ModelUsage
    outcome: AttemptOutcome


class ProviderRequestUsageRecorder(ABC):
    """The host's ledger."""

    @abstractmethod
    async def record(self, event: UsageEvent) -> None:
        """Take one event; awaited before the next attempt. An exception becomes a diagnostic."""


class UsageRecording:
    """A recorder with its purpose and diagnostics. Without a recorder it does nothing.

    Raises `InvalidConfiguration` for a blank purpose (A16).
    """

    def __init__(
        self,
        recorder: ProviderRequestUsageRecorder | None = None,
        *,
        purpose: str = DEFAULT_PURPOSE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.purpose = _checked_purpose(purpose)
        self._recorder = recorder
        self._clock = clock
        self._diagnostics: deque[str] = deque(maxlen=MAX_DIAGNOSTICS)

    @property
    def is_enabled(self) -> bool:
        """Whether there is a recorder."""
        return self._recorder is not None

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """The last 16 failures of the recorder, oldest first, each at most 1024 bytes (J4)."""
        return tuple(self._diagnostics)

    async def record(
        self, context: UsageContext, usage: ModelUsage, outcome: AttemptOutcome
    ) -> None:
        """Hand one attempt to the recorder. Never raises for the recorder's failures (J5)."""
        if self._recorder is None:
            return
        event = UsageEvent(UsageEventId(), int(self._clock() * 1000), context, usage, outcome)
        try:
            await self._recorder.record(event)
        except Exception as error:  # noqa: BLE001 - a ledger must not fail the run (J4)
            text = str(error) or type(error).__name__
            self._diagnostics.append(truncate_utf8(text, MAX_DIAGNOSTIC_BYTES, marker=""))


def _checked_purpose(purpose: str) -> str:
    if not purpose.strip():
        raise InvalidConfiguration("usage purpose must not be empty")
    return purpose
