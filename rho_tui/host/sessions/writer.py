"""The asynchronous end of a session file: stage now, flush in a thread, be loud on failure."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rho_core.private_files import make_private_folder
from rho_tui.host.facts import Notice, Severity
from rho_tui.host.sessions.file import SessionFile
from rho_tui.host.sessions.lease import SessionLease, SessionLocked
from rho_tui.host.sessions.records import Record


class SessionWriter:
    """Owns the file and the lease of one session.

    Without a `file` everything is accepted and nothing is kept. A disk that is full or read-only
    never stops the conversation: records wait in memory and every flush tries again.
    """

    def __init__(self, file: SessionFile | None, lease: SessionLease | None = None) -> None:
        self._file = file
        self._lease = lease
        self._unkept = 0
        self._failing = False
        self._thread: ThreadPoolExecutor | None = None

    @staticmethod
    async def warm_up() -> None:
        """Load now what the first write needs, so that the first prompt does not wait for it."""
        await asyncio.to_thread(importlib.import_module, "filelock")

    def stage(self, record: Record) -> int:
        """Queue a record; returns its sequence number."""
        if self._file is not None:
            return self._file.stage(record)
        self._unkept += 1
        return self._unkept

    @property
    def path(self) -> Path | None:
        """Where it is written, if anywhere."""
        return self._file.path if self._file is not None else None

    @property
    def unwritten(self) -> int:
        """How many records are not on disk although they should be."""
        return self._file.unwritten if self._file is not None else 0

    async def flush(self) -> Notice | None:
        """Make what is staged durable. Returns what a person must be told: trouble, or its end."""
        file = self._file
        if file is None or not file.unwritten:
            return None
        try:
            await self._in_thread(lambda: self._write(file))
        except OSError as error:
            return self._failed(error.strerror or str(error))
        except SessionLocked as error:
            return self._failed(str(error))
        if not self._failing:
            return None
        self._failing = False
        return Notice("the session is being saved again; nothing was lost")

    async def close(self) -> None:
        """Close the file and give the lease back. Flush first."""
        if self._file is not None:
            await self._in_thread(self._file.close)
        if self._lease is not None:
            await self._in_thread(self._lease.release)
            self._lease = None
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None

    def _write(self, file: SessionFile) -> None:
        if self._lease is None:
            make_private_folder(file.path.parent)
            self._lease = SessionLease.acquire(file.path)
        file.flush()

    def _failed(self, reason: str) -> Notice | None:
        if self._failing:
            return None
        self._failing = True
        return Notice(
            f"the session cannot be saved: {reason}. It goes on in memory; "
            "saving is tried again with every step",
            Severity.ERROR,
        )

    async def _in_thread(self, work: Callable[[], None]) -> None:
        # one thread of its own: two writes never overlap, even when a wait for one is given up
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="rho-session")
        await asyncio.get_running_loop().run_in_executor(self._thread, work)
