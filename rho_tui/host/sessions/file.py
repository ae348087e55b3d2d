"""Reading and appending the lines of a session file.

A file is never rewritten. What a dying process left half written stays where it is: the next
writer begins a new line behind it and marks it as known (case G2).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path

from rho_core.file_sync import sync_names
from rho_core.ids import SessionId
from rho_core.private_files import make_private_folder, open_private_file
from rho_tui.host.sessions.fields import RecordError
from rho_tui.host.sessions.record_codec import (
    UnknownRecord,
    UnsupportedSchema,
    decode_line,
    encode_line,
)
from rho_tui.host.sessions.records import Line, Record, TornLine

SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that cannot be read. `last`: it is the unterminated end of the file."""

    size: int
    reason: str
    last: bool = False


@dataclass(frozen=True, slots=True)
class Passed:
    """A line of a type from the future; its number is taken all the same."""

    seq: int


class UnreadableSession(Exception):
    """The file as a whole cannot be used; the message says why."""


def file_name(id: SessionId, created: float) -> str:
    """A name that sorts by time: `20261130T104343.120Z_<id>.jsonl`. `created` in epoch seconds."""
    moment = datetime.fromtimestamp(created, UTC)
    stamp = f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z"
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in id)
    return f"{stamp}_{safe}{SUFFIX}"


def read_lines(path: Path) -> Iterator[Line | Damage | Passed]:
    """All lines in order, one in memory at a time.

    Raises:
        OSError: The file cannot be read.
        UnreadableSession: It was written by a newer version.
    """
    with path.open("rb") as file:
        for data in file:  # a binary file is split at b"\n" only
            if data == b"\n":
                continue
            try:
                yield decode_line(data)
            except UnknownRecord as unknown:
                yield Passed(unknown.seq)
            except UnsupportedSchema as error:
                raise UnreadableSession(str(error)) from None
            except RecordError as error:
                yield Damage(len(data), str(error), last=not data.endswith(b"\n"))


class SessionFile:
    """The writing end: records are staged in memory, `flush` makes them durable.

    `stage` belongs to the event loop, `flush` to one worker thread at a time. What could not be
    written stays staged, so that nothing is lost while the disk is full.
    """

    def __init__(
        self,
        path: Path,
        *,
        next_seq: int = 1,
        exists: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self._next_seq = next_seq
        self._exists = exists
        self._clock = clock
        self._staged: list[Line] = []
        self._file: FileIO | None = None
        self._unmended = False

    def stage(self, record: Record) -> int:
        """Queue a record for the next flush; returns its sequence number."""
        line = Line(self._next_seq, self._clock(), record)
        self._next_seq += 1
        self._staged.append(line)
        return line.seq

    @property
    def unwritten(self) -> int:
        """How many records are not on disk."""
        return len(self._staged)

    def flush(self) -> None:
        """Write everything staged and wait for the disk. Raises OSError; nothing is lost then."""
        batch = tuple(self._staged)
        if not batch:
            return
        data = b"".join(encode_line(line) for line in batch)
        try:
            file = self._file = self._file or self._open()
            _write_all(file, self._mend(file) + data)
            _sync_data(file.fileno())
        except OSError:
            # The next attempt looks at the file afresh, and may have to mend its end
            self._close_quietly()
            raise
        del self._staged[: len(batch)]

    def close(self) -> None:
        """Close the file. What is staged and unwritten is dropped: flush first."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _open(self) -> FileIO:
        if not self._exists:
            make_private_folder(self.path.parent)
        file = FileIO(self.path, "ab", opener=open_private_file)
        if not self._exists:
            sync_names(self.path.parent)
            self._exists = True
        self._unmended = True
        return file

    def _mend(self, file: FileIO) -> bytes:
        """What must come first so that the end of the file is a whole line."""
        if not self._unmended:
            return b""
        self._unmended = False
        end = file.seek(0, os.SEEK_END)
        if end == 0:
            return b""
        tail = _last_line(self.path, end)
        if not tail:
            return b""
        try:
            decode_line(tail)
        except UnknownRecord:
            pass
        except RecordError:
            torn = TornLine(len(tail))
            return b"\n" + encode_line(Line(0, self._clock(), torn))
        return b"\n"

    def _close_quietly(self) -> None:
        try:
            self.close()
        except OSError:
            pass  # the error that brought us here is the one to report


#: enough for an append: data and size, without the times of the file; macOS has only fsync
_sync_data = getattr(os, "fdatasync", os.fsync)


def _write_all(file: FileIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]


def _last_line(path: Path, end: int) -> bytes:
    """The bytes behind the last newline; empty when the file ends with one."""
    with path.open("rb") as file:
        start, pieces = end, b""
        while start > 0:
            step = min(65536, start)
            start -= step
            file.seek(start)
            pieces = file.read(step) + pieces
            if (cut := pieces.rfind(b"\n")) >= 0:
                return pieces[cut + 1 :]
    return pieces
