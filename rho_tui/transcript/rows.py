"""Rows: what a block is laid out to, before it is styled for a theme and painted.

A row is a cheap tuple of runs. A run's style is a key, a string of words such as `"md.h1 bold"`,
that `palette` turns into a Rich style: rows don't depend on the theme and compare by value.
Positions inside a row count characters, not cells.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

Run = tuple[str, str]
"""Text and style key."""

HitAction = Literal["link", "copy"]


class Hit(NamedTuple):
    """A clickable part of a row."""

    start: int
    """First character."""
    end: int
    """Character after the last."""
    action: HitAction
    value: str = ""
    """URL of a link, text to copy."""


class Row(NamedTuple):
    """One screen row of a block."""

    runs: tuple[Run, ...] = ()
    fill: str = ""
    """Style key under the whole row width: a band or wash."""
    lead: int = 0
    """Characters at the start that are decoration (gutter, bullet, indent), not text."""
    lead_copy: str = ""
    """What is copied in place of the decoration, such as `- ` for a bullet."""
    tail: int = 0
    """Characters at the end that are never copied."""
    join: str = "\n"
    """What stands between this row and the next in a copy; empty or spaces after a soft wrap."""
    hits: tuple[Hit, ...] = ()

    @property
    def text(self) -> str:
        """The row as it is shown, without padding."""
        return "".join([text for text, _ in self.runs])

    def copied(self, start: int = 0, end: int | None = None) -> str:
        """Source text between two characters of the row, without decoration."""
        text = self.text
        stop = len(text) - self.tail
        if end is not None:
            stop = min(stop, end)
        lead_copy = self.lead_copy if start == 0 and (end is None or end >= self.lead) else ""
        return lead_copy + text[max(start, self.lead) : max(stop, self.lead)]


BLANK = Row()


class RowSource(Protocol):
    """The rows of a block at one width; rows may be made only when asked for."""

    @property
    def height(self) -> int:
        """Number of rows, exact."""
        ...

    def rows(self, start: int, stop: int) -> Sequence[Row]:
        """Rows `start` to `stop` (exclusive); both within the height."""
        ...


class RowList:
    """Rows that are all made already."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows = tuple(rows)

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def rows(self, start: int, stop: int) -> Sequence[Row]:
        """Rows `start` to `stop`."""
        return self._rows[start:stop]


class Stack:
    """Sources on top of each other. Parts may be added, or cut off, at the end."""

    __slots__ = ("_ends", "_parts")

    def __init__(self, parts: Iterable[RowSource] = ()) -> None:
        self._parts: list[RowSource] = []
        self._ends: list[int] = []
        for part in parts:
            self.add(part)

    @property
    def height(self) -> int:
        """Number of rows of all parts."""
        return self._ends[-1] if self._ends else 0

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, part: RowSource) -> None:
        """Put a part at the end; its height must not change afterwards."""
        if part.height:
            self._parts.append(part)
            self._ends.append(self.height + part.height)

    def truncate(self, count: int) -> None:
        """Keep the first `count` parts."""
        del self._parts[count:]
        del self._ends[count:]

    def rows(self, start: int, stop: int) -> Sequence[Row]:
        """Rows `start` to `stop`."""
        found: list[Row] = []
        index = bisect_right(self._ends, start)
        while index < len(self._parts) and start < stop:
            part = self._parts[index]
            base = self._ends[index] - part.height
            found.extend(part.rows(start - base, min(stop - base, part.height)))
            start = self._ends[index]
            index += 1
        return found


class Prefixed:
    """A source with a decoration in front of each row: quote bars, list indents, card branches."""

    __slots__ = ("_fill", "_first", "_first_copy", "_rest", "_rest_copy", "_source")

    def __init__(
        self,
        source: RowSource,
        first: tuple[Run, ...],
        rest: tuple[Run, ...],
        *,
        first_copy: str = "",
        rest_copy: str = "",
        fill: str = "",
    ) -> None:
        self._source = source
        self._first = first
        self._rest = rest
        self._first_copy = first_copy
        self._rest_copy = rest_copy
        self._fill = fill

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._source.height

    def rows(self, start: int, stop: int) -> Sequence[Row]:
        """Rows `start` to `stop`."""
        found: list[Row] = []
        after_break = True
        if start and self._rest_copy:
            after_break = self._source.rows(start - 1, start)[0].join == "\n"
        for index, row in enumerate(self._source.rows(start, stop), start):
            if index == 0:
                row = prefixed(row, self._first, self._first_copy)
            else:
                row = prefixed(row, self._rest, self._rest_copy if after_break else "")
            after_break = row.join == "\n"
            found.append(row._replace(fill=self._fill) if self._fill and not row.fill else row)
        return found


def prefixed(row: Row, prefix: tuple[Run, ...], copied: str = "") -> Row:
    """The row with decoration in front."""
    width = sum(len(text) for text, _ in prefix)
    if not width:
        return row
    hits = tuple(hit._replace(start=hit.start + width, end=hit.end + width) for hit in row.hits)
    return Row(
        prefix + row.runs,
        row.fill,
        row.lead + width,
        copied + row.lead_copy,
        row.tail,
        row.join,
        hits,
    )


def all_rows(source: RowSource) -> list[Row]:
    """Every row of a source; for small sources and tests."""
    return list(source.rows(0, source.height))
