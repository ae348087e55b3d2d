"""Where in a TOML text a key stands, for messages."""

from __future__ import annotations

import re
import tomllib
from typing import Any

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*\[\s*({_DOTTED})\s*\]")
_ASSIGNED = re.compile(rf"\s*({_DOTTED})\s*=")


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """The line of `text` (TOML) that first sets `path`, else opens a table around it."""
    table: tuple[str, ...] = ()
    depth, best = 0, None
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            here = table = _dotted_path(header[1])
        elif assigned := _ASSIGNED.match(line):
            here = table + _dotted_path(assigned[1])
        else:
            continue
        shared = min(len(here), len(path))
        if here[:shared] == path[:shared] and shared > depth:
            depth, best = shared, number
    return best


def _dotted_path(dotted: str) -> tuple[str, ...]:
    try:
        tables: Any = tomllib.loads(f"{dotted} = 0")
    except ValueError:  # inside a text of several lines
        return ()
    path: list[str] = []
    while isinstance(tables, dict):
        ((key, tables),) = tables.items()
        path.append(key)
    return tuple(path)
