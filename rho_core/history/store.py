"""Where snapshots are kept (B37)."""

from __future__ import annotations

from abc import ABC, abstractmethod

from rho_core.history.snapshot import SessionSnapshot
from rho_core.ids import SessionId


class SessionStore(ABC):
    """Loads and atomically replaces whole snapshots. Failures are `PersistenceError`."""

    @abstractmethod
    async def load(self, session_id: SessionId) -> SessionSnapshot | None:
        """The snapshot of that session, None when there is none."""

    @abstractmethod
    async def save(self, snapshot: SessionSnapshot) -> None:
        """Replace the session's snapshot as a whole: a reader sees the old or the new one."""


class InMemorySessionStore(SessionStore):
    """Snapshots of this process. Its `repr` lists ids only."""

    def __init__(self) -> None:
        self._snapshots: dict[SessionId, SessionSnapshot] = {}

    async def load(self, session_id: SessionId) -> SessionSnapshot | None:
        """The snapshot of that session."""
        return self.get(session_id)

    async def save(self, snapshot: SessionSnapshot) -> None:
        """Replace the session's snapshot."""
        self.replace(snapshot)

    def get(self, session_id: SessionId) -> SessionSnapshot | None:
        """`load` without waiting."""
        return self._snapshots.get(session_id)

    def replace(self, snapshot: SessionSnapshot) -> SessionSnapshot | None:
        """`save` without waiting; returns the snapshot that was replaced."""
        replaced = self._snapshots.get(snapshot.session_id)
        self._snapshots[snapshot.session_id] = snapshot
        return replaced

    def remove(self, session_id: SessionId) -> SessionSnapshot | None:
        """Forget a session; returns what was kept of it."""
        return self._snapshots.pop(session_id, None)

    def __len__(self) -> int:
        return len(self._snapshots)

    def __repr__(self) -> str:
        return f"InMemorySessionStore({sorted(map(str, self._snapshots))})"
