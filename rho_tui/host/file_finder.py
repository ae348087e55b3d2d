"""Paths of the workspace for `@` mentions: one bounded walk, kept for a moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

_KEEP_SECONDS = 15.0
_MAX_FILES = 20_000


class WorkspaceFiles:
    """Finds files whose path holds the letters of the query; walks again when asked later."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._paths: list[str] = []
        self._walked_at: float | None = None
        self._lock = asyncio.Lock()

    async def find(self, query: str, limit: int) -> Sequence[str]:
        """Relative paths, best first."""
        async with self._lock:
            now = time.monotonic()
            if self._walked_at is None or now - self._walked_at > _KEEP_SECONDS:
                self._paths = await asyncio.to_thread(self._walk)
                self._walked_at = time.monotonic()
        return await asyncio.to_thread(_best, self._paths, query, limit)

    def _walk(self) -> list[str]:
        from itertools import islice

        from rho_core.tools.search.walk import Walk

        walk = Walk(self._root)
        return [file.relative for file in islice(walk.files(), _MAX_FILES)]


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
