"""Many lines as rows: heights come from arithmetic, rows are made only for the lines on screen.

Long lines are wrapped at cells, not cropped, so nothing is out of reach. The height of a line
costs one length check (ASCII) or one measurement, so the heights of 50,000 lines are exact from
the start.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Protocol

from rho_tui.transcript.rows import Row, Run
from rho_tui.transcript.sanitize import clean_text
from rho_tui.transcript.wrap import cell_height, expand_tabs, wrap_cells


class Lines(Protocol):
    """Lines that can be measured without being styled."""

    def __len__(self) -> int:
        """Number of lines."""
        ...

    def runs(self, index: int) -> list[Run]:
        """Safe styled runs of a line, tabs expanded."""
        ...

    def height(self, index: int, width: int) -> int:
        """Rows of a line at a width in cells."""
        ...


Decorate = Callable[[int, int, Row], Row]
"""Takes line index, row index inside the line and the bare row; adds gutter, fill and the like."""


class PlainLines:
    """Untrusted plain text by line, in one style.

    Args:
        text: The text; a final newline opens no further line.
        style: Style key of all of it.
    """

    def __init__(self, text: str, style: str = "") -> None:
        self._style = style
        self._lines = clean_text(text).removesuffix("\n").split("\n")

    def __len__(self) -> int:
        """Number of lines."""
        return len(self._lines)

    def runs(self, index: int) -> list[Run]:
        """Runs of a line."""
        line = self._lines[index]
        return [(expand_tabs(line), self._style)] if line else []

    def height(self, index: int, width: int) -> int:
        """Rows of a line."""
        return cell_height(expand_tabs(self._lines[index]), width)


class LineRows:
    """Rows of many lines at one width."""

    def __init__(self, lines: Lines, width: int, decorate: Decorate | None = None) -> None:
        self._lines = lines
        self._width = max(1, width)
        self._decorate = decorate
        self._ends: list[int] = []
        self._wrapped: tuple[int, list[Row]] = (-1, [])
        self.measure(0)

    def measure(self, first: int) -> None:
        """Measure again from line `first` on, after lines there grew or were added."""
        ends, lines, width = self._ends, self._lines, self._width
        del ends[first:]
        if self._wrapped[0] >= first:
            self._wrapped = (-1, [])
        total = ends[-1] if ends else 0
        for index in range(first, len(lines)):
            total += lines.height(index, width)
            ends.append(total)

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._ends[-1] if self._ends else 0

    def start(self, line: int) -> int:
        """First row of a line."""
        return self._ends[line - 1] if line else 0

    def rows(self, start: int, stop: int) -> Sequence[Row]:
        """Rows `start` to `stop`."""
        found: list[Row] = []
        line = bisect_right(self._ends, start)
        while start < stop and line < len(self._ends):
            base = self.start(line)
            rows = self._line_rows(line)
            found.extend(rows[start - base : stop - base])
            start = self._ends[line]
            line += 1
        return found

    def _line_rows(self, line: int) -> list[Row]:
        if self._wrapped[0] == line:
            return self._wrapped[1]
        rows = wrap_cells(self._lines.runs(line), self._width)
        if self._decorate is not None:
            rows = [self._decorate(line, index, row) for index, row in enumerate(rows)]
        if len(rows) > 4:  # paging through one very long line would wrap it again for each row
            self._wrapped = (line, rows)
        return rows


def mark_runs(runs: Sequence[Run], marks: Sequence[tuple[int, int]], style: str) -> list[Run]:
    """Runs with a style word added to some character ranges; tabs are expanded afterwards."""
    found: list[Run] = []
    base = column = 0
    for text, key in runs:
        for start, end, marked in _pieces(base, base + len(text), marks):
            piece = text[start - base : end - base]
            if "\t" in piece:
                piece = (" " * column + piece).expandtabs()[column:]
            column += len(piece)
            found.append((piece, f"{key} {style}".strip() if marked else key))
        base += len(text)
    return found


def _pieces(start: int, end: int, marks: Sequence[tuple[int, int]]) -> list[tuple[int, int, bool]]:
    found: list[tuple[int, int, bool]] = []
    for begin, stop in marks:
        begin, stop = max(begin, start), min(stop, end)
        if begin >= stop:
            continue
        if begin > start:
            found.append((start, begin, False))
        found.append((begin, stop, True))
        start = stop
    if start < end:
        found.append((start, end, False))
    return found
