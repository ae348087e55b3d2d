"""A Markdown table that can grow by rows.

Columns take their natural width when they fit, else the widest give way and cells wrap; where even
that is too narrow each row becomes a list of `header: value` lines. Heights of rows are kept, and
only computed again when a column's width has changed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from rho_tui.transcript.markdown_parse import inline_spans
from rho_tui.transcript.rows import Hit, Row, Run
from rho_tui.transcript.wrap import Span, text_width, wrap_words

if TYPE_CHECKING:
    from markdown_it.token import Token

Align = Literal["left", "center", "right"]

_ALIGNS: dict[str, Align] = {"center": "center", "right": "right"}

_GAP = " │ "
_RULE_GAP = "─┼─"
_MIN_COLUMN = 6
"""Cells under which a column isn't squeezed."""


class Cell(NamedTuple):
    """One cell: its spans and the width of its longest line."""

    spans: tuple[Span, ...]
    width: int


def make_cell(content: str, base: str) -> Cell:
    """A cell from its Markdown source."""
    spans = inline_spans(content.strip(), base)
    text = "".join([span[0] for span in spans])
    return Cell(spans, max(text_width(line) for line in text.split("\n")))


def split_row(line: str) -> list[str]:
    r"""Cells of a table line as the parser splits it: at `|` except `\|`, outer pipes dropped."""
    cells: list[str] = []
    current: list[str] = []
    escaped = False
    for char in line.strip():
        if char == "|" and not escaped:
            cells.append("".join(current))
            current = []
        elif char == "|":
            current[-1] = "|"
        else:
            current.append(char)
        escaped = char == "\\"
    cells.append("".join(current))
    if cells and not cells[0]:
        del cells[0]
    if cells and not cells[-1]:
        del cells[-1]
    return cells


def table_head(tokens: Sequence[Token]) -> tuple[list[str], list[Align]]:
    """Header cells and column alignments of a parsed table."""
    cells: list[str] = []
    aligns: list[Align] = []
    for index, token in enumerate(tokens):
        if token.type == "th_open":
            side = str(token.attrs.get("style", "")).removeprefix("text-align:")
            aligns.append(_ALIGNS.get(side, "left"))
            cells.append(tokens[index + 1].content)
        elif token.type == "thead_close":
            break
    return cells, aligns


