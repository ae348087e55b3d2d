"""Opening and reading regular files only, within a size limit and without waiting (5.6, C1).

A FIFO would block, a device might never end or react to being opened, and some files under
`/proc` wait for data: none of them is read. All functions block: run them off the event loop.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rho_core.errors import ToolError
from rho_core.tools.files.display import visible_name

MAX_FILE_BYTES = 26_214_400
CHUNK_BYTES = 262_144

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a symbolic link"),
)


def not_regular(mode: int, shown: str) -> ToolError:
    """The refusal of something that is no regular file; a directory gets directions (C2)."""
    kind = next((name for test, name in _KINDS if test(mode)), "a special file")
    if stat.S_ISDIR(mode):
        return ToolError.execution(f"{shown} is a directory, not a file; list_dir shows it")
    return ToolError.execution(f"{shown} is {kind}, not a regular file; it was not opened")


def os_error(action: str, shown: str, error: OSError) -> ToolError:
    """`could not ‹action› ‹path›: ‹reason›`, without the path in the platform's own spelling."""
    reason = error.strerror or type(error).__name__
    return ToolError.execution(f"could not {action} {shown}: {visible_name(reason)}")


@contextmanager
def open_regular(path: Path, shown: str, flags: int = os.O_RDONLY) -> Iterator[int]:
    """A descriptor of a regular file at a canonical path, that never waits and follows no link.

    Raises `ToolError` for anything else and for OS errors.
    """
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        raise os_error("open", shown, error) from None
    if not stat.S_ISREG(mode):  # looked at first: opening a device can have effects
        raise not_regular(mode, shown)
    extra = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags | extra | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        raise os_error("open", shown, error) from None
    try:
        opened = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(opened):
            raise not_regular(opened, shown)
        yield descriptor
    finally:
        os.close(descriptor)


def read_regular(path: Path, shown: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The whole content, at most `max_bytes`; a larger file is refused. Raises `ToolError`."""
    with open_regular(path, shown) as descriptor:
        data = bytearray()
        for chunk in chunks(descriptor, shown):
            data += chunk
            if len(data) > max_bytes:
                raise too_large(shown, max(os.fstat(descriptor).st_size, len(data)), max_bytes)
        return bytes(data)


def chunks(descriptor: int, shown: str) -> Iterator[bytes]:
    """The content from the descriptor's start to its end. Raises `ToolError`."""
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        while chunk := os.read(descriptor, CHUNK_BYTES):
            yield chunk
    except BlockingIOError:
        raise ToolError.execution(
            f"could not read {shown}: it has no end to read to without waiting"
        ) from None
    except OSError as error:
        raise os_error("read", shown, error) from None


def too_large(shown: str, size: int, limit: int) -> ToolError:
    """The refusal of a file over the size limit, with ways around it."""
    return ToolError.execution(
        f"{shown} is too large ({size:,} bytes, the limit is {limit:,}); use grep to find the "
        "part you need, or a shell command such as sed -n to print it"
    )
