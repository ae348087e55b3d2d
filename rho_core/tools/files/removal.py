"""Taking files away, for good or until it is certain that they shall go.

A file that is set aside keeps its inode, so that bringing it back loses nothing: not its owner,
its attributes, nor its other hard links.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from rho_core.errors import ToolError
from rho_core.tools.files.commit import CommitStep, FileCommit, sync_directory
from rho_core.tools.files.ledger import stale_file
from rho_core.tools.files.locking import is_same_file, locked_file, locked_path
from rho_core.tools.files.reading import os_error
from rho_core.tools.files.replace import require_canonical, require_expected

_CANNOT_LINK = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.EXDEV}
)


def set_aside(removal: FileCommit, aside: Path) -> None:
    """Give the file another name if it still has the expected bytes. Raises `ToolError`."""
    _take(removal, lambda: removal.path.rename(aside), CommitStep.SET_ASIDE)


def remove_file(removal: FileCommit) -> None:
    """Remove the file if it still has the expected bytes. Raises `ToolError`."""
    _take(removal, removal.path.unlink, CommitStep.REMOVE)


def bring_back(removal: FileCommit, aside: Path) -> None:
    """Give a file that was set aside its name back, never over another. Raises `ToolError`."""
    with locked_path(removal.path, removal.shown):
        try:
            removal.on_step(CommitStep.BRING_BACK)
            rename_without_replacing(aside, removal.path)
        except FileExistsError:
            raise stale_file(removal.shown) from None
        except OSError as error:
            raise os_error("restore", removal.shown, error) from None
        sync_directory(removal, removal.path.parent)


def rename_without_replacing(source: Path, target: Path) -> None:
    """Raises OSError; `FileExistsError` when something has the name already."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _CANNOT_LINK:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        source.rename(target)
    else:
        source.unlink()


def _take(removal: FileCommit, action: Callable[[], object], step: CommitStep) -> None:
    with locked_path(removal.path, removal.shown):
        try:
            removal.on_step(CommitStep.LOCK)
            with locked_file(removal.path, removal.shown) as descriptor:
                require_canonical(removal)
                if not os.fstat(descriptor).st_mode & 0o222:
                    raise ToolError.execution(f"{removal.shown} is read-only; it was left as it is")
                removal.on_step(CommitStep.READ)
                require_expected(removal, descriptor)
                removal.stop_if_asked()
                if not is_same_file(descriptor, removal.path):
                    raise stale_file(removal.shown, swapped=True)
                removal.on_step(step)
                action()
        except OSError as error:
            raise os_error("remove", removal.shown, error) from None
        sync_directory(removal, removal.path.parent)
