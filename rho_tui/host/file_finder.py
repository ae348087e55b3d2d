"""Paths of a folder for `@` mentions: one bounded walk, kept for a moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_KEEP_SECONDS = 15.0
_MAX_FILES = 20_000


class FolderFiles:
    """Finds files whose path holds the letters of the query; walks again when asked later.

    Args:
        folder: Tells which folder is meant now; another one than before is walked at once.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._walked: Path | None = None
        self._paths: list[str] = []
        self._walked_at = 0.0
        self._lock = asyncio.Lock()

    async def find(self, query: str, limit: int) -> Sequence[str]:
        """Relative paths, best first."""
        async with self._lock:
            folder = self._folder()
            if folder != self._walked or time.monotonic() - self._walked_at > _KEEP_SECONDS:
                self._paths = await asyncio.to_thread(_walk, folder)
                self._walked, self._walked_at = folder, time.monotonic()
        return await asyncio.to_thread(_best, self._paths, query, limit)


def _walk(folder: Path) -> list[str]:
    from itertools import islice

    from rho_core.tools.search.walk import Walk

    return [file.relative for file in islice(Walk(folder).files(), _MAX_FILES)]


def _best(paths: Sequence[str], query: str, limit: int) -> list[str]:
    ranked = []
    wanted = query.casefold()
    for path in paths:
        folded = path.casefold()
        if not _holds(folded, wanted):
            continue
        name = folded.rpartition("/")[2]
        rank = (not name.startswith(wanted), wanted not in name, wanted not in folded, len(path))
        ranked.append((rank, path))
    return [path for _rank, path in sorted(ranked)[:limit]]


def _holds(path: str, wanted: str) -> bool:
    """Whether the letters of `wanted` occur in `path` in order."""
    letters = iter(path)
    return all(letter in letters for letter in wanted)
