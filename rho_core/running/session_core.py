"""The mutable state of a session: who owns it, what is committed, which revision (B.2, B.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from rho_core.errors import PersistenceError, SessionBusy
from rho_core.history.compaction import CompactionOutcome
from rho_core.history.compaction_state import CompactionState
from rho_core.history.messages import History
from rho_core.history.snapshot import SessionSnapshot
from rho_core.ids import Revision, RunId, SessionId
from rho_core.json_values import FrozenObject
from rho_core.running.configuration import RuntimeConfiguration


class SessionState(StrEnum):
    """What a session is doing, or how its last run ended (B3)."""

    IDLE = "idle"
    RUNNING = "running"
    WAITING_FOR_HOST_INPUT = "waiting_for_host_input"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"


_FINAL = (SessionState.COMPLETED, SessionState.FAILED)


class SessionCore:
    """One conversation. Every change goes through here; histories are shared tuples."""

    def __init__(
        self,
        id: SessionId,
        configuration: RuntimeConfiguration,
        history: History,
        *,
        revision: Revision = Revision(0),  # noqa: B008 - immutable
        compaction: CompactionState | None = None,
        metadata: Mapping[str, str] | None = None,
        prompt_cache_key: str | None = None,
    ) -> None:
        self.id = id
        self.configuration = configuration
        self.history = history
        self.revision = revision
        self.compaction = compaction or CompactionState()
        self.metadata = FrozenObject(metadata or {})
        self.prompt_cache_key = prompt_cache_key
        self.state = SessionState.IDLE
        self.owner: RunId | None = None
        self._live: History | None = None

    @property
    def live_history(self) -> History:
        """What was published of the turn in flight, else the committed history (B25)."""
        return self.history if self._live is None else self._live

    def ensure_idle(self) -> None:
        """Raise `SessionBusy` while a run or a compaction owns the session (B7)."""
        if self.owner is not None:
            raise SessionBusy

    def begin(self, run_id: RunId) -> None:
        """Take ownership. Raises `SessionBusy` (B4)."""
        self.ensure_idle()
        self.owner = run_id
        self.state = SessionState.RUNNING

    def release(self, run_id: RunId) -> None:
        """Give ownership back; a stale run id changes nothing (B8)."""
        if self.owner != run_id:
            return
        self.owner = None
        self._live = None
        if self.state not in _FINAL:
            self.state = SessionState.IDLE

    def set_waiting(self, waiting: bool) -> None:
        """Switch between Running and WaitingForHostInput (B5)."""
        if waiting and self.state is SessionState.RUNNING:
            self.state = SessionState.WAITING_FOR_HOST_INPUT
        elif not waiting and self.state is SessionState.WAITING_FOR_HOST_INPUT:
            self.state = SessionState.RUNNING

    def publish_live(self, history: History) -> None:
        """Show the turn in flight to readers of live history, if anybody declared the need."""
        if self.configuration.publish_live_history:
            self._live = history

    def commit(self, history: History, state: SessionState | None = None) -> Revision:
        """Replace the history and advance the revision.

        Raises `PersistenceError`, changing nothing, when there is no next revision (B14).
        """
        revision = self._next_revision()
        self.history = history
        self.revision = revision
        if state is not None:
            self.state = state
        return revision

    def commit_compaction(self, history: History, outcome: CompactionOutcome) -> CompactionOutcome:
        """Commit a compacted history; returns the outcome with its revision (J9, J13)."""
        outcome = replace(outcome, revision=self._next_revision())
        self.commit(history)
        self.compaction = self.compaction.after(outcome)
        return outcome

    def reset(self, history: History) -> Revision:
        """Commit a fresh history and forget the compactions (B20)."""
        revision = self.commit(history)
        self.compaction = CompactionState()
        return revision

    def snapshot(self) -> SessionSnapshot:
        """The committed state as one value."""
        return SessionSnapshot(
            session_id=self.id,
            revision=self.revision,
            history=self.history,
            provider=self.configuration.provider.identity,
            compaction=self.compaction,
            metadata=self.metadata,
            prompt_cache_key=self.prompt_cache_key,
        )

    def _next_revision(self) -> Revision:
        revision = self.revision.checked_next()
        if revision is None:
            raise PersistenceError("session revision is exhausted")
        return revision
