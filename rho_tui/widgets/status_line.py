"""The two rows at the bottom of the screen (APP1.33-1.39)."""

from __future__ import annotations

from time import monotonic

from rich.segment import Segment
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

    def __init__(
        self,
        facts: StatusFacts | None = None,
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._facts = facts or StatusFacts()
        self._drawn_at = 0.0
        self._timer: Timer | None = None

    @property
    def facts(self) -> StatusFacts:
        """What is shown; it can be set, and is a plain value because a reactive is slower.

        Repainted at once after a quiet time or without animations, else when it is over.
        """
        return self._facts

    @facts.setter
    def facts(self, facts: StatusFacts) -> None:
        if facts == self._facts:
            return
        self._facts = facts
        if self._timer is None and self.is_mounted:
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
        rows = layout_status(self._facts, width)
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
