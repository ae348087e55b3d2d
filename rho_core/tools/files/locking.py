"""Advisory locks around a change of a file: among threads and among processes (10.18).

The lock of an existing file is held on its inode, so every program that uses `flock` takes part
and no lock file is left anywhere. A rename swaps the inode away from under those who wait; they
notice, and try again with the new one.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from rho_core.errors import ToolError
from rho_core.tools.files.reading import open_regular

LOCK_TIMEOUT_MS = 1_000
_FIRST_WAIT_SECONDS = 0.002
_LONGEST_WAIT_SECONDS = 0.05
_UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})


class _PathLock:
    """A lock object that a weak dictionary can hold."""

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()


_guard = threading.Lock()
_path_locks: WeakValueDictionary[Path, _PathLock] = WeakValueDictionary()


@contextmanager
def locked_path(path: Path, shown: str) -> Iterator[None]:
    """Keep other threads of this process from changing `path`; it need not exist."""
    with _guard:
        entry = _path_locks.get(path)
        if entry is None:
            entry = _path_locks[path] = _PathLock()
    if not entry.lock.acquire(timeout=LOCK_TIMEOUT_MS / 1000):
        raise _timed_out(shown)
    try:
        yield
    finally:
        entry.lock.release()


@contextmanager
def locked_file(path: Path, shown: str) -> Iterator[int]:
    """A read-write descriptor of an existing regular file, locked against other processes.

    The descriptor is the file that the path names at the moment of locking. Raises `ToolError`.
    """
    deadline = time.monotonic() + LOCK_TIMEOUT_MS / 1000
    wait = _FIRST_WAIT_SECONDS
    while True:
        with open_regular(path, shown, os.O_RDWR) as descriptor:
            locked = _try_lock(descriptor)
            if locked and is_same_file(descriptor, path):
                yield descriptor  # closing the descriptor releases the lock
                return
        if not locked:
            if time.monotonic() + wait > deadline:
                raise _timed_out(shown)
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT_SECONDS)
        elif time.monotonic() > deadline:
            raise _timed_out(shown)


def is_same_file(descriptor: int, path: Path) -> bool:
    """Whether the path still names the open file, by device and inode and without following."""
    try:
        named = path.lstat()
    except OSError:
        return False
    opened = os.fstat(descriptor)
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # no flock on this platform: threads are still kept apart
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _UNSUPPORTED:  # some network file systems have no locks
            return True
        raise
    return True


def _timed_out(shown: str) -> ToolError:
    return ToolError.execution(
        f"could not lock {shown}: timed out after {LOCK_TIMEOUT_MS}ms; another program is "
        "changing it, try again"
    )
