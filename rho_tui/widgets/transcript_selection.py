"""Selection in the transcript: stable coordinates, and the text that a selection copies.

Textual compares selection offsets by (y, x). Here y stands for an entry and a row inside it, not
for an absolute row, so a selection stays on its text when rows above it change height.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from textual.geometry import Offset
from textual.selection import Selection

from rho_tui.transcript.rows import Row, RowSource
from rho_tui.widgets.transcript_index import Entry, EntryIndex
from rho_tui.widgets.transcript_painter import MARGIN

_ROW_BITS = 21
_ROW_MASK = (1 << _ROW_BITS) - 1

_WORD = re.compile(r"[\w./:@~+-]+")


def row_key(index: int, row: int) -> int:
    """The y coordinate of a row of the entry at `index`."""
    return index << _ROW_BITS | min(row, _ROW_MASK)


def selected_text(
    selection: Selection, entries: EntryIndex, rows_of: Callable[[Entry], RowSource]
) -> str:
    """Source text of a selection: no padding, decoration or soft wraps.

    Args:
        selection: Offsets made of `row_key` and character columns; None means the very end.
        entries: All entries.
        rows_of: Lays an entry out.
    """
    if not len(entries):
        return ""
    first, last = 0, len(entries) - 1
    if selection.start is not None:
        first = min(selection.start.y >> _ROW_BITS, last)
    if selection.end is not None:
        last = min(selection.end.y >> _ROW_BITS, last)
    pieces: list[str] = []
    for index in range(first, last + 1):
        entry = entries[index]
        text = _entry_text(selection, index, rows_of(entry))
        if text is not None:
            pieces.append(text)
    return "\n\n".join(pieces)


def _entry_text(selection: Selection, index: int, source: RowSource) -> str | None:
    """Selected text of one entry, None when none of its rows is touched."""
    start = stop = None
    low, high = 0, source.height
    if selection.start is not None and selection.start.y >> _ROW_BITS == index:
        start = selection.start.x
        low = selection.start.y & _ROW_MASK
    if selection.end is not None and selection.end.y >> _ROW_BITS == index:
        stop = selection.end.x
        high = min(high, (selection.end.y & _ROW_MASK) + 1)
    rows = source.rows(low, high) if low < high else []
    if not rows:
        return None
    text = ""
    join = ""
    for number, row in enumerate(rows, low):
        begin = start if number == low and start is not None else 0
        end = (
            stop
            if stop is not None and number == high - 1 and _ends_here(selection, number)
            else None
        )
        text += join + _row_text(row, begin, end)
        join = row.join
    return text.rstrip(" ")


def _ends_here(selection: Selection, number: int) -> bool:
    return selection.end is not None and selection.end.y & _ROW_MASK == number


def _row_text(row: Row, start: int, end: int | None) -> str:
    """Copied text between two columns of the painted row."""
    stop = None if end is None else max(0, end - MARGIN)
    text = row.copied(max(0, start - MARGIN), stop)
    return text.rstrip(" ") if row.join == "\n" else text


def word_at(row: Row, column: int) -> tuple[int, int] | None:
    """Columns of the word at a column of the painted row, None between words."""
    for match in _WORD.finditer(row.text):
        if match.start() <= column - MARGIN < match.end():
            return match.start() + MARGIN, match.end() + MARGIN
    return None


def span_in_row(selection: Selection, key: int, row: Row) -> tuple[int, int] | None:
    """Selected columns of a painted row, padding left out."""
    span = selection.get_span(key)
    if span is None:
        return None
    start, end = span
    size = MARGIN + len(row.text) - row.tail
    stop = size if end == -1 else min(end, size)
    start = max(start, MARGIN)
    return (start, stop) if start < stop else None


def whole_entry(index: int) -> Selection:
    """The selection of all of an entry."""
    return Selection(Offset(0, row_key(index, 0)), Offset(1 << 20, row_key(index, _ROW_MASK)))
