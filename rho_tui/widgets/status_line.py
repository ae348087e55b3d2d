"""The two rows at the bottom of the screen (APP1.33-1.39)."""

from __future__ import annotations

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip

from rho_tui.transcript.palette import Palette
from rho_tui.transcript.wrap import text_width
from rho_tui.widgets.palette_widget import PaletteWidget
from rho_tui.widgets.status_layout import StatusFacts, StatusRow, layout_status


class StatusLine(PaletteWidget):
    """Draws `facts`; set them as a whole, an equal value costs nothing."""

    ALLOW_SELECT = False

    DEFAULT_CSS = "StatusLine { height: 2; width: 1fr; }"

    facts: reactive[StatusFacts] = reactive(StatusFacts())
    """What is shown."""

    def __init__(
        self,
        facts: StatusFacts | None = None,
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        if facts is not None:
            self.set_reactive(StatusLine.facts, facts)

    def render_line(self, y: int) -> Strip:
        """One of the two rows."""
        width = self.size.width
        rows = layout_status(self.facts, width)
        palette = self.palette
        if not 0 <= y < len(rows):
            return Strip.blank(width, palette.base)
        return _strip(rows[y], width, palette)


def _strip(row: StatusRow, width: int, palette: Palette) -> Strip:
    used = sum(text_width(text) for text, _ in (*row.left, *row.right))
    segments = [Segment(text, palette.style(key)) for text, key in row.left]
    segments.append(Segment(" " * max(0, width - used), palette.base))
    segments.extend(Segment(text, palette.style(key)) for text, key in row.right)
    return Strip(segments).adjust_cell_length(width, palette.base)
