"""The two rows at the bottom of the screen (APP1.33-1.39)."""

from __future__ import annotations

from time import monotonic

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip
from textual.timer import Timer

from rho_tui.transcript.palette import Palette
from rho_tui.transcript.wrap import text_width
from rho_tui.widgets.one_shot import set_one_shot
from rho_tui.widgets.palette_widget import PaletteWidget
from rho_tui.widgets.status_layout import StatusFacts, StatusRow, layout_status

CALM_SECONDS = 0.25
"""Facts that change more often than this share a repaint: each one costs a look at the screen."""


class StatusLine(PaletteWidget):
    """Draws `facts`; set them as a whole, an equal value costs nothing."""

    ALLOW_SELECT = False

    DEFAULT_CSS = "StatusLine { height: 2; width: 1fr; }"

    facts: reactive[StatusFacts] = reactive(StatusFacts(), repaint=False)
    """What is shown."""

    def __init__(
        self,
        facts: StatusFacts | None = None,
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._drawn_at = 0.0
        self._timer: Timer | None = None
        if facts is not None:
            self.set_reactive(StatusLine.facts, facts)

    def watch_facts(self) -> None:
        """Repaint at once after a quiet time or without animations, else when it is over."""
        if self._timer is None:
            left = self._drawn_at + CALM_SECONDS - monotonic()
            if left > 0 and self.app.animation_level != "none":
                self._timer = set_one_shot(self, left, self._draw)
            else:
                self._draw()

    def join_frame(self) -> None:
        """The screen is drawn anyway: what waits for its turn joins if that is near."""
        if self._timer is not None and monotonic() - self._drawn_at > CALM_SECONDS * 0.7:
            self._timer.stop()
            self._draw()

    def _draw(self) -> None:
        self._timer = None
        self._drawn_at = monotonic()
        self.refresh()

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
