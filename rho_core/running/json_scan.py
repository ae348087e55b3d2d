"""Finds where a JSON object that arrives in pieces first closes, in one pass (C87)."""

from __future__ import annotations

import re

_STRUCTURAL = re.compile(r'["\\{}]')


class ObjectScanner:
    """Tracks braces outside strings. It judges shape only; parsing decides whether it is JSON."""

    __slots__ = ("_closed", "_depth", "_escaped", "_in_string", "_refused")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._closed = False
        self._refused = False

    def feed(self, piece: str) -> bool:
        """Take the next piece; True when the outermost object closes in it, which is once."""
        if self._closed or self._refused:
            return False
        if self._depth == 0 and piece.strip() and not piece.lstrip().startswith("{"):
            self._refused = True
            return False
        start = 0
        if self._escaped and piece:
            self._escaped = False
            start = 1
        return self._scan(piece, start)

    def _scan(self, piece: str, start: int) -> bool:
        skip_to = start
        for match in _STRUCTURAL.finditer(piece, start):
            if match.start() < skip_to:
                continue
            sign = match.group()
            if self._in_string:
                if sign == '"':
                    self._in_string = False
                elif sign == "\\":
                    skip_to = match.end() + 1
            elif sign == '"':
                self._in_string = True
            elif sign == "{":
                self._depth += 1
            elif sign == "}":
                self._depth -= 1
                if self._depth == 0:
                    self._closed = True
        self._escaped = skip_to > len(piece)
        return self._closed
