"""One writer per session (decisions, Sessions; case G4).

The operating system holds the lock, so that a crashed holder frees it by dying. Who holds it is
told by a small file beside the lock, which proves nothing by itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rho_core.private_files import open_private_file

if TYPE_CHECKING:
    from filelock import BaseFileLock


class SessionLocked(Exception):
    """Another process (or another conversation of this one) writes the session."""

    def __init__(self, pid: int | None) -> None:
        holder = f"process {pid}" if pid else "another process"
        super().__init__(f"the session is being written by {holder}; it can only be read here")
        self.pid = pid


class SessionLease:
    """The right to write one session file, until released."""

    def __init__(self, lock: BaseFileLock, holder: Path) -> None:
        self._lock = lock
        self._holder = holder

    @classmethod
    def acquire(cls, session: Path) -> SessionLease:
        """Take the lease without waiting.

        Raises:
            SessionLocked: Somebody has it.
            OSError: The file system cannot lock, or cannot be written.
        """
        from filelock import FileLock, Timeout

        holder = session.with_suffix(".holder")
        lock = FileLock(session.with_suffix(".lock"), timeout=0, mode=0o600, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            raise SessionLocked(_holder_pid(holder)) from None
        except NotImplementedError as error:
            raise OSError(str(error)) from error
        try:
            with open(holder, "w", encoding="ascii", opener=open_private_file) as file:
                file.write(f"{os.getpid()}\n")
        except OSError:
            pass  # the lock alone protects; only the message of a later opener is poorer
        return cls(lock, holder)

    def release(self) -> None:
        """Give the lease back; more than once does nothing."""
        if self._lock.is_locked:
            self._holder.unlink(missing_ok=True)
            self._lock.release()


def _holder_pid(holder: Path) -> int | None:
    try:
        return int(holder.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
