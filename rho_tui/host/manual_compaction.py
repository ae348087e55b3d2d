"""Compaction that the user asked for: between two turns, and stopped by its own token (APP2.40)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rho_core import events as core
from rho_core.cancellation import CancellationToken
from rho_core.errors import Cancelled, RhoError
from rho_core.history.compaction import CompactionOutcome
from rho_core.history.messages import History
from rho_core.session import Session
from rho_tui.host import facts
from rho_tui.host.facts import ConversationEvent
from rho_tui.host.sessions import records as r

_MANUAL = core.CompactionTrigger.MANUAL


class ManualCompaction:
    """Compacts the history of one conversation on request.

    Args:
        session: Whose history it is.
        tell: Records, if there is a record, and shows, in the order of the calls.
        replaced: Records and shows that the session's history was replaced as a whole.
    """

    def __init__(
        self,
        session: Session,
        tell: Callable[[r.Record | None, ConversationEvent], None],
        replaced: Callable[[History, r.ReplaceReason, r.Record, ConversationEvent], None],
    ) -> None:
        self._session = session
        self._tell = tell
        self._replaced = replaced
        self._token: CancellationToken | None = None

    @property
    def is_running(self) -> bool:
        """Whether a compaction is under way."""
        return self._token is not None

    def cancel(self) -> None:
        """Ask it to stop; `CompactionStopped` follows. Nothing happens without one."""
        if self._token is not None:
            self._token.cancel()

    async def run(self) -> CompactionOutcome | None:
        """Compact now; None when it came to nothing, and history is as it was."""
        size = len(self._session.history)
        self._token = CancellationToken()
        self._tell(None, core.CompactionStarted(_MANUAL, size))
        try:
            outcome = await self._session.compact(self._token)
        except RhoError as error:
            self._stopped(size, "" if isinstance(error, Cancelled) else str(error))
            return None
        except asyncio.CancelledError:
            self._stopped(size, "")
            raise
        finally:
            self._token = None
        noted = r.CompactionNoted(_MANUAL, outcome)
        done = core.CompactionCompleted(_MANUAL, outcome)
        self._replaced(self._session.history, r.ReplaceReason.COMPACTION, noted, done)
        return outcome

    def _stopped(self, size: int, reason: str) -> None:
        record = r.CompactionStopped(_MANUAL, size, reason)
        self._tell(record, facts.CompactionStopped(_MANUAL, reason))
