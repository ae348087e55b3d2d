"""Putting new content in place so that the old or the new file is there at every moment (30.6).

An existing file is locked, checked by content hash, and replaced by a rename of a temporary file
beside it that carries its mode, owner and extended attributes. Where a rename would lose
something it is rewritten in place instead. A new file appears whole, never over one that came up
meanwhile, with the mode that the umask gives.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rho_core.errors import ToolError
from rho_core.tools.files.commit import CommitStep, FileCommit, sync_directory, write_all
from rho_core.tools.files.display import visible_name
from rho_core.tools.files.in_place import write_in_place
from rho_core.tools.files.ledger import stale_file
from rho_core.tools.files.locking import is_same_file, locked_file, locked_path
from rho_core.tools.files.reading import chunks, open_regular, os_error

_CANNOT_RENAME = frozenset({errno.EBUSY, errno.EXDEV})
_CANNOT_LINK = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.EXDEV}
)
_NOT_WRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def commit_file(commit: FileCommit) -> tuple[Path, ...]:
    """Put `commit.content` on disk. Blocking. Raises `ToolError` and leaves old or new content.

    The stale check compares the exact bytes just before they are replaced; a file that changed,
    vanished or came up since is left alone. Returns the directories that had to be made for it.
    """
    with locked_path(commit.path, commit.shown):
        try:
            if commit.expected is None:
                return _create(commit)
            _change(commit)
            return ()
        except OSError as error:
            raise os_error("write", commit.shown, error) from None


def _change(commit: FileCommit) -> None:
    commit.on_step(CommitStep.LOCK)
    with locked_file(commit.path, commit.shown) as descriptor:
        require_canonical(commit)
        facts = os.fstat(descriptor)
        if not facts.st_mode & 0o222:
            raise ToolError.execution(f"{commit.shown} is read-only; it was left as it is")
        commit.on_step(CommitStep.READ)
        require_expected(commit, descriptor)
        if facts.st_nlink != 1 or not _replace_by_rename(commit, descriptor, facts):
            write_in_place(commit, descriptor)


def _replace_by_rename(commit: FileCommit, source: int, facts: os.stat_result) -> bool:
    """Replace the file; False, with nothing changed, if a rename would lose some of its facts."""
    with _temporary(commit, 0o600) as temporary:
        descriptor = os.open(temporary, os.O_WRONLY)
        try:
            write_all(commit, descriptor, CommitStep.WRITE_TEMPORARY)
            if not _carry_metadata(commit, source, descriptor, facts):
                return False
            commit.on_step(CommitStep.SYNC_TEMPORARY)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        commit.stop_if_asked()
        commit.on_step(CommitStep.VERIFY)
        require_expected(commit, source)
        if not is_same_file(source, commit.path):
            raise stale_file(commit.shown, swapped=True)
        try:
            commit.on_step(CommitStep.RENAME)
            temporary.replace(commit.path)
        except OSError as error:
            if error.errno in _CANNOT_RENAME:  # a single file that is a mount point
                return False
            raise
    sync_directory(commit, commit.path.parent)
    return True


def _create(commit: FileCommit) -> tuple[Path, ...]:
    made = _make_parents(commit)
    try:
        require_canonical(commit)
        with _temporary(commit, 0o666) as temporary:  # the kernel applies the umask
            descriptor = os.open(temporary, os.O_WRONLY)
            try:
                write_all(commit, descriptor, CommitStep.WRITE_TEMPORARY)
                _take_after(commit, descriptor)
                commit.on_step(CommitStep.SYNC_TEMPORARY)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            commit.stop_if_asked()
            require_canonical(commit)
            commit.on_step(CommitStep.RENAME)
            _install(commit, temporary)
    except BaseException:
        remove_empty(made)
        raise
    for directory in {commit.path.parent, *(parent.parent for parent in made)}:
        sync_directory(commit, directory)
    return tuple(made)


def _take_after(commit: FileCommit, descriptor: int) -> None:
    """Give a moved file what it had at its old place: at least the mode, if not the owner."""
    if commit.like is None:
        return
    with open_regular(commit.like, commit.shown) as source:
        facts = os.fstat(source)
        if not _carry_metadata(commit, source, descriptor, facts):
            # without the owner, the bits that lend the owner's rights must not come along
            os.fchmod(descriptor, stat.S_IMODE(facts.st_mode) & 0o777)


def _install(commit: FileCommit, temporary: Path) -> None:
    """Give the temporary file its name unless something has that name already."""
    try:
        os.link(temporary, commit.path)
        try:
            commit.on_step(CommitStep.REMOVE_TEMPORARY)
            temporary.unlink()
        except OSError:
            commit.path.unlink()  # a failed call leaves no file behind
            raise
    except FileExistsError:
        raise stale_file(commit.shown) from None
    except OSError as error:
        if error.errno not in _CANNOT_LINK:
            raise
        # a file system without hard links: claim the name first, then fill it
        try:
            os.close(os.open(commit.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            raise stale_file(commit.shown) from None
        temporary.replace(commit.path)


def temporary_name(path: Path) -> Path:
    """A new hidden name beside `path`."""
    return path.parent / f".rho-{secrets.token_hex(8)}.tmp"


@contextmanager
def _temporary(commit: FileCommit, mode: int) -> Iterator[Path]:
    """An empty new file beside the target, gone afterwards unless it was renamed."""
    directory = commit.path.parent
    temporary = commit.temporary or temporary_name(commit.path)
    try:
        commit.on_step(CommitStep.CREATE_TEMPORARY)
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    except OSError as error:
        if error.errno in _NOT_WRITABLE:
            shown = visible_name(str(directory))
            raise ToolError.execution(
                f"could not write {commit.shown}: its directory {shown} is not writable"
            ) from None
        raise
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _make_parents(commit: FileCommit) -> list[Path]:
    """Create the missing parents from the top down; those that were made, in that order."""
    missing: list[Path] = []
    directory = commit.path.parent
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    made: list[Path] = []
    try:
        for parent in reversed(missing):
            commit.on_step(CommitStep.MAKE_PARENT)
            try:
                parent.mkdir()
            except FileExistsError:  # another call was faster
                continue
            made.append(parent)
    except OSError:
        remove_empty(made)
        raise
    return made


def remove_empty(made: Sequence[Path]) -> list[Path]:
    """Remove directories that were made, the last one first; those that somebody else fills stay.

    Returns the ones that stay.
    """
    for index in range(len(made) - 1, -1, -1):
        try:
            made[index].rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return list(made[: index + 1])
    return []


def require_canonical(commit: FileCommit) -> None:
    """Raise `StaleFile` if a link has come up among the directories of the path (2.28).

    The path was resolved and approved earlier: what a later link leads to was approved by nobody.
    """
    directory = commit.path.parent
    if os.path.realpath(directory) != str(directory):
        raise stale_file(commit.shown, swapped=True)


def require_expected(commit: FileCommit, descriptor: int) -> None:
    """Raise `StaleFile` unless the open file still has exactly the expected bytes."""
    digest = hashlib.sha256()
    for chunk in chunks(descriptor, commit.shown):
        digest.update(chunk)
    if digest.hexdigest() != commit.expected:
        raise stale_file(commit.shown)


def _carry_metadata(commit: FileCommit, source: int, target: int, facts: os.stat_result) -> bool:
    """Give the temporary file the owner, attributes and mode of the original, if that works."""
    try:
        commit.on_step(CommitStep.CARRY_METADATA)
        made = os.fstat(target)
        if (made.st_uid, made.st_gid) != (facts.st_uid, facts.st_gid):
            os.fchown(target, facts.st_uid, facts.st_gid)
        _carry_attributes(source, target)
        os.fchmod(target, stat.S_IMODE(facts.st_mode))  # last: a change of owner clears bits
        kept = os.fstat(target)
    except OSError:
        return False
    return (kept.st_uid, kept.st_gid, kept.st_mode) == (facts.st_uid, facts.st_gid, facts.st_mode)


def _carry_attributes(source: int, target: int) -> None:
    """Make the extended attributes equal, access control lists included. Raises OSError."""
    if not hasattr(os, "listxattr"):
        return
    try:
        wanted = {name: os.getxattr(source, name) for name in os.listxattr(source)}
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EOPNOTSUPP):
            return
        raise
    present = {name: os.getxattr(target, name) for name in os.listxattr(target)}
    for name in present.keys() - wanted.keys():
        os.removexattr(target, name)
    for name, value in wanted.items():
        if present.get(name) != value:
            os.setxattr(target, name, value)
