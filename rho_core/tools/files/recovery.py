"""Undoing changes of several files whose process died in the middle.

A host calls `recover_interrupted` when it starts, before its tools run. What the dead process had
replaced gets its original back, unless somebody has changed it since.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rho_core.errors import ToolError
from rho_core.tools.files.commit import FileCommit
from rho_core.tools.files.display import visible_name
from rho_core.tools.files.journal import (
    MANIFEST,
    UNFINISHED,
    FoundJournal,
    JournalEntry,
    abandoned_journals,
)
from rho_core.tools.files.reading import chunks, open_regular
from rho_core.tools.files.removal import bring_back, remove_file
from rho_core.tools.files.replace import commit_file, remove_empty


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was done about one interrupted change.

    `restored` are the files that were brought back, `left` those that somebody has changed since
    or that could not be written; when there are any, `kept` is the folder with the originals.
    """

    restored: tuple[Path, ...]
    left: tuple[Path, ...]
    kept: Path | None = None


def recover_interrupted(recovery_dir: Path) -> list[Recovery]:
    """Undo the changes that were recorded in `recovery_dir` and never finished. Blocking.

    Changes of processes that still live are not touched. Never raises for a record that cannot be
    read: it stays.
    """
    recovered = []
    for journal in abandoned_journals(recovery_dir):
        try:
            found = _recover(journal)
        finally:
            os.close(journal.lock)
        if found.restored or found.left:
            recovered.append(found)
    return recovered


def _recover(journal: FoundJournal) -> Recovery:
    restored: list[Path] = []
    left: list[Path] = []
    for index, entry in reversed(list(enumerate(journal.entries))):
        try:
            if journal.is_done:
                entry.hidden.unlink(missing_ok=True)
            elif _undo(journal, index, entry):
                restored.append(entry.path)
        except (OSError, ToolError):
            left.append(entry.path)
    if left and not journal.is_done:
        with suppress(OSError):  # then it is tried, and told, again
            (journal.folder / MANIFEST).replace(journal.folder / UNFINISHED)
        return Recovery(tuple(restored), tuple(left), journal.folder)
    shutil.rmtree(journal.folder, ignore_errors=True)
    return Recovery(tuple(restored), ())


def _undo(journal: FoundJournal, index: int, entry: JournalEntry) -> bool:
    """Undo one file; False when it had not been changed. Raises OSError and `ToolError`."""
    shown = visible_name(str(entry.path))
    if entry.after is None:
        if not entry.hidden.exists():
            return False
        bring_back(FileCommit(entry.path, shown, b"", entry.before), entry.hidden)
        return True
    entry.hidden.unlink(missing_ok=True)
    present = _digest(entry.path, shown)
    if entry.before is None:
        if present is not None:
            remove_file(FileCommit(entry.path, shown, b"", entry.after))
        _remove_made(entry.made)
        return present is not None
    if present == entry.before:
        return False
    # a file that was being rewritten in place is neither old nor new: like one that somebody has
    # changed since, it is left, and the folder with the originals is kept and named
    original = journal.original(index)
    commit_file(FileCommit(entry.path, shown, original, entry.after, recovery_dir=journal.folder))
    return True


def _remove_made(made: Sequence[Path]) -> None:
    remove_empty([directory for directory in made if directory.is_dir()])


def _digest(path: Path, shown: str) -> str | None:
    """The content hash of a file, None if there is none."""
    if not os.path.lexists(path):
        return None
    digest = hashlib.sha256()
    with open_regular(path, shown) as descriptor:
        for chunk in chunks(descriptor, shown):
            digest.update(chunk)
    return digest.hexdigest()
