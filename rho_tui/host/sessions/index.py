"""Finding sessions without reading them: the name, the head and the tail of each file are enough.

There is nothing to keep in step: the list is made from the files each time (case G7).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rho_core.ids import SessionId
from rho_tui.host.sessions.fields import RecordError
from rho_tui.host.sessions.file import SUFFIX
from rho_tui.host.sessions.record_codec import decode_line
from rho_tui.host.sessions.records import (
    FolderChanged,
    Header,
    Record,
    TitleSet,
    TurnCommitted,
)

HEAD_BYTES = 16 * 1024
TAIL_BYTES = 16 * 1024
FAR_TAIL_BYTES = 1024 * 1024
"""How far back the last commit is looked for when the last turn was cut off."""

_COMMIT = b'"type":"commit"'
_TITLE = b'"type":"title"'
_FOLDER = b'"type":"folder"'


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One line of a list. `created` and `updated` are epoch seconds; `messages` None: unknown.

    `cwd` is where the session works: where it was started, unless it was moved.
    """

    path: Path
    id: SessionId
    cwd: str
    created: float
    updated: float
    size: int
    title: str = ""
    prompt: str = ""
    messages: int | None = None


class SessionNotFound(Exception):
    """No session fits, or several do; the message says which."""


def list_sessions(folder: Path, *, cwd: str | None = None) -> list[SessionSummary]:
    """The sessions of `folder`, newest change first; with `cwd` only those of that directory.

    Files that are no sessions are passed over. A missing folder holds no sessions.
    """
    summaries = (summarise(path) for path in _session_files(folder))
    wanted = [s for s in summaries if s is not None and (cwd is None or s.cwd == cwd)]
    return sorted(wanted, key=lambda s: (s.updated, s.path.name), reverse=True)


def latest_session(folder: Path, cwd: str) -> SessionSummary:
    """The session of `cwd` that changed last. Raises `SessionNotFound`."""
    found = list_sessions(folder, cwd=cwd)
    if not found:
        raise SessionNotFound(f"no session was started in {cwd}")
    return found[0]


def find_session(folder: Path, prefix: str, *, cwd: str | None = None) -> SessionSummary:
    """The session whose id begins with `prefix`; those of `cwd` are tried first (APP7.12).

    Raises:
        SessionNotFound: None fits, or more than one does.
    """
    fitting = [s for s in list_sessions(folder) if prefix and s.id.startswith(prefix)]
    exact = [s for s in fitting if s.id == prefix]
    here = [s for s in fitting if s.cwd == cwd]
    for candidates in (exact, here, fitting):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            ids = ", ".join(str(s.id) for s in candidates[:5])
            raise SessionNotFound(f"{prefix!r} fits {len(candidates)} sessions: {ids}")
    raise SessionNotFound(f"no session begins with {prefix!r}")


def summarise(path: Path) -> SessionSummary | None:
    """What the ends of one file tell; None when it is no session (any more)."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            header = _record(file.readline(HEAD_BYTES))
            if not isinstance(header, Header):
                return None
            tail = _from_tail(path, status.st_size)
    except OSError:
        return None
    return SessionSummary(
        path=path,
        id=header.id,
        cwd=tail.cwd or header.cwd,
        created=header.created,
        updated=status.st_mtime,
        size=status.st_size,
        title=tail.title or "",
        prompt=header.prompt,
        messages=tail.messages,
    )


def _session_files(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.path for entry in entries if entry.name.endswith(SUFFIX)]
    except OSError:
        return
    for name in names:
        yield Path(name)


@dataclass(slots=True)
class _Tail:
    """The newest title and folder, and the size of history at the newest commit; None: unknown."""

    title: str | None = None
    cwd: str | None = None
    messages: int | None = None


def _from_tail(path: Path, size: int) -> _Tail:
    tail = _Tail()
    for reach in (TAIL_BYTES, FAR_TAIL_BYTES):
        tail = _search(path, size, reach)
        if tail.messages is not None or reach >= size:
            break
    return tail


def _search(path: Path, size: int, reach: int) -> _Tail:
    """What the last `reach` bytes tell, back to the newest commit."""
    with path.open("rb") as file:
        file.seek(max(0, size - reach))
        lines = file.read(reach).split(b"\n")
    tail = _Tail()
    for data in reversed(lines):
        if _COMMIT not in data and _TITLE not in data and _FOLDER not in data:
            continue
        match _record(data):
            case TitleSet(title=title) if tail.title is None:
                tail.title = title
            case FolderChanged(cwd=cwd) if tail.cwd is None:
                tail.cwd = cwd
            case TurnCommitted() as commit:
                tail.title = commit.title if tail.title is None else tail.title
                tail.cwd = commit.cwd if tail.cwd is None else tail.cwd
                tail.messages = commit.messages
                return tail
            case _:
                pass
    return tail


def _record(data: bytes) -> Record | None:
    try:
        return decode_line(data).record
    except RecordError:
        return None
