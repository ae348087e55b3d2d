"""A filterable list on its own screen: sessions, models and the like (APP5.56, 5.57)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical

from rho_tui.screens.dialog import ListDialog
from rho_tui.widgets.filter_list import FilterList, ListEntry
from rho_tui.widgets.line_view import LineView
from rho_tui.widgets.lines import text_line

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PickerItem(Generic[T]):
    """One thing to pick: what is returned, what is shown and matched, and a dim remark."""

    value: T
    label: str
    detail: str = ""


class Picker(ListDialog[T]):
    """Dismisses with the value of the chosen item, or None.

    Args:
        title: What is picked.
        items: In the order in which they are shown.
        selected: Index of the item to start on.
        empty: What to say when there is nothing.
    """

    DEFAULT_CSS = """
    Picker .picker--title { height: 1; }
    """

    def __init__(
        self,
        title: str,
        items: Sequence[PickerItem[T]],
        *,
        selected: int = 0,
        placeholder: str = "type to filter",
        empty: str = "nothing to choose from",
    ) -> None:
        super().__init__()
        self._title = title
        self._items = tuple(items)
        self._selected = selected
        self._placeholder = placeholder
        self._empty = empty

    def compose(self) -> ComposeResult:
        """Title, filter and list, keys."""
        with Vertical():
            yield LineView([text_line(self._title, "accent")], classes="picker--title")
            yield FilterList(
                [ListEntry(item.label, item.detail) for item in self._items],
                placeholder=self._placeholder,
                empty=self._empty if not self._items else "nothing matches",
                selected=self._selected,
                max_rows=self.list_rows,
            )
            yield LineView([text_line("↑↓ choose · Enter take · Esc back", "muted")])

    def on_filter_list_chosen(self, event: FilterList.Chosen) -> None:
        """Return the value."""
        event.stop()
        self.finish(self._items[event.index].value)
