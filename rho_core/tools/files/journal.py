"""A record on disk of a change of several files, so that a crash in the middle can be undone.

Before the first file changes, the originals are copied into a folder of their own with a manifest
that says what is about to happen. Renaming the manifest is the moment from which the change is
done. The folder is locked while its process lives, so another process that finds it unlocked
knows that its owner died.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rho_core.file_sync import sync_names
from rho_core.private_files import make_private_folder, open_private_file
from rho_core.tools.files.commit import CommitStep

PREFIX = ".rho-commit-"
MANIFEST = "manifest.json"
DONE = "done.json"
UNFINISHED = "unfinished.json"
LOCK = "lock"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One file of a change; hashes are of the exact bytes, None where there is no file.

    `made` are the directories that have to be made for a new file, `hidden` is the name under
    which new content is staged or a removed file waits, `original` the content to keep a copy of.
    """

    path: Path
    before: str | None
    after: str | None
    hidden: Path
    made: tuple[Path, ...] = ()
    original: bytes | None = None


class Journal:
    """The record of one change. Methods block and raise OSError."""

    def __init__(self, folder: Path, lock: int, on_step: Callable[[CommitStep], None]) -> None:
        self.folder = folder
        self._lock = lock
        self._on_step = on_step

    @classmethod
    def begin(
        cls,
        parent: Path,
        entries: Sequence[JournalEntry],
        on_step: Callable[[CommitStep], None],
    ) -> Journal:
        """Make the record durable. When this raises, nothing of it is left."""
        on_step(CommitStep.KEEP_ORIGINALS)
        make_private_folder(parent)
        folder = parent / f"{PREFIX}{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        lock = -1
        try:
            lock = open_private_file(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            hold(lock)
            rows = []
            for index, entry in enumerate(entries):
                if entry.original is not None:
                    on_step(CommitStep.COPY_ORIGINAL)
                    _write_durably(folder / _copy_name(index), entry.original)
                rows.append(_row(entry))
            on_step(CommitStep.SYNC_ORIGINAL)
            _write_durably(folder / "manifest.tmp", json.dumps({"files": rows}).encode("ascii"))
            (folder / "manifest.tmp").replace(folder / MANIFEST)
            sync_names(folder)
            sync_names(parent)
        except BaseException:
            if lock >= 0:
                os.close(lock)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(folder, lock, on_step)

    def commit(self) -> None:
        """From now on the change is done, and recovery only cleans up."""
        self._on_step(CommitStep.FINISH)
        (self.folder / MANIFEST).replace(self.folder / DONE)
        sync_names(self.folder)

    def discard(self) -> None:
        """Remove the record: the change is done or undone."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)

    def keep(self) -> None:
        """Leave the record where it is, for people: the change could be neither done nor undone."""
        # recovery must not try again what failed: it would do so behind somebody's back
        (self.folder / MANIFEST).replace(self.folder / UNFINISHED)
        os.close(self._lock)


@dataclass(frozen=True, slots=True)
class FoundJournal:
    """A record whose process died. `is_done`: its change was complete."""

    folder: Path
    entries: tuple[JournalEntry, ...]
    is_done: bool
    lock: int

    def original(self, index: int) -> bytes:
        """The kept content of entry `index`. Raises OSError."""
        return (self.folder / _copy_name(index)).read_bytes()


def abandoned_journals(parent: Path) -> list[FoundJournal]:
    """The records below `parent` that nobody holds, each locked now. Blocking."""
    found = []
    try:
        folders = sorted(parent.glob(f"{PREFIX}*"))
    except OSError:
        return []
    for folder in folders:
        journal = _open_abandoned(folder)
        if journal is not None:
            found.append(journal)
    return found


def hold(descriptor: int) -> None:
    """Lock a record for as long as the descriptor is open. Raises OSError when it is held."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _open_abandoned(folder: Path) -> FoundJournal | None:
    try:
        lock = os.open(folder / LOCK, os.O_RDWR)
    except OSError:
        return None
    try:
        hold(lock)
        for name, is_done in ((MANIFEST, False), (DONE, True)):
            if (folder / name).exists():
                rows = json.loads((folder / name).read_bytes())["files"]
                return FoundJournal(folder, tuple(_entry(row) for row in rows), is_done, lock)
        if (folder / UNFINISHED).exists():
            os.close(lock)
            return None
        return FoundJournal(folder, (), True, lock)  # died before anything was changed
    except (ImportError, OSError, ValueError, KeyError, TypeError):
        os.close(lock)
        return None


def _row(entry: JournalEntry) -> dict[str, object]:
    return {
        "path": str(entry.path),
        "before": entry.before,
        "after": entry.after,
        "made": [str(directory) for directory in entry.made],
        "hidden": str(entry.hidden),
    }


def _entry(row: dict[str, object]) -> JournalEntry:
    before, after, made = row["before"], row["after"], row["made"]
    if not isinstance(made, list):
        raise TypeError("made is no list")
    return JournalEntry(
        Path(str(row["path"])),
        None if before is None else str(before),
        None if after is None else str(after),
        Path(str(row["hidden"])),
        tuple(Path(str(directory)) for directory in made),
    )


def _copy_name(index: int) -> str:
    return f"original-{index}"


def _write_durably(path: Path, content: bytes) -> None:
    descriptor = open_private_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
