"""Following the height of the terminal.

Textual keeps the height of an auto-height widget until something inside it changes, so a share of
the screen (`vh`) goes stale when only the terminal's height changes. Widgets that take a share set
it themselves.
"""

from __future__ import annotations

from collections.abc import Callable

from textual.screen import Screen
from textual.widget import Widget


def follow_screen_height(widget: Widget, fit: Callable[[int], None]) -> None:
    """Call `fit` with the rows of the terminal now and after every change; call when mounted."""
    seen = widget.app.size.height
    fit(seen)

    def laid_out(_screen: Screen[object]) -> None:
        nonlocal seen
        height = widget.app.size.height
        if height != seen:
            seen = height
            fit(height)

    widget.screen.screen_layout_refresh_signal.subscribe(widget, laid_out)
