"""Rewriting a file in place, for what a rename would break: hard links, owners, mounts (30.6).

The original is first copied to a place from which it can be recovered, and brought back if the
rewrite fails. The copy stays only if that fails too, and the error says where it is.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from rho_core.errors import ToolError, ToolErrorKind
from rho_core.private_files import make_private_folder, open_private_file
from rho_core.tools.files.commit import CommitStep, FileCommit, sync_directory, write_all
from rho_core.tools.files.display import visible_name
from rho_core.tools.files.ledger import stale_file
from rho_core.tools.files.reading import CHUNK_BYTES, chunks, os_error


def write_in_place(commit: FileCommit, descriptor: int) -> None:
    """Rewrite the locked file behind `descriptor`. Raises `ToolError`; old or new is left."""
    try:
        copy = _copy_original(commit, descriptor)
    except OSError as error:
        raise os_error("keep a recoverable copy of", commit.shown, error) from None
    try:
        commit.stop_if_asked()
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            write_all(commit, descriptor, CommitStep.WRITE_IN_PLACE)
            commit.on_step(CommitStep.CUT_IN_PLACE)
            os.ftruncate(descriptor, len(commit.content))
            commit.on_step(CommitStep.SYNC_IN_PLACE)
            os.fsync(descriptor)
        except OSError as error:
            _restore(commit, descriptor, copy, error)
    except NotRestored:
        raise
    except BaseException:
        copy.unlink(missing_ok=True)
        raise
    copy.unlink(missing_ok=True)


class NotRestored(ToolError):
    """The file is neither old nor new; a copy of the original stays and is named."""

    def __init__(self, message: str) -> None:
        super().__init__(ToolErrorKind.EXECUTION, message)


def _copy_original(commit: FileCommit, descriptor: int) -> Path:
    """A durable copy of exactly the expected content. Raises OSError, `ToolError` if stale."""
    directory = commit.recovery_dir or commit.path.parent
    make_private_folder(directory)
    stem = commit.path.name.encode("utf-8", "replace")[:100].decode("utf-8", "ignore")
    copy = directory / f".rho-original-{secrets.token_hex(6)}-{stem}"
    target = open_private_file(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        try:
            digest = hashlib.sha256()
            for chunk in chunks(descriptor, commit.shown):
                commit.on_step(CommitStep.COPY_ORIGINAL)
                digest.update(chunk)
                _write_fully(target, chunk)
            commit.on_step(CommitStep.SYNC_ORIGINAL)
            os.fsync(target)
        finally:
            os.close(target)
        if digest.hexdigest() != commit.expected:
            raise stale_file(commit.shown)
        sync_directory(commit, directory)
    except BaseException:
        copy.unlink(missing_ok=True)
        raise
    return copy


def _restore(commit: FileCommit, descriptor: int, copy: Path, cause: OSError) -> None:
    """Bring the original back and raise the error that says so."""
    reason = visible_name(cause.strerror or type(cause).__name__)
    try:
        commit.on_step(CommitStep.RESTORE)
        os.lseek(descriptor, 0, os.SEEK_SET)
        length = 0
        with copy.open("rb") as source:
            while chunk := source.read(CHUNK_BYTES):
                _write_fully(descriptor, chunk)
                length += len(chunk)
        os.ftruncate(descriptor, length)
        os.fsync(descriptor)
    except OSError as error:
        again = visible_name(error.strerror or type(error).__name__)
        raise NotRestored(
            f"could not write {commit.shown}: {reason}; restoring it failed too ({again}). "
            f"The original content is kept in {visible_name(str(copy))}"
        ) from None
    raise ToolError.execution(
        f"could not write {commit.shown}: {reason}; its original content was restored"
    )


def _write_fully(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
