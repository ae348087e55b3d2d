"""The transcript's scrollbar, painted as strips.

Textual's own goes through Rich's console for every change of position: two milliseconds, more than
all the rows beside it, and as much while its colours make it invisible.
"""

from __future__ import annotations

from rich.style import Style
from textual.geometry import Region, Size
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip


class TranscriptScrollBar(ScrollBar):
    """Looks and behaves like any vertical scrollbar."""

    def __init__(self) -> None:
        super().__init__(vertical=True, name="vertical")
        self._painted: tuple[object, list[Strip]] = (None, [])

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows in `crop`, one cell wide."""
        bar = self.render()
        assert isinstance(bar, ScrollBarRender)
        assert isinstance(bar.style, Style)  # of two colours, as `ScrollBar.render` makes it
        look: tuple[object, ...] = (self.size, bar.style)
        if bar.style.color != bar.style.bgcolor:  # else it cannot be seen, wherever it stands
            look += (bar.virtual_size, bar.window_size, bar.position)
        if self._painted[0] != look:
            self._painted = (look, self._paint(bar, bar.style, self.size))
        return self._painted[1][crop.y : crop.bottom]

    def _paint(self, bar: ScrollBarRender, style: Style, size: Size) -> list[Strip]:
        assert style.bgcolor is not None
        assert style.color is not None
        if style.color == style.bgcolor:
            return [Strip.blank(size.width, Style(bgcolor=style.bgcolor))] * size.height
        cells = bar.render_bar(
            size=size.height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            thickness=size.width,
            back_color=style.bgcolor,
            bar_color=style.color,
        )
        painted: dict[int, Strip] = {}  # a bar has five different cells at most, often repeated
        background = self.background_colors[1]
        for cell in cells.segments:
            if id(cell) not in painted:
                strip = Strip([cell], size.width)
                for line_filter in self.get_line_filters():
                    strip = strip.apply_filter(line_filter, background)
                painted[id(cell)] = strip
        return [painted[id(cell)] for cell in cells.segments]
