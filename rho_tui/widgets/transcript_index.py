"""Entries of the transcript in order, and at which row each begins.

Heights of entries that were never on screen are estimates. Sums are kept as a prefix list that is
brought up to date from the first change on, so appending and growing at the end cost nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from rho_tui.transcript.blocks import Block, is_open
from rho_tui.transcript.layout import BlockRows


class Entry:
    """One block in the transcript, with what is known of its rows at the current width."""

    __slots__ = ("block", "collected", "exact", "height", "id", "index", "rows", "text_height")

    def __init__(self, block_id: str, block: Block) -> None:
        self.id = block_id
        self.block = block
        self.index = -1
        self.rows: BlockRows | None = None
        """The layout; dropped when the entry has been out of sight for long."""
        self.exact = False
        """Whether the height is that of a layout at the current width."""
        self.text_height = 0
        """Rows without the spacer."""
        self.height = 0
        self.collected: list[str] = []
        """Streamed text that isn't in the block yet."""

    def set_text_height(self, rows: int, *, exact: bool) -> None:
        """Set the height; a blank spacer row follows unless text is still to come (APP1.13)."""
        self.text_height = rows
        self.exact = exact
        self.height = rows + (0 if rows == 0 or is_open(self.block) else 1)


class EntryIndex:
    """The entries by id, by position and by row."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._by_id: dict[str, Entry] = {}
        self._ends: list[int] = []
        self._valid = 0  # sums that are up to date

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __getitem__(self, index: int) -> Entry:
        return self._entries[index]

    def __contains__(self, block_id: str) -> bool:
        return block_id in self._by_id

    def get(self, block_id: str) -> Entry:
        """The entry of an id. KeyError: unknown."""
        return self._by_id[block_id]

    def ids(self) -> tuple[str, ...]:
        """Ids in display order."""
        return tuple(entry.id for entry in self._entries)

    def insert(self, entry: Entry, before: str | None) -> None:
        """Add an entry at the end or in front of another. ValueError: the id is taken."""
        if entry.id in self._by_id:
            raise ValueError(f"block id {entry.id!r} is taken")
        at = len(self._entries) if before is None else self._by_id[before].index
        self._entries.insert(at, entry)
        self._by_id[entry.id] = entry
        self._renumber(at)

    def remove(self, block_id: str) -> Entry:
        """Take an entry out. KeyError: unknown id."""
        entry = self._by_id.pop(block_id)
        del self._entries[entry.index]
        self._renumber(entry.index)
        return entry

    def clear(self) -> None:
        """Take all entries out."""
        self._entries.clear()
        self._by_id.clear()
        self._renumber(0)

    def _renumber(self, start: int) -> None:
        for index in range(start, len(self._entries)):
            self._entries[index].index = index
        self.changed(start)

    def changed(self, index: int) -> None:
        """The height of the entry at `index` changed."""
        self._valid = min(self._valid, index)

    def _sum(self) -> None:
        if self._valid == len(self._entries) == len(self._ends):
            return
        del self._ends[self._valid :]
        total = self._ends[-1] if self._ends else 0
        for entry in self._entries[self._valid :]:
            total += entry.height
            self._ends.append(total)
        self._valid = len(self._entries)

    @property
    def total(self) -> int:
        """Rows of all entries."""
        self._sum()
        return self._ends[-1] if self._ends else 0

    def start(self, index: int) -> int:
        """First row of the entry at a position."""
        self._sum()
        return self._ends[index - 1] if index else 0

    def find(self, row: int) -> tuple[int, int]:
        """Position of the entry that shows a row, and the row inside it.

        Rows outside are taken to the nearest; (0, 0) when there are no entries.
        """
        self._sum()
        if not self._entries:
            return 0, 0
        row = max(0, min(row, self.total - 1))
        index = min(bisect_right(self._ends, row), len(self._entries) - 1)
        return index, row - self.start(index)
