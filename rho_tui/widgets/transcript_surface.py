"""The transcript's surface: paints visible rows, scrolls, follows, keeps the place.

Textual's styles cache makes a new strip of every row at each paint, and a changed `virtual_size`
lays out the screen; both are bypassed here. That leans on internals of the pinned version, which
tests hold. Border, padding and opacity have no effect on this widget.
"""

from __future__ import annotations

from typing import Any

from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip
from textual.theme import Theme
from textual.timer import Timer
from textual.widget import Widget

from rho_tui.transcript.palette import Palette
from rho_tui.transcript.rows import Row
from rho_tui.widgets.transcript_index import Entry, EntryIndex
from rho_tui.widgets.transcript_layouts import LayoutStore
from rho_tui.widgets.transcript_painter import MARGIN, StripPainter
from rho_tui.widgets.transcript_scrollbar import TranscriptScrollBar
from rho_tui.widgets.transcript_selection import row_key, selected_text, span_in_row
from rho_tui.widgets.transcript_viewport import Viewport

SCROLLBAR_SECONDS = 1.2
"""How long the scrollbar shows after scrolling (APP1.21)."""


class TranscriptSurface(ScrollView, can_focus=False):
    """Draws the entries of its index; what they are is the business of `TranscriptView`."""

    DEFAULT_CSS = """
    TranscriptSurface {
        height: 1fr;
        background: $background;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-color: $background;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        &.-scrolling { scrollbar-color: $foreground 40%; }
    }
    """

    auto_links = False

    at_bottom: var[bool] = var(True, init=False)
    """Whether the view follows its end; when not, a jump chip belongs on screen (APP1.20)."""

    class FollowChanged(Message, namespace="transcript_view"):
        """`at_bottom` changed."""

        def __init__(self, at_bottom: bool) -> None:
            super().__init__()
            self.at_bottom = at_bottom

    def __init__(self, *, name: str | None = None, id: str | None = None) -> None:
        super().__init__(name=name, id=id)
        self._entries = EntryIndex()
        self._layouts = LayoutStore(self._entries)
        self._viewport = Viewport(self._entries, self._layouts)
        self._painter = StripPainter()
        self._scrollbar_timer: Timer | None = None
        self._placing = False  # scroll_y is being set to where the viewport is
        self._hovered = ""  # id of the card under the pointer

    # --- size and theme ---------------------------------------------------------------------

    def on_mount(self) -> None:
        """Take the theme's colours and follow its changes."""
        self.app.theme_changed_signal.subscribe(self, self._restyle)
        self._restyle(self.app.current_theme)

    def _restyle(self, _theme: Theme) -> None:
        palette = Palette(self.app.theme_variables)
        self._painter.configure(palette, width=self._view_size.width, height=self._viewport.height)
        self.refresh()

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """Take a new size before anything is painted in it."""
        self._placing = True  # what Textual clamps here is no scrolling of the user
        try:
            changed = super()._size_updated(size, virtual_size, container_size, layout)
        finally:
            self._placing = False
        width, height = self._view_size
        viewport = self._viewport
        if (width, height) == (self._painter.width, viewport.height):
            return changed
        viewport.height = height
        inner = max(1, width - 2 * MARGIN)
        if inner != self._layouts.width:
            self._clear_selection()
            viewport.rewrap(inner)
        self._painter.configure(width=width, height=height)
        self._repaint()
        return changed

    @property
    def _view_size(self) -> Size:
        return self.scrollable_content_region.size

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scrollbar, made at first use as Textual makes its own."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = bar = TranscriptScrollBar()
            bar.display = False
            self.app._start_widget(self, bar)
        return self._vertical_scrollbar

    # --- painting ---------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Strips of the visible lines in `crop`, straight from the painter's cache (trap 1)."""
        filters = self.get_line_filters()
        background = self.background_colors[1]
        selection = self.text_selection
        left, right = crop.column_span
        whole = left == 0 and right >= self._painter.width
        strips: list[Strip] = []
        for line in crop.line_range:
            strip = self._line(line, selection)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip if whole else strip.crop(left, right))
        if self._colouring() is not None:
            self._schedule()
        return strips

    def _colouring(self) -> Entry | None:
        """An entry on screen whose code isn't coloured to its end."""
        viewport = self._viewport
        for index in range(viewport.index, viewport.last_index() + 1):
            rows = self._entries[index].rows if index < len(self._entries) else None
            if rows is not None and rows.pending:
                return self._entries[index]
        return None

    def _schedule(self) -> None:
        """Have a frame drawn soon; the view that knows what frames are overrides this."""

    def render_line(self, y: int) -> Strip:
        """A visible line with selection offsets, as Textual's hit tests want it (section 6)."""
        found = self._locate(y)
        if found is None:
            return self._painter.blank()
        entry, number = found
        return self._strip(entry, number).apply_offsets(0, row_key(entry.index, number))

    def _locate(self, line: int) -> tuple[Entry, int] | None:
        """Entry and its row on a line of the screen; the row may be its spacer."""
        index, row = self._viewport.place
        row += line
        while 0 <= index < len(self._entries):
            entry = self._entries[index]
            if row < entry.height:
                return entry, row
            row -= entry.height
            index += 1
        return None

    def _row(self, entry: Entry, number: int) -> Row | None:
        """A row of an entry, None for its spacer."""
        rows = self._layouts.exact(entry)
        return rows.rows(number, number + 1)[0] if number < rows.height else None

    def _strip(self, entry: Entry, number: int) -> Strip:
        cached = self._painter.cached_strip(entry.id, number)
        if cached is not None:
            return cached
        row = self._row(entry, number)
        if row is None:
            return self._painter.blank()
        return self._painter.paint(entry.id, number, row, hover=entry.id == self._hovered)

    def _line(self, line: int, selection: Selection | None) -> Strip:
        found = self._locate(line)
        if found is None:
            return self._painter.blank()
        entry, number = found
        strip = self._strip(entry, number)
        if selection is not None and (row := self._row(entry, number)) is not None:
            span = span_in_row(selection, row_key(entry.index, number), row)
            if span is not None:
                return self._painter.select(strip, *span)
        return strip

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Source text of the selection, without padding, decoration and soft wraps."""
        text = selected_text(selection, self._entries, self._layouts.exact)
        return (text, "\n") if text else None

    def _clear_selection(self) -> None:
        if self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()

    def _repaint(self) -> None:
        """Everything may look different."""
        if self._viewport.height:
            self._place(self._viewport.settle())
            self.refresh()

    # --- scrolling --------------------------------------------------------------------------

    def _place(self, top: int) -> None:
        """Move Textual's scroll state to where the viewport is, without a layout (trap 2)."""
        layouts, viewport = self._layouts, self._viewport
        layouts.trim(viewport.index, viewport.last_index())
        size = Size(self._view_size.width, self._entries.total)
        self._placing = True
        try:
            if size != self.virtual_size:
                self.set_reactive(Widget.virtual_size, size)
                self._scroll_update(size)
            if round(self.scroll_y) != top:
                self.set_reactive(Widget.scroll_y, float(top))
                self.set_reactive(Widget.scroll_target_y, float(top))
                if self.show_vertical_scrollbar:
                    self.vertical_scrollbar.position = top
        finally:
            self._placing = False
        if self.at_bottom != viewport.following:
            self.at_bottom = viewport.following
            self.post_message(self.FollowChanged(viewport.following))

    def scroll_rows(self, rows: int) -> None:
        """Scroll by rows: positive down, negative up."""
        if self._viewport.height:
            self._viewport.settle()
            self._viewport.move(rows)
            self._scrolled()

    def jump_to_bottom(self) -> None:
        """Follow the end again; nothing moves, and no scrollbar shows, where it is followed."""
        if not self._viewport.following:
            self._viewport.following = True
            self._scrolled()

    def _jump(self, row: int) -> None:
        top = self._viewport.settle()
        if abs(row - top) <= 3 * self._viewport.height:
            self._viewport.move(row - top)
        else:
            self._viewport.jump(row)
        self._scrolled()

    def _scrolled(self) -> None:
        self._repaint()
        if not self.is_mounted:
            return
        self.add_class("-scrolling")
        if self._scrollbar_timer is not None:
            self._scrollbar_timer.stop()
        self._scrollbar_timer = self.set_timer(SCROLLBAR_SECONDS, self._hide_scrollbar)

    def _hide_scrollbar(self) -> None:
        self._scrollbar_timer = None
        self.remove_class("-scrolling")

    def _scroll_to(self, x: float | None = None, y: float | None = None, **_options: Any) -> bool:
        """Every way of scrolling in Textual ends here: no animation, exact heights (trap 14)."""
        if y is None:
            return False
        before = self._viewport.place
        self._jump(round(y))
        return self._viewport.place != before

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """A scroll position set from outside moves the viewport."""
        if not self._placing and round(old_value) != round(new_value):
            self._jump(round(new_value))

    def action_scroll_up(self) -> None:
        """One row up."""
        self.scroll_rows(-1)

    def action_scroll_down(self) -> None:
        """One row down."""
        self.scroll_rows(1)

    def action_page_up(self) -> None:
        """A screen up, keeping one row."""
        self.scroll_rows(1 - self._viewport.height)

    def action_page_down(self) -> None:
        """A screen down, keeping one row."""
        self.scroll_rows(self._viewport.height - 1)

    def action_scroll_home(self) -> None:
        """To the first row."""
        self._viewport.jump(0)
        self._scrolled()

    def action_scroll_end(self) -> None:
        """To the last row, following again."""
        self.jump_to_bottom()
