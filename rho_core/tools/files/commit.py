"""One change of one file on its way to the disk, and the small steps that both ways share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rho_core.errors import ToolError
from rho_core.file_sync import sync_names
from rho_core.tools.files.reading import CHUNK_BYTES


class CommitStep(StrEnum):
    """A point just before a system call of a commit, in order of occurrence."""

    MAKE_PARENT = "make_parent"
    LOCK = "lock"
    READ = "read"
    CREATE_TEMPORARY = "create_temporary"
    WRITE_TEMPORARY = "write_temporary"
    CARRY_METADATA = "carry_metadata"
    SYNC_TEMPORARY = "sync_temporary"
    VERIFY = "verify"
    RENAME = "rename"
    REMOVE_TEMPORARY = "remove_temporary"
    SYNC_DIRECTORY = "sync_directory"
    COPY_ORIGINAL = "copy_original"
    SYNC_ORIGINAL = "sync_original"
    WRITE_IN_PLACE = "write_in_place"
    CUT_IN_PLACE = "cut_in_place"
    SYNC_IN_PLACE = "sync_in_place"
    RESTORE = "restore"
    KEEP_ORIGINALS = "keep_originals"
    SET_ASIDE = "set_aside"
    BRING_BACK = "bring_back"
    REMOVE = "remove"
    FINISH = "finish"


def never() -> bool:
    """Nobody asks to stop."""
    return False


def ignore_step(_step: CommitStep) -> None:
    """Nobody watches the steps."""


@dataclass(frozen=True, slots=True)
class FileCommit:
    """What is to be on disk, and what must be there now.

    Args:
        path: The canonical path; its last component is no link.
        shown: The display path for messages.
        content: The exact new bytes.
        expected: The content hash that the file must still have; None: it must not exist.
        recovery_dir: Where a copy of the original lies while a file is rewritten in place; None
            means beside the file.
        should_stop: Asked just before the first change that others can see.
        on_step: Called before each step; an `OSError` from it counts as that step's failure.
        like: For a new file, an existing one whose mode, owner and attributes it takes.
        temporary: The name of the temporary file, beside the path; None: a new one.
    """

    path: Path
    shown: str
    content: bytes
    expected: str | None
    recovery_dir: Path | None = None
    should_stop: Callable[[], bool] = never
    on_step: Callable[[CommitStep], None] = ignore_step
    like: Path | None = None
    temporary: Path | None = None

    def stop_if_asked(self) -> None:
        """Raise the cancelled tool error if the call was cancelled."""
        if self.should_stop():
            raise ToolError.cancelled()


def write_all(commit: FileCommit, descriptor: int, step: CommitStep) -> None:
    """Write the new content at the descriptor's position, in pieces. Raises OSError."""
    view = memoryview(commit.content)
    at = 0
    while at < len(view):
        commit.on_step(step)
        at += os.write(descriptor, view[at : at + CHUNK_BYTES])


def sync_directory(commit: FileCommit, directory: Path) -> None:
    """Make a rename durable. A file system that cannot is no failure: the content is in place."""
    try:
        commit.on_step(CommitStep.SYNC_DIRECTORY)
    except OSError:
        return
    sync_names(directory)
