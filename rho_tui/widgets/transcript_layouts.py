"""Layouts of transcript entries at the current width: made when needed, kept for a while."""

from __future__ import annotations

from collections import OrderedDict

from rho_tui.transcript.blocks import Block, ToolCard, extended, finished, growth, is_open
from rho_tui.transcript.card_rows import CardRows
from rho_tui.transcript.layout import BlockRows, DocumentRows, Space, estimate, lay_out
from rho_tui.widgets.transcript_index import Entry, EntryIndex

KEPT_LAYOUTS = 48
KEPT_ROWS = 4_000
"""Layouts, and rows in them, that are kept; the latest used stay, and those on screen."""


class LayoutStore:
    """Lays entries out and keeps their heights in the index up to date."""

    def __init__(self, entries: EntryIndex) -> None:
        self._entries = entries
        self._kept: OrderedDict[str, Entry] = OrderedDict()
        self.width = 0
        self.max_card_rows = 10
        self.expanded = ""
        """Id of the expanded card; at most one is (APP2.25)."""

    @property
    def kept(self) -> int:
        """Number of entries whose layout is in memory."""
        return len(self._kept)

    def space(self, entry: Entry) -> Space:
        """What an entry is laid out into."""
        return Space(self.width, entry.id == self.expanded, self.max_card_rows)

    def exact(self, entry: Entry) -> BlockRows:
        """The layout of an entry, made when it isn't in memory; its height is exact then."""
        if entry.rows is None:
            entry.rows = lay_out(entry.block, self.space(entry))
            self._kept[entry.id] = entry
            self._measure(entry)
        else:
            self._kept.move_to_end(entry.id)
        return entry.rows

    def _measure(self, entry: Entry) -> None:
        assert entry.rows is not None
        before = entry.height
        entry.set_text_height(entry.rows.height, exact=True)
        if entry.height != before:
            self._entries.changed(entry.index)

    def guess(self, entry: Entry) -> None:
        """Forget an entry's layout and estimate its height."""
        entry.rows = None
        self._kept.pop(entry.id, None)
        rows = estimate(entry.block, max(1, self.width), self.max_card_rows)
        entry.set_text_height(rows, exact=False)
        self._entries.changed(entry.index)

    def guess_all(self) -> None:
        """Forget all layouts: the width changed."""
        for entry in self._entries:
            self.guess(entry)

    def forget(self, entry: Entry) -> None:
        """An entry was taken out."""
        self._kept.pop(entry.id, None)

    def clear(self) -> None:
        """All entries were taken out."""
        self._kept.clear()

    def collect(self, entry: Entry) -> int | None:
        """Put collected text into the block. Returns the first row that may have changed, None when
        the entry has no layout."""
        delta = "".join(entry.collected)
        entry.collected.clear()
        return self._grow(entry, extended(entry.block, delta), delta) if delta else entry.height

    def replace(self, entry: Entry, block: Block) -> int | None:
        """Put another block in an entry's place; text that only grew isn't laid out again.
        Returns what `collect` does."""
        delta = growth(entry.block, block)
        closes = is_open(entry.block) and not is_open(block)
        if delta is not None:
            first = (
                self._grow(entry, extended(entry.block, delta), delta) if delta else entry.height
            )
            if closes:
                closed = self.finish(entry)
                first = None if first is None or closed is None else min(first, closed)
            return first
        entry.block = block
        return self._again(entry)

    def _grow(self, entry: Entry, block: Block, delta: str) -> int | None:
        entry.block = block
        rows = entry.rows
        first = rows.feed(delta) if rows is not None else None
        if rows is None or first is None:
            return self._again(entry)
        self._measure(entry)
        return first

    def finish(self, entry: Entry) -> int | None:
        """Close a stream. Returns what `collect` does."""
        if not is_open(entry.block):
            return entry.height
        entry.block = finished(entry.block)
        if not isinstance(entry.rows, DocumentRows):
            return self._again(entry)
        first = entry.rows.finish()
        before = entry.text_height
        self._measure(entry)
        return min(first, before)

    def _again(self, entry: Entry) -> int | None:
        """Lay an entry out anew if it had a layout, else estimate it."""
        had_rows = entry.rows is not None
        self.guess(entry)
        if not had_rows:
            return None
        self.exact(entry)
        return 0

    def expandable(self, entry: Entry) -> bool:
        """Whether a card has rows that its budget hides."""
        if not isinstance(entry.block, ToolCard):
            return False
        rows = entry.rows or lay_out(entry.block, self.space(entry))
        return isinstance(rows, CardRows) and rows.expandable

    def trim(self, first: int, last: int) -> None:
        """Drop the layouts used longest ago, except those of entries `first` to `last`."""
        total = sum(entry.text_height for entry in self._kept.values())
        for entry in list(self._kept.values()):
            if len(self._kept) <= KEPT_LAYOUTS and total <= KEPT_ROWS:
                return
            if not first <= entry.index <= last and not is_open(entry.block):
                total -= entry.text_height
                del self._kept[entry.id]
                entry.rows = None
