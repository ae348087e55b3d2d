"""Screens in a frame over the chat, and those that are a list with a filter."""

from __future__ import annotations

from typing import TypeVar

from textual import events
from textual.screen import ModalScreen

from rho_tui.widgets.filter_list import FilterList

R = TypeVar("R")

_ROWS_AROUND_LIST = 7
"""Of a list dialog: its frame, title, filter, counter and keys, and a row of space."""


class Dialog(ModalScreen[R]):
    """A centred frame; what stands in its one `Vertical` is the dialog."""

    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > Vertical {
        width: 88;
        max-width: 96%;
        height: auto;
        max-height: 96%;
        padding: 0 1;
        background: $surface;
        border: round $primary;
    }
    """


class ListDialog(Dialog[R | None]):
    """A dialog around a `FilterList` that `compose` yields; Esc returns None."""

    @property
    def list_rows(self) -> int:
        """Rows of the list that fit the screen as it is now."""
        return max(1, self.app.size.height - _ROWS_AROUND_LIST)

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(FilterList).focus_filter()

    def on_resize(self, event: events.Resize) -> None:
        """Keep the list inside the screen."""
        self.query_one(FilterList).set_max_rows(event.size.height - _ROWS_AROUND_LIST)

    def on_filter_list_cancelled(self, event: FilterList.Cancelled) -> None:
        """Return nothing."""
        event.stop()
        self.finish(None)

    def finish(self, result: R | None) -> None:
        """Return `result`, unless another screen is on top: `dismiss` would pop that one."""
        if self.is_current:
            self.dismiss(result)
        else:
            self.query_one(FilterList).reopen()
