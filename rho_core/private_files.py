"""Files and folders that only their owner can read, from the moment they exist."""

from __future__ import annotations

import os
from pathlib import Path

from rho_core.file_sync import sync_names


def make_private_folder(path: Path) -> None:
    """Make `path` and every missing folder above it, each for its owner only. Raises OSError.

    What exists keeps its mode: the user may have chosen it. `Path.mkdir(parents=True)` would give
    the mode to the last folder alone and leave the others to the umask.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def open_private_file(path: str | Path, flags: int) -> int:
    """Open `path`, made for its owner only where it is missing; fits `open(…, opener=…)`.

    Returns the descriptor. Raises OSError.
    """
    return os.open(path, flags, 0o600)


def replace_private_file(path: Path, data: bytes) -> None:
    """Replace what `path` holds, atomically, by a file that only its owner can read.

    A link stays a link: the file it leads to is replaced. Raises OSError.
    """
    import tempfile  # heavy for a start, and most runs replace nothing

    target = Path(os.path.realpath(path))
    make_private_folder(target.parent)
    # mkstemp makes a new file of mode 0600, under a name that nobody can lay a link at
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
        sync_names(target.parent)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
