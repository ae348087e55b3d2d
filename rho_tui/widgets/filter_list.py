"""A list filtered by typing: the body of pickers and of the history search (APP5.56, 5.57)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from rho_tui.transcript.sanitize import clean_text
from rho_tui.widgets.line_input import LineInput
from rho_tui.widgets.line_view import LineView
from rho_tui.widgets.lines import Line, text_line

MAX_SHOWN = 500
"""Matches that are listed; typing narrows a longer list."""


@dataclass(frozen=True, slots=True)
class ListEntry:
    """One row: what is matched and shown, and a dim remark behind it."""

    label: str
    detail: str = ""


def filter_entries(entries: Sequence[ListEntry], query: str) -> list[int]:
    """Indexes of the entries that contain every word of `query`, in any case, in their order."""
    words = query.casefold().split()
    if not words:
        return list(range(len(entries)))
    found = []
    for index, entry in enumerate(entries):
        text = f"{entry.label}\n{entry.detail}".casefold()
        if all(word in text for word in words):
            found.append(index)
    return found


class FilterList(Vertical):
    """A filter line over a list; the filter has the focus, arrows move in the list."""

    DEFAULT_CSS = """
    FilterList { height: auto; background: $surface; }
    FilterList .filter-list--counter { height: 1; color: $text-muted; }
    FilterList LineView { max-height: 100%; }
    """

    class Chosen(Message):
        """Enter or a second click: `index` counts the entries as they were given."""

        def __init__(self, filter_list: FilterList, index: int) -> None:
            super().__init__()
            self.filter_list = filter_list
            self.index = index

    class Cancelled(Message):
        """Esc or Ctrl+C."""

        def __init__(self, filter_list: FilterList) -> None:
            super().__init__()
            self.filter_list = filter_list

    class Highlighted(Message):
        """Another entry is marked; None when nothing matches."""

        def __init__(self, filter_list: FilterList, index: int | None) -> None:
            super().__init__()
            self.filter_list = filter_list
            self.index = index

    def __init__(
        self,
        entries: Sequence[ListEntry],
        *,
        placeholder: str = "type to filter",
        empty: str = "nothing matches",
        selected: int = 0,
        max_rows: int = 10,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._entries = tuple(entries)
        self._placeholder = placeholder
        self._empty = empty
        self._matches = filter_entries(self._entries, "")
        self._at = max(0, min(selected, len(self._matches) - 1))
        self._max_rows = max_rows
        self._done = False

    @property
    def selected(self) -> int | None:
        """Index of the marked entry."""
        return self._matches[self._at] if self._matches else None

    def compose(self) -> ComposeResult:
        """Filter line, list, counter."""
        yield LineInput(placeholder=self._placeholder)
        yield LineView()
        yield Static("", classes="filter-list--counter", markup=False)

    def on_mount(self) -> None:
        """Show everything."""
        self.query_one(LineView).styles.max_height = self._max_rows
        self._show()

    def set_max_rows(self, rows: int) -> None:
        """Let the list be at most `rows` high."""
        self._max_rows = max(1, rows)
        if self.children:
            self.query_one(LineView).styles.max_height = self._max_rows

    def reset(self, entries: Sequence[ListEntry]) -> None:
        """Start over with these entries and an empty filter."""
        self._done = False
        self._entries = tuple(entries)
        with self.prevent(Input.Changed):
            self.query_one(LineInput).value = ""
        self._matches = []
        self._filter("")

    def focus_filter(self) -> None:
        """Put the focus on the filter line."""
        self.query_one(LineInput).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as the person types."""
        event.stop()
        self._filter(event.value)

    def on_key(self, event: events.Key) -> None:
        """Keys of the list; what the filter line doesn't take bubbles up to here."""
        match event.key:
            case "up" | "down":
                self._step(-1 if event.key == "up" else 1, wrap=True)
            case "pageup" | "pagedown":
                self._step(-self._max_rows if event.key == "pageup" else self._max_rows)
            case "ctrl+home":
                self._step(-len(self._matches))
            case "ctrl+end":
                self._step(len(self._matches))
            case "enter":
                # The value of now: keys of one write arrive before the change is reported.
                self._filter(self.query_one(LineInput).value)
                self._choose()
            case "escape" | "ctrl+c":
                if not self._done:
                    self._done = True
                    self.post_message(self.Cancelled(self))
            case _:
                return
        event.stop()
        event.prevent_default()

    def on_line_view_line_clicked(self, event: LineView.LineClicked) -> None:
        """A click marks, a click on the marked entry chooses."""
        event.stop()
        if event.index >= len(self._matches):
            return
        if event.index == self._at:
            self._choose()
        else:
            self._at = event.index
            self._show()
        self.focus_filter()

    def move(self, step: int) -> None:
        """Mark the entry `step` further, around the ends."""
        self._step(step, wrap=True)

    def _choose(self) -> None:
        index = self.selected
        if index is not None and not self._done:
            self._done = True
            self.post_message(self.Chosen(self, index))

    def reopen(self) -> None:
        """Listen again after a choice that the owner turned down."""
        self._done = False

    def _filter(self, query: str) -> None:
        matches = filter_entries(self._entries, query)
        if matches != self._matches:
            kept = self.selected
            self._matches = matches
            self._at = matches.index(kept) if kept in matches else 0
        self._show()

    def _step(self, step: int, *, wrap: bool = False) -> None:
        count = min(len(self._matches), MAX_SHOWN)
        if count:
            at = self._at + step
            self._at = at % count if wrap else max(0, min(count - 1, at))
            self._show()

    def _show(self) -> None:
        if not self.children:
            return  # composed later, then shown
        lines = [
            self._line(self._entries[index], at == self._at)
            for at, index in enumerate(self._matches[:MAX_SHOWN])
        ]
        view = self.query_one(LineView)
        view.set_lines(lines or [text_line(self._empty, "muted")], show=self._at)
        total = len(self._matches)
        shown = f"({self._at + 1}/{total})" if total else "(0/0)"
        if total > MAX_SHOWN:
            shown += f" · first {MAX_SHOWN} listed, type to narrow"
        self.query_one(".filter-list--counter", Static).update(shown)
        self.post_message(self.Highlighted(self, self.selected))

    def _line(self, entry: ListEntry, here: bool) -> Line:
        style = "accent" if here else ""
        label = _first_line(entry.label)
        runs = [("▸ " if here else "  ", style), (label, style)]
        if entry.detail:
            runs.append((f"  {_first_line(entry.detail)}", "muted"))
        return Line(tuple(runs), crop=True)


def _first_line(text: str) -> str:
    # A list row stays short whatever it is made from; the whole text is what gets chosen.
    head = clean_text(text[:400]).strip("\n")
    first, *rest = head.split("\n")
    return f"{first} …" if rest or len(text) > 400 else first
