"""The repository around a folder and its branch, read from `.git` without running git."""

from __future__ import annotations

from pathlib import Path

_MAX = 4096


def project_root(directory: Path) -> Path:
    """The nearest folder at or above `directory` that holds `.git`, else `directory` (26.3)."""
    for folder in (directory, *directory.parents):
        if (folder / ".git").exists():
            return folder
    return directory


def current_branch(directory: Path) -> str:
    """The branch, a short commit when detached, empty outside a repository. Blocks on the disk."""
    try:
        folder = _git_folder(directory)
        if folder is None:
            return ""
        head = _read(folder / "HEAD")
    except OSError:
        return ""
    if head.startswith("ref: refs/heads/"):
        return head.removeprefix("ref: refs/heads/")
    return head[:8]


def _git_folder(directory: Path) -> Path | None:
    for folder in (directory, *directory.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir():
            return dot_git
        if dot_git.is_file():  # a worktree or submodule points elsewhere
            pointer = _read(dot_git)
            return (folder / pointer.removeprefix("gitdir: ")).resolve()
    return None


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MAX).decode("utf-8", "replace").strip()
