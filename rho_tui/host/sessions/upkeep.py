"""Renaming and deleting stored sessions from outside, such as from the command line. Blocking."""

from __future__ import annotations

from pathlib import Path

from rho_tui.host.sessions.file import SessionFile
from rho_tui.host.sessions.lease import SessionLease
from rho_tui.host.sessions.records import TitleSet
from rho_tui.host.sessions.recovery import load


def rename_session(path: Path, title: str) -> None:
    """Give a session another title; it is kept in the session's own file (APP7.10).

    Raises:
        SessionLocked: Somebody is writing the session.
        OSError: The file cannot be read or written.
        UnreadableSession: It holds no session.
    """
    path.stat()  # a session that is not there leaves no lock behind
    lease = SessionLease.acquire(path)
    try:
        file = SessionFile(path, next_seq=load(path).next_seq, exists=True)
        file.stage(TitleSet(title))
        try:
            file.flush()
        finally:
            file.close()
    finally:
        lease.release()


def delete_session(path: Path) -> None:
    """Remove a session for good, unless somebody is writing it (APP7.17).

    Raises:
        SessionLocked: Somebody is writing the session.
        OSError: It cannot be removed, or is not there.
    """
    path.stat()  # a session that is not there leaves no lock behind
    lease = SessionLease.acquire(path)
    try:
        path.unlink()
    finally:
        lease.release()
    path.with_suffix(".lock").unlink(missing_ok=True)
