"""A scrolling view of styled lines: the one drawing surface of docks, lists and pickers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rho_tui.transcript.palette import Palette
from rho_tui.transcript.rows import Row, RowList, RowSource
from rho_tui.widgets.lines import LaidOut, Line, lay_out

_NO_ROWS = RowList()
_MAX_STRIPS = 2000
"""Drawn rows that are kept; a strip is worth about a kilobyte."""


class LineView(ScrollView, can_focus=False):
    """Draws lines by visible row, whatever their number; never takes the focus.

    Args:
        lines: What is shown.
        tail: Makes further rows below the lines for a width, such as those of a diff; they are
            styled only when they are drawn.
    """

    ALLOW_SELECT = False

    DEFAULT_CSS = """
    LineView {
        height: auto;
        background: $surface;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-color: $foreground 40%;
        scrollbar-color-hover: $foreground 60%;
        scrollbar-color-active: $foreground 60%;
        scrollbar-background: $surface;
        scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface;
    }
    """

    class LineClicked(Message):
        """A line was clicked; `index` counts the lines from 0."""

        def __init__(self, view: LineView, index: int) -> None:
            super().__init__()
            self.view = view
            self.index = index

        @property
        def control(self) -> LineView:
            """The view that was clicked."""
            return self.view

    class Moved(Message):
        """Other rows are in view now."""

        def __init__(self, view: LineView) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> LineView:
            """The view that moved."""
            return self.view

    def __init__(
        self,
        lines: Sequence[Line] = (),
        *,
        tail: Callable[[int], RowSource] | None = None,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._lines: tuple[Line, ...] = tuple(lines)
        self._tail_at = tail
        self._tail: RowSource = _NO_ROWS
        self._layout: LaidOut = LaidOut()
        self._layout_width = -1
        self._palette: Palette | None = None
        self._strips: dict[int, Strip] = {}
        self._wanted_line: int | None = None

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is shown."""
        return self._lines

    def set_lines(self, lines: Sequence[Line], *, show: int | None = None) -> None:
        """Replace the content; `show` is the index of a line to bring into view."""
        new = tuple(lines)
        self._wanted_line = show
        if new != self._lines:
            old_height = self.row_count
            self._lines = new
            self._layout_width = -1
            width = self._width()
            if width > 0:
                self._lay_out(width)
            self.refresh(layout=self.row_count != old_height or width <= 0)
        self._show_wanted()

    @property
    def row_count(self) -> int:
        """Rows of lines and tail at the present width."""
        return len(self._layout.rows) + self._tail.height

    def hidden_rows(self) -> tuple[int, int]:
        """Rows out of view above and below."""
        height = self.scrollable_content_region.height
        total = self.row_count
        above = min(round(self.scroll_y), total)
        return above, max(0, total - above - height)

    def visible_range(self) -> tuple[int, int, int]:
        """First and last visible row, counted from 1, and the number of rows."""
        above, below = self.hidden_rows()
        total = self.row_count
        return min(above + 1, total), total - below, total

    def page(self, direction: int) -> None:
        """Scroll by a page: -1 up, 1 down."""
        step = max(1, self.scrollable_content_region.height - 1)
        self.scroll_to(y=self.scroll_y + direction * step, animate=False)

    def show_line(self, index: int) -> None:
        """Scroll as little as needed to bring a line into view."""
        self._wanted_line = index
        self._show_wanted()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows of the content at `width`."""
        self._lay_out(width)
        return self.row_count

    def render_line(self, y: int) -> Strip:
        """The strip of a visible row."""
        index = y + round(self.scroll_y)
        width = self.scrollable_content_region.width
        self._wrap(width)  # a view of fixed height may be painted before it hears of its size
        if not 0 <= index < self.row_count:
            return Strip.blank(width, self._colours().base)
        strip = self._strips.get(index)
        if strip is None:
            if len(self._strips) > _MAX_STRIPS:
                self._strips.clear()
            strip = self._strip(self._row(index), width)
            self._strips[index] = strip
        return strip

    def notify_style_update(self) -> None:
        """Colours changed: forget what was drawn."""
        super().notify_style_update()
        self._palette = None
        self._strips.clear()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell who shows how much is out of view."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Moved(self))

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap again and keep the wanted line in view."""
        width = self._width()
        if width > 0:
            self._lay_out(width)
        self._strips.clear()
        self._show_wanted()
        self.post_message(self.Moved(self))

    def on_click(self, event: events.Click) -> None:
        """Say which line was clicked."""
        row = event.y + round(self.scroll_y)
        if 0 <= row < len(self._layout.owners):
            self.post_message(self.LineClicked(self, self._layout.owners[row]))

    def _row(self, index: int) -> Row:
        lines = len(self._layout.rows)
        if index < lines:
            return self._layout.rows[index]
        return self._tail.rows(index - lines, index - lines + 1)[0]

    def _width(self) -> int:
        return self.scrollable_content_region.width

    def _wrap(self, width: int) -> None:
        if width != self._layout_width:
            self._layout = lay_out(self._lines, width)
            self._tail = self._tail_at(width) if self._tail_at is not None else _NO_ROWS
            self._layout_width = width
            self._strips.clear()

    def _lay_out(self, width: int) -> None:
        self._wrap(width)
        size = Size(width, self.row_count)
        if self.virtual_size != size:
            self.virtual_size = size

    def _show_wanted(self) -> None:
        if self._wanted_line is None or self._wanted_line >= len(self._layout.starts):
            return
        height = self.scrollable_content_region.height
        if height <= 0:
            return  # shown once the view has a size
        first, end = self._layout.span(self._wanted_line)
        top = round(self.scroll_y)
        if first < top or end - first >= height:
            top = first
        elif end > top + height:
            top = end - height
        if top != round(self.scroll_y):
            self.scroll_to(y=top, animate=False)

    def _colours(self) -> Palette:
        if self._palette is None:
            variables = dict(self.app.theme_variables)
            variables["background"] = self.background_colors[1].hex
            self._palette = Palette(variables)
        return self._palette

    def _strip(self, row: Row, width: int) -> Strip:
        style = self._colours().style
        fill = style(row.fill)
        segments = [Segment(text, style(f"{row.fill} {key}")) for text, key in row.runs]
        return Strip(segments).adjust_cell_length(width, fill)
