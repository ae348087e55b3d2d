"""Breaking styled text into rows: at words for prose, at cells for code and terminal output.

ASCII text takes a fast path where a character is a cell. Other text is measured with Rich's cell
table and broken between grapheme clusters, so joined emoji and combining marks stay whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, split_graphemes

from rho_tui.transcript.rows import Hit, Row, Run

Span = tuple[str, str, str]
"""Text, style key, and the URL it links to or an empty string."""

TAB_SIZE = 8


def text_width(text: str) -> int:
    """Cells that sanitised text takes on one row."""
    return len(text) if text.isascii() else cell_len(text)


def expand_tabs(text: str) -> str:
    """Text with tabs replaced by spaces up to the next multiple of eight characters."""
    return text.expandtabs(TAB_SIZE) if "\t" in text else text


def wrap_words(spans: Sequence[Span], width: int) -> list[Row]:
    r"""Rows of prose: hard breaks at `\n`, soft breaks at spaces, long words cut between clusters.

    Spaces at a soft break are not shown but kept in the row's `join`, so that copying gives the
    source back. At least one row is returned.
    """
    width = max(1, width)
    text = "".join([span[0] for span in spans])
    rows: list[Row] = []
    slicer = _Slicer(spans)
    start = 0
    for line in text.split("\n"):
        for begin, end, join in _word_breaks(line, width):
            rows.append(slicer.row(start + begin, start + end, join))
        start += len(line) + 1
    return rows


def wrap_cells(runs: Sequence[Run], width: int) -> list[Row]:
    """Rows of one line of code or terminal output, cut exactly at `width` cells."""
    width = max(1, width)
    text = "".join([run[0] for run in runs])
    if text_width(text) <= width:
        return [Row(tuple(runs))]
    slicer = _Slicer([(run[0], run[1], "") for run in runs])
    breaks = cell_breaks(text, width)
    last = len(breaks) - 1
    return [
        slicer.row(begin, end, "" if index < last else "\n")
        for index, (begin, end) in enumerate(breaks)
    ]


def cell_breaks(text: str, width: int) -> list[tuple[int, int]]:
    """Character ranges of the rows that one line takes when it is cut at `width` cells."""
    if text.isascii():
        return [(at, min(at + width, len(text))) for at in range(0, len(text), width)] or [(0, 0)]
    spans, _total = split_graphemes(text)
    found: list[tuple[int, int]] = []
    begin = used = 0
    for start, _end, size in spans:
        if used + size > width and start > begin:
            found.append((begin, start))
            begin, used = start, 0
        used += size
    found.append((begin, len(text)))
    return found


def cell_height(text: str, width: int) -> int:
    """Rows that `wrap_cells` gives for one line, without making them."""
    if text.isascii():
        return max(1, -(-len(text) // max(1, width)))
    if cell_len(text) <= width:
        return 1
    return len(cell_breaks(text, max(1, width)))


def crop_cells(text: str, width: int) -> str:
    """Text cut to `width` cells, ending in an ellipsis when something was cut."""
    if text_width(text) <= width:
        return text
    if width <= 0:
        return ""
    begin, end = cell_breaks(text, max(1, width - 1))[0]
    return text[begin:end] + "…" if width > 1 else "…"


def column_at(text: str, cell: int) -> int:
    """Index of the character that covers a cell of the text; its length behind the end."""
    if text.isascii():
        return min(cell, len(text))
    used = 0
    for start, _end, size in split_graphemes(text)[0]:
        used += size
        if used > cell:
            return start
    return len(text)


def _word_breaks(line: str, width: int) -> list[tuple[int, int, str]]:
    """(start, end, join) of each row of one line."""
    if line.isascii():
        if len(line) <= width:
            return [(0, len(line), "\n")]
        return _ascii_breaks(line, width)
    if cell_len(line) <= width:
        return [(0, len(line), "\n")]
    return _cluster_breaks(line, width)


def _ascii_breaks(line: str, width: int) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    at, size = 0, len(line)
    while size - at > width:
        cut = line.rfind(" ", at + 1, at + width + 1)
        end = cut
        if cut > at:
            while end > at and line[end - 1] == " ":
                end -= 1
        if cut <= at or end == at:  # one long word, or nothing but indentation before it
            found.append((at, at + width, ""))
            at += width
            continue
        resume = cut
        while resume < size and line[resume] == " ":
            resume += 1
        if resume == size:
            return [*found, (at, end, "\n")]
        found.append((at, end, line[end:resume]))
        at = resume
    found.append((at, size, "\n"))
    return found


def _cluster_breaks(line: str, width: int) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    clusters, _total = split_graphemes(line)
    at = used = 0  # start of the row, cells in it
    space = -1  # end of the last word that is followed by a space in this row
    index = 0
    while index < len(clusters):
        start, _end, size = clusters[index]
        char = line[start]
        if char == " " and start > at and line[start - 1] != " ":
            space = start
        if used + size <= width or start == at:
            used += size
            index += 1
            continue
        wide_break = size == 2 or clusters[index - 1][2] == 2  # CJK breaks anywhere
        if char == " " or (space > at and not wide_break):
            resume = space
            while resume < len(line) and line[resume] == " ":
                resume += 1
            if space <= at:  # a row of nothing but spaces
                space = resume = start
            if resume >= len(line):
                return [*found, (at, space, "\n")]
            found.append((at, space, line[space:resume]))
            at = resume
        else:
            found.append((at, start, ""))
            at = start
        index = _cluster_at(clusters, at, index)
        used, space = 0, -1
    found.append((at, len(line), "\n"))
    return found


def _cluster_at(clusters: Sequence[tuple[int, int, int]], offset: int, near: int) -> int:
    while near > 0 and clusters[near][0] > offset:
        near -= 1
    while near < len(clusters) and clusters[near][0] < offset:
        near += 1
    return near


class _Slicer:
    """Cuts spans into rows by character ranges that only move forward."""

    __slots__ = ("_base", "_index", "_spans")

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._index = 0
        self._base = 0  # offset of the current span

    def row(self, start: int, end: int, join: str) -> Row:
        """The row of characters `start` to `end`."""
        runs: list[Run] = []
        hits: list[Hit] = []
        spans = self._spans
        while self._index < len(spans):
            text, style, url = spans[self._index]
            stop = self._base + len(text)
            if stop > start:
                piece = text[max(0, start - self._base) : end - self._base]
                if piece:
                    runs.append((piece, style))
                    if url:
                        column = max(start, self._base) - start
                        hits.append(Hit(column, column + len(piece), "link", url))
            if stop > end:
                break
            self._base = stop
            self._index += 1
        return Row(tuple(runs), join=join, hits=tuple(hits))
