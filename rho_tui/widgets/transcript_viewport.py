"""Which rows of the transcript are on screen: following the end, or held at an entry's row.

The place is kept as an entry and a row inside it, never as an absolute row: when entries above
turn out taller than estimated, or the width changes, the same text stays on top.
"""

from __future__ import annotations

from rho_tui.transcript.rows import RowSource
from rho_tui.widgets.transcript_index import EntryIndex
from rho_tui.widgets.transcript_layouts import LayoutStore

_COUNTED_ROWS = 2_000
"""Rows above the top inside one entry that are counted by character when the width changes."""


class Viewport:
    """The window on the entries. All of its rows have exact heights after `settle`."""

    def __init__(self, entries: EntryIndex, layouts: LayoutStore) -> None:
        self._entries = entries
        self._layouts = layouts
        self.height = 0
        self.following = True
        self.index = 0
        """Position of the entry on top."""
        self.row = 0
        """Row of that entry on the first line of the screen."""

    @property
    def place(self) -> tuple[int, int]:
        """Entry and row on top."""
        return self.index, self.row

    def settle(self) -> int:
        """Lay out what is on screen. Returns the absolute row on top."""
        entries = self._entries
        if not len(entries) or self.height <= 0:
            self.index = self.row = 0
            return 0
        self.index = min(self.index, len(entries) - 1)
        if self.following or not self._fill_down():
            self._fill_up()
        return entries.start(self.index) + self.row

    def _fill_down(self) -> bool:
        """Lay out from the top down. Returns False when the end comes before the last line."""
        self._layouts.exact(self._entries[self.index])
        self.row = max(0, min(self.row, self._entries[self.index].height - 1))
        room = self.height + self.row
        for index in range(self.index, len(self._entries)):
            entry = self._entries[index]
            self._layouts.exact(entry)
            room -= entry.height
            if room < 0:
                return True
        return room == 0

    def _fill_up(self) -> None:
        """Lay out from the end up and put the end on the last line."""
        self.following = True
        room = self.height
        for index in range(len(self._entries) - 1, -1, -1):
            entry = self._entries[index]
            self._layouts.exact(entry)
            room -= entry.height
            if room <= 0:
                self.index, self.row = index, -room
                return
        self.index = self.row = 0

    def last_index(self) -> int:
        """Position of the last entry on screen."""
        room = self.height + self.row
        for index in range(self.index, len(self._entries)):
            room -= self._entries[index].height
            if room <= 0:
                return index
        return max(0, len(self._entries) - 1)

    def move(self, rows: int) -> None:
        """Scroll by rows, through exact heights: nothing is skipped or repeated."""
        if not len(self._entries) or not rows:
            return
        if rows < 0:
            self._move_up(-rows)
        elif not self.following:
            self._move_down(rows)

    def _move_up(self, rows: int) -> None:
        self.following = False
        self.row -= rows
        while self.row < 0 and self.index > 0:
            self.index -= 1
            entry = self._entries[self.index]
            self._layouts.exact(entry)
            self.row += entry.height
        self.row = max(0, self.row)

    def _move_down(self, rows: int) -> None:
        self.row += rows
        while self.index < len(self._entries) - 1:
            entry = self._entries[self.index]
            self._layouts.exact(entry)
            if self.row < entry.height:
                break
            self.row -= entry.height
            self.index += 1
        self._follow_at_end()

    def _follow_at_end(self) -> None:
        """Reaching the last line means following again (APP1.16)."""
        self.settle()
        if self._entries.start(self.index) + self.row + self.height >= self._entries.total:
            self.following = True

    def jump(self, row: int) -> None:
        """Go to an absolute row, estimated heights included (scrollbar)."""
        if row <= 0:
            self.index = self.row = 0
            self.following = False
        elif row + self.height >= self._entries.total:
            self.following = True
        else:
            self.index, self.row = self._entries.find(row)
            self.following = False
            self._follow_at_end()

    def hold(self, index: int, line: int) -> None:
        """Put the first row of an entry on a line of the screen."""
        self.following = False
        self.index, self.row = index, 0
        self._layouts.exact(self._entries[index])
        if line > 0:
            self._move_up(line)
        self._follow_at_end()

    def rewrap(self, width: int) -> None:
        """Take another width; the text on top stays on top."""
        offset = 0
        entry = self._entries[self.index] if len(self._entries) else None
        old = self.row
        before = max(1, entry.text_height) if entry is not None else 1
        if entry is not None and entry.rows is not None and 0 < old <= _COUNTED_ROWS:
            offset = _characters(entry.rows, min(old, entry.rows.height))
        self._layouts.width = width
        self._layouts.guess_all()
        if entry is None or self.following or old == 0:
            return
        rows = self._layouts.exact(entry)
        if offset:
            self.row = _row_at(rows, offset)
        else:
            self.row = min(entry.height - 1, old * entry.text_height // before)


def _characters(rows: RowSource, stop: int) -> int:
    """Characters other than spaces in the text of the first rows: the same at every width."""
    found = 0
    for row in rows.rows(0, stop):
        text = row.text[row.lead :]
        found += len(text) - text.count(" ")
    return found


def _row_at(rows: RowSource, offset: int) -> int:
    found = 0
    for number in range(rows.height):
        found += _characters_of(rows, number)
        if found > offset:
            return number
    return max(0, rows.height - 1)


def _characters_of(rows: RowSource, number: int) -> int:
    row = rows.rows(number, number + 1)[0]
    text = row.text[row.lead :]
    return len(text) - text.count(" ")
