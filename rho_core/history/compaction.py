"""Compaction: policy, request and outcome (J6–J13).

The core decides when, a `Compactor` decides how. `history.summarise` has one that asks a model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from rho_core.cancellation import CancellationToken
from rho_core.errors import InvalidConfiguration, InvalidHostResponse
from rho_core.history.messages import History
from rho_core.ids import Revision, RunId, SessionId
from rho_core.usage import ModelUsage

if TYPE_CHECKING:
    from rho_core.history.snapshot import SessionSnapshot


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """When to compact by itself: exactly one of the two thresholds is set (A36, J6)."""

    messages: int | None = None
    context_tokens: int | None = None

    @classmethod
    def after_messages(cls, count: int) -> CompactionPolicy:
        """Compact once the candidate history holds at least `count` messages."""
        return cls(messages=_at_least_one(count, "message"))

    @classmethod
    def at_context_tokens(cls, tokens: int) -> CompactionPolicy:
        """Compact once the request, tools included, is estimated at `tokens` or more."""
        return cls(context_tokens=_at_least_one(tokens, "token"))

    def is_due(self, *, message_count: int, context_tokens: int) -> bool:
        """Whether a history of that size is to be compacted before the next step."""
        if self.messages is not None and message_count >= self.messages:
            return True
        return self.context_tokens is not None and context_tokens >= self.context_tokens


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """What a compactor works on (J7). `step_index` counts from 1, None for a manual compaction."""

    messages: History
    cancellation: CancellationToken
    session_id: SessionId
    run_id: RunId
    parent_session_id: SessionId | None = None
    step_index: int | None = None
    workspace_path: Path | None = None


@dataclass(frozen=True, slots=True)
class CompactionOutput:
    """The replacement history, and what making it cost.

    Raises `InvalidHostResponse` when the replacement is empty (J8).
    """

    messages: History
    usage: ModelUsage | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        if not self.messages:
            raise InvalidHostResponse("compaction replacement history must not be empty")


class CompactionCancellation(StrEnum):
    """Who reacts to cancellation: the loop drops the compactor, or it ends by itself (J9)."""

    EXTERNAL = "external"
    COOPERATIVE = "cooperative"


class Compactor(ABC):
    """Replaces a history by a shorter one. A manual compaction is always cooperative (B28)."""

    mode: CompactionCancellation = CompactionCancellation.EXTERNAL

    @abstractmethod
    async def compact(self, request: CompactionRequest) -> CompactionOutput:
        """The replacement. Raises a `RhoError`; then history stays as it was."""


@dataclass(frozen=True, slots=True, eq=False)
class CompactionOutcome:
    """What a compaction did. Token figures are estimates (J12).

    Snapshots compare by session and revision only: comparing histories would be wasteful.
    """

    previous_messages: int
    current_messages: int
    previous_tokens: int
    current_tokens: int
    revision: Revision = Revision(0)  # noqa: RUF009 - immutable
    cost_usd_micros: int | None = None
    committed_snapshot: SessionSnapshot | None = None

    @property
    def removed_messages(self) -> int:
        """How many messages went, never negative."""
        return max(0, self.previous_messages - self.current_messages)

    @property
    def removed_tokens(self) -> int:
        """How many tokens went, never negative."""
        return max(0, self.previous_tokens - self.current_tokens)

    def _key(self) -> tuple[object, ...]:
        snapshot = self.committed_snapshot
        return (
            self.previous_messages,
            self.current_messages,
            self.previous_tokens,
            self.current_tokens,
            self.revision,
            self.cost_usd_micros,
            None if snapshot is None else (snapshot.session_id, snapshot.revision),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CompactionOutcome):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _at_least_one(value: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidConfiguration(f"the compaction {what} threshold must be at least 1")
    return value
