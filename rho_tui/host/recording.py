"""A conversation's own record: where it is written, and what was current when it was written."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from rho_core.history.messages import ModelIdentity, UserMessage, text_of
from rho_core.history.snapshot import SessionSnapshot
from rho_core.ids import SessionId
from rho_core.usage import ModelUsage
from rho_tui.host.conversation_options import ConversationOptions
from rho_tui.host.facts import Notice, TurnEndKind
from rho_tui.host.prompt_news import without_news
from rho_tui.host.sessions.file import SessionFile, file_name
from rho_tui.host.sessions.journal import HistoryJournal
from rho_tui.host.sessions.lease import SessionLease, SessionLocked
from rho_tui.host.sessions.records import Header, Record, TurnCommitted
from rho_tui.host.sessions.recovery import StoredSession, load
from rho_tui.host.sessions.writer import SessionWriter

MAX_PROMPT_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A stored session, opened for writing if nobody else writes it.

    `lease` None: it can only be read, because it was opened for that, because `holder_pid` (None:
    unknown) writes it, or, where `lockable` is False, because the file system does not let us.
    """

    stored: StoredSession
    lease: SessionLease | None
    holder_pid: int | None = None
    lockable: bool = True

    def for_reading(self) -> OpenedSession:
        """The same without the lease, which is given back. Blocking."""
        self.let_go()
        return replace(self, lease=None, lockable=True)

    def let_go(self) -> None:
        """Give the lease back, if there is one. Blocking."""
        if self.lease is not None:
            self.lease.release()


def open_stored(path: Path) -> OpenedSession:
    """Take the lease if it is free, then load. Blocking.

    Raises:
        OSError: The file cannot be read.
        UnreadableSession: It holds no session, or one of a newer version.
    """
    lease, pid, lockable = None, None, True
    try:
        lease = SessionLease.acquire(path)
    except SessionLocked as locked:
        pid = locked.pid
    except OSError:
        lockable = False
    try:
        return OpenedSession(load(path), lease, pid, lockable)
    except BaseException:
        if lease is not None:
            lease.release()
        raise


class SessionRecording:
    """Stages and writes the records of one conversation.

    A new session gets its file with its first prompt (APP7.7); what is staged before waits.
    """

    def __init__(
        self,
        writer: SessionWriter,
        *,
        begin: Callable[[str], Header] | None = None,
        stored: StoredSession | None = None,
    ) -> None:
        self._writer = writer
        self._begin = begin
        self._early: list[Record] = []
        self.created = stored.header.created if stored else time.time()
        self.journal = HistoryJournal(self.stage, stored.placed if stored else ())
        self.title = stored.title if stored else ""
        #: the folder where the session works, if not the one where it was started
        self.moved_to = stored.moved_to if stored else ""
        self.total_usage = stored.total_usage if stored else ModelUsage()

    @classmethod
    def new(
        cls,
        options: ConversationOptions,
        id: SessionId,
        provider: ModelIdentity,
    ) -> SessionRecording:
        """A recording of a new session; without a folder nothing is ever written."""
        created, folder = time.time(), options.folder
        edit_tool = options.files.edit_tool.name if options.files is not None else ""
        file = None if folder is None else SessionFile(folder / file_name(id, created))

        def begin(prompt: str) -> Header:
            return Header(id, created, options.cwd, options.version, provider, prompt, edit_tool)

        recording = cls(SessionWriter(file), begin=begin)
        recording.created = created
        return recording

    @classmethod
    def resumed(cls, opened: OpenedSession) -> SessionRecording:
        """The continued recording of a stored session; read only without a lease."""
        stored = opened.stored
        file = SessionFile(stored.path, next_seq=stored.next_seq, exists=True)
        kept = file if opened.lease is not None or not opened.lockable else None
        return cls(SessionWriter(kept, opened.lease), stored=stored)

    def stage(self, record: Record) -> int:
        """Queue a record; returns its sequence number (0 while the session has no file yet)."""
        if self._begin is not None:
            self._early.append(record)
            return 0
        return self._writer.stage(record)

    def begin(self, prompt: UserMessage) -> None:
        """The first prompt is there: the header comes first, then what was staged before."""
        if self._begin is None:
            return
        written = text_of(without_news(prompt.content))
        header = self._begin(" ".join(written.split())[:MAX_PROMPT_EXCERPT])
        self._begin = None
        self._writer.stage(header)
        for record in self._early:
            self._writer.stage(record)
        self._early.clear()

    def close_interrupted_turn(self, snapshot: SessionSnapshot) -> None:
        """The file learns how the turn ended that its own process could not end.

        `snapshot` is what was recovered; it is written together with the next prompt.
        """
        self.journal.sync(snapshot.history)
        self.stage(
            TurnCommitted(
                kind=TurnEndKind.INTERRUPTED,
                revision=snapshot.revision,
                messages=len(snapshot.history),
                provider=snapshot.provider,
                title=self.title,
                total_usage=self.total_usage,
                compaction=snapshot.compaction,
                cwd=self.moved_to,
            )
        )

    async def flush(self) -> Notice | None:
        """Make what is staged durable; what a person must be told about that."""
        return await self._writer.flush()

    @property
    def path(self) -> Path | None:
        """The file that is written, if any."""
        return self._writer.path

    @property
    def unwritten(self) -> int:
        """How many records are not on disk although they should be."""
        return self._writer.unwritten

    async def close(self) -> None:
        """Give the file back. Flush first."""
        await self._writer.close()
