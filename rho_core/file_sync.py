"""Making changes of names durable."""

from __future__ import annotations

import os
from pathlib import Path


def sync_names(directory: Path) -> None:
    """Make new, changed and removed names in `directory` survive a loss of power.

    Where directories cannot be synced (Windows, some network file systems) nothing happens: what
    the names lead to was synced by itself.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)