class TableRows:
    """Rows of a table at one width.

    The parser drops cells beyond the header's; here they open further columns, so no text is lost.
    """

    def __init__(
        self, header: Sequence[str], aligns: Sequence[Align], width: int, base: str = ""
    ) -> None:
        self._width = max(1, width)
        self._base = base
        self._aligns = aligns
        self._cells = [[make_cell(text, f"{base} bold".strip()) for text in header]]
        self._natural = [cell.width for cell in self._cells[0]]
        self._saved = list(self._natural)
        self._columns: list[int] = []
        self._ends: list[int] = []

    def add(self, line: str) -> None:
        """Add a body row from its source line."""
        self._saved = list(self._natural)
        cells = [make_cell(text, self._base) for text in split_row(line)]
        self._cells.append(cells)
        for index, cell in enumerate(cells):
            if index == len(self._natural):
                self._natural.append(0)
            self._natural[index] = max(self._natural[index], cell.width)

    def pop(self) -> None:
        """Take back the latest `add`: the row was shown while incomplete."""
        self._cells.pop()
        del self._ends[len(self._cells) :]
        self._natural = self._saved

    @property
    def height(self) -> int:
        """Number of rows, the rule under the header included."""
        self._measure()
        return self._ends[-1] if self._ends else 0

    def rows(self, start: int, stop: int) -> Sequence[Row]:
        """Rows `start` to `stop`."""
        self._measure()
        found: list[Row] = []
        index = bisect_right(self._ends, start)
        while start < stop and index < len(self._ends):
            base = self._ends[index - 1] if index else 0
            found.extend(self._entry(index)[start - base : stop - base])
            start = self._ends[index]
            index += 1
        return found

    def _measure(self) -> None:
        columns = fit_columns(self._natural, self._width)
        if columns != self._columns:
            self._columns = columns
            self._ends.clear()
        total = self._ends[-1] if self._ends else 0
        for index in range(len(self._ends), len(self._cells)):
            total += self._height(index)
            self._ends.append(total)

    def _height(self, index: int) -> int:
        cells = self._cells[index]
        if self._columns and all(
            cell.width <= width for cell, width in zip(cells, self._columns, strict=False)
        ):
            tallest = max((_lines(cell) for cell in cells), default=1)
            return tallest + (1 if index == 0 else 0)
        return len(self._entry(index))

    def _entry(self, index: int) -> list[Row]:
        if not self._columns:
            return self._record(index)
        rows = self._grid(self._cells[index])
        if index == 0:
            rule = _RULE_GAP.join("─" * width for width in self._columns)
            rows.append(Row(((rule, "border"),), lead=len(rule), join=""))
        return rows

    def _grid(self, cells: list[Cell]) -> list[Row]:
        wrapped = [
            wrap_words(cells[at].spans, width) if at < len(cells) else [Row()]
            for at, width in enumerate(self._columns)
        ]
        return [
            self._grid_row([cell[line] if line < len(cell) else Row() for cell in wrapped])
            for line in range(max(map(len, wrapped)))
        ]

    def _grid_row(self, parts: list[Row]) -> Row:
        runs: list[Run] = []
        hits: list[Hit] = []
        size = 0
        for column, (part, width) in enumerate(zip(parts, self._columns, strict=True)):
            if column:
                runs.append((_GAP, "border"))
                size += len(_GAP)
            spare = width - text_width(part.text)
            align = self._aligns[column] if column < len(self._aligns) else "left"
            left = {"left": 0, "center": spare // 2, "right": spare}[align]
            if left > 0:
                runs.append((" " * left, ""))
                size += left
            hits += [hit._replace(start=hit.start + size, end=hit.end + size) for hit in part.hits]
            runs += part.runs
            size += len(part.text)
            if spare > left and column < len(self._columns) - 1:
                runs.append((" " * (spare - left), ""))
                size += spare - left
        return Row(tuple(runs), hits=tuple(hits))

    def _record(self, index: int) -> list[Row]:
        """A row as `header: value` lines; the header row itself is not shown then."""
        if index == 0:
            if len(self._cells) > 1:
                return []
            return [row for cell in self._cells[0] for row in wrap_words(cell.spans, self._width)]
        rows: list[Row] = []
        if index > 1:
            rule = "─" * min(self._width, 8)
            rows.append(Row(((rule, "border"),), lead=len(rule), join=""))
        header = self._cells[0]
        for column, cell in enumerate(self._cells[index]):
            title = header[column].spans if column < len(header) else ()
            colon: tuple[Span, ...] = ((": ", "muted", ""),) if title else ()
            rows += wrap_words((*title, *colon, *cell.spans), self._width)
        return rows


def _lines(cell: Cell) -> int:
    return 1 + sum(span[0].count("\n") for span in cell.spans)


def fit_columns(natural: Sequence[int], width: int) -> list[int]:
    """Column widths for the natural ones; empty when the table can't be a grid at this width."""
    room = width - len(_GAP) * (len(natural) - 1)
    wanted = [max(1, size) for size in natural]
    if sum(wanted) <= room:
        return wanted
    if sum(min(size, _MIN_COLUMN) for size in wanted) > room:
        return []
    # The widest columns share what the narrow ones leave.
    limit_low, limit_high = _MIN_COLUMN, max(wanted)
    while limit_low < limit_high:
        limit = (limit_low + limit_high + 1) // 2
        if sum(min(size, limit) for size in wanted) <= room:
            limit_low = limit
        else:
            limit_high = limit - 1
    columns = [min(size, limit_low) for size in wanted]
    spare = room - sum(columns)
    for index, size in enumerate(wanted):
        if spare and columns[index] < size:
            columns[index] += 1
            spare -= 1
    return columns
