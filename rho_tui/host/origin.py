"""Where a conversation comes from: it is new, or it goes on with a stored session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rho_core.history.messages import History, SystemMessage
from rho_tui.host import facts
from rho_tui.host.conversation_options import ConversationOptions, SessionReadOnly
from rho_tui.host.facts import ConversationEvent
from rho_tui.host.recording import OpenedSession
from rho_tui.host.replay import replay
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.recovery import StoredSession


class ConversationOrigin:
    """What of a conversation was decided when it was opened.

    Args:
        options: What it was opened with.
        opened: The session it goes on with; None: a new one.
    """

    def __init__(self, options: ConversationOptions, opened: OpenedSession | None) -> None:
        self.folder = Path(options.cwd)
        self._folder_is_missing = options.folder_is_missing
        self._system_prompt = options.system_prompt
        self._opened = opened

    @property
    def stored(self) -> StoredSession | None:
        """The session it goes on with."""
        return self._opened.stored if self._opened is not None else None

    @property
    def records(self) -> Iterator[r.Record]:
        """Everything that is recorded of it."""
        return (line.record for line in self.stored.lines) if self.stored else iter(())

    @property
    def read_only(self) -> bool:
        """Whether somebody else writes the session, or its folder is gone."""
        return self._opened is not None and self._opened.lease is None and self._opened.lockable

    @property
    def has_moved(self) -> bool:
        """Whether the session worked in another folder until now."""
        return self.stored is not None and Path(self.stored.folder) != self.folder

    def replay(self) -> Iterator[ConversationEvent]:
        """The events that draw the session's past, `SessionOpened` first."""
        if self.stored is None:
            return
        for event in replay(self.stored):
            yield self._complete(event) if isinstance(event, facts.SessionOpened) else event

    def ensure_writable(self) -> None:
        """Raise `SessionReadOnly`, which says why, if the session is only to be read."""
        if self.stored is not None and self.read_only:
            header = self.stored.header
            opened = self._complete(facts.SessionOpened(header.id, "", header.created))
            raise SessionReadOnly(opened.problem)

    def moved(self, history: History) -> History:
        """The history of a session that has moved, with the prompt of the folder it came to."""
        if not self._system_prompt:
            return history
        kept = history[1:] if history and isinstance(history[0], SystemMessage) else history
        return (SystemMessage(self._system_prompt), *kept)

    def _complete(self, event: facts.SessionOpened) -> facts.SessionOpened:
        return replace(
            event,
            cwd=str(self.folder),
            read_only=self.read_only,
            holder_pid=self._opened.holder_pid if self._opened is not None else None,
            folder_is_missing=self._folder_is_missing,
        )
