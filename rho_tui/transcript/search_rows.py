"""Lines that a search found as rows: path, line number, and what matched marked (APP2.29).

A collapsed card shows one row a line, cut around the first match; an expanded one wraps. Matches
are found again with the call's own pattern, by the same linear-time engine, and only in lines that
are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rho_tui.transcript.blocks import SearchBody
from rho_tui.transcript.lines import mark_runs
from rho_tui.transcript.rows import Row, Run
from rho_tui.transcript.sanitize import clean_text
from rho_tui.transcript.wrap import (
    cell_breaks,
    cell_height,
    column_at,
    expand_tabs,
    text_width,
    wrap_cells,
)

if TYPE_CHECKING:
    from rho_core.tools.search.regex import LineMatcher

_MATCH = "bg:mark bold"
_FOUND = re.compile(r"\d{1,9} \| ")
_MAX_LOOKED_AT = 4_096
"""Characters of a line in which matches are looked for; the tool itself cuts lines at 200."""

_MOST = 2 * _MAX_LOOKED_AT
"""Characters of a line that its one row is cut from."""

_MIN_ROOM = 12
"""Cells beside the line number below which a line is wrapped, not cut."""


class SearchLines:
    """The lines of a search result, each styled by what it is."""

    def __init__(self, body: SearchBody) -> None:
        self._body = body
        self._lines = [_clean(line) for line in body.text.removesuffix("\n").split("\n")]

    def __len__(self) -> int:
        """Number of lines."""
        return len(self._lines)

    def runs(self, index: int, most: int | None = None) -> list[Run]:
        """Styled runs of a line, tabs expanded; that of a match begins with its number.

        Of its characters only the first `most` count.
        """
        line = self._lines[index][:most]
        gutter = self.gutter(index)
        if not gutter:
            leads = index + 1 < len(self._lines) and self.gutter(index + 1)
            return [(expand_tabs(line), "primary" if leads else "muted")] if line else []
        marks = [(gutter + start, gutter + end) for start, end in self._matches(line[gutter:])]
        return mark_runs([(line[:gutter], "muted"), (line[gutter:], "")], marks, _MATCH)

    def height(self, index: int, width: int) -> int:
        """Rows of a line when it is wrapped."""
        return cell_height(expand_tabs(self._lines[index]), width)

    def is_cut(self, index: int, width: int) -> bool:
        """Whether a line takes more than one row."""
        return len(self._lines[index]) > _MOST or self.height(index, width) > 1

    def gutter(self, index: int) -> int:
        """Characters of the line number and the bar behind it; 0 where there is none."""
        match = _FOUND.match(self._lines[index])
        return match.end() if match else 0

    def _matches(self, content: str) -> list[tuple[int, int]]:
        body = self._body
        matcher = _matcher(body.pattern, body.literal, body.case_sensitive)
        if matcher is None:
            return []
        # the tool's own marks of a cut are no text: `^` and `$` may match beside them
        cut = len(content) - len(content.removeprefix("…"))
        looked_at = content[cut : cut + _MAX_LOOKED_AT].removesuffix("…")
        return [(cut + start, cut + end) for start, end in matcher.spans(looked_at)]


class SearchRows:
    """One row a line."""

    def __init__(self, lines: SearchLines, width: int) -> None:
        self._lines = lines
        self._width = width
        self.height = len(lines)

    def rows(self, start: int, stop: int) -> Sequence[Row]:
        """Rows `start` to `stop`."""
        return [self._row(index) for index in range(start, stop)]

    def _row(self, index: int) -> Row:
        runs = self._lines.runs(index, _MOST)
        if not self._lines.is_cut(index, self._width):
            return Row(tuple(runs))
        gutter = self._lines.gutter(index)
        if not gutter or self._width - gutter < _MIN_ROOM:
            return wrap_cells([*_head(runs, self._width - 1), ("…", "muted")], self._width)[0]
        return Row((runs[0], *_around_match(runs[1:], self._width - gutter)))


def cuts(lines: SearchLines, width: int) -> bool:
    """Whether a line is longer than a row."""
    return any(lines.is_cut(index, width) for index in range(len(lines)))


def _head(runs: Sequence[Run], room: int) -> Sequence[Run]:
    return wrap_cells(runs, max(1, room))[0].runs


def _around_match(runs: Sequence[Run], room: int) -> list[Run]:
    """The part of a line's content that fits `room` cells, with its first match in view."""
    text = "".join(piece for piece, _ in runs)
    begin, end = _first_match(runs)
    before, match = text_width(text[:begin]), text_width(text[begin:end])
    start = 0
    if before + match > room * 3 // 4:  # else the line's beginning has it, with what follows
        lead = max(0, (room - 2 - match) // 2)
        start = max(0, min(before - lead, text_width(text) - room + 1))
    first = column_at(text, start) if start else 0
    room -= 1 if first else 0
    last = len(text)
    if text_width(text[first:]) > room:
        last = first + cell_breaks(text[first:], room - 1)[0][1]
    found: list[Run] = [("…", "muted")] if first else []
    at = 0
    for piece, key in runs:
        shown = piece[max(0, first - at) : max(0, last - at)]
        if shown:
            found.append((shown, key))
        at += len(piece)
    if last < at:
        found.append(("…", "muted"))
    return found


def _first_match(runs: Sequence[Run]) -> tuple[int, int]:
    at = 0
    for piece, key in runs:
        if _MATCH in key:
            return at, at + len(piece)
        at += len(piece)
    return 0, 0


def _clean(line: str) -> str:
    return clean_text(line).replace("\n", "␤")


@lru_cache(maxsize=32)
def _matcher(pattern: str, literal: bool, case_sensitive: bool) -> LineMatcher | None:
    from rho_core.errors import ToolError
    from rho_core.tools.search.regex import LineMatcher

    try:
        return LineMatcher(pattern, literal=literal, case_sensitive=case_sensitive)
    except ToolError:
        return None
