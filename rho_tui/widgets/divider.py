"""A full-width rule with captions, coloured by reasoning level (APP1.29, 1.30)."""

from __future__ import annotations

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip

from rho_tui.transcript.sanitize import clean_line
from rho_tui.transcript.wrap import crop_cells, text_width
from rho_tui.widgets.palette_widget import PaletteWidget

REASONING_COLOURS = {
    "off": "muted",
    "minimal": "fg:4",
    "low": "fg:6",
    "medium": "fg:2",
    "high": "fg:3",
    "xhigh": "fg:5",
    "max": "fg:1",
}
"""Style key of each reasoning level; also used by the status line."""


class Divider(PaletteWidget):
    """One row of `─` with an optional caption at its left and right."""

    DEFAULT_CSS = "Divider { height: 1; width: 1fr; }"

    reasoning: reactive[str] = reactive("off")
    """Level that colours the rule."""
    caption: reactive[str] = reactive("")
    """Text at the left end, such as the shell mode."""
    right_caption: reactive[str] = reactive("")
    """Text at the right end."""

    def render_line(self, y: int) -> Strip:
        """The rule."""
        width = self.size.width
        palette = self.palette
        rule = palette.style(REASONING_COLOURS.get(self.reasoning, "muted"))
        label = palette.style("accent")
        left, right = fit_captions(self.caption, self.right_caption, width)
        used = text_width(left) + text_width(right)
        return Strip(
            [Segment(left, label), Segment("─" * max(0, width - used), rule), Segment(right, label)]
        ).adjust_cell_length(width)


def fit_captions(left: str, right: str, width: int) -> tuple[str, str]:
    """Both captions with a space around them: the left shrinks first, then the right goes."""
    left = f" {clean_line(left)} " if left else ""
    right = f" {clean_line(right)} " if right else ""
    if text_width(left) + text_width(right) <= width - 2:
        return left, right
    room = width - 2 - text_width(right)
    if right and room >= 10:
        return crop_cells(left, room), right
    return crop_cells(left, max(0, width - 2)), ""
