"""Whether a folder is there."""

from __future__ import annotations

from pathlib import Path


class FolderGone(Exception):
    """A folder in which something was to happen is not there; the message names it."""


def folder_exists(folder: Path) -> bool:
    """Whether `folder` is a folder; one that we may not look at counts as gone. Blocking."""
    try:
        return folder.is_dir()
    except OSError:
        return False
