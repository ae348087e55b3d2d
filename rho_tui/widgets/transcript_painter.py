"""Rows to strips: styles of the theme, margins, washes, hover and selection.

A strip costs over a kilobyte with its caches, a row some two hundred bytes: strips are kept only
for the latest few screens of rows.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip

from rho_tui.transcript.palette import Palette
from rho_tui.transcript.rows import BLANK, Row
from rho_tui.transcript.wrap import text_width

MARGIN = 1
"""Cells, and characters, left and right of every row (APP1.13)."""

_KEPT_STRIPS = 600


class StripPainter:
    """Paints rows at one width and theme; answers are cached by entry and row number."""

    def __init__(self) -> None:
        self._palette = Palette({})
        self._width = 0
        self._limit = _KEPT_STRIPS
        self._strips: dict[tuple[str, int], Strip] = {}

    @property
    def cached(self) -> int:
        """Number of strips kept."""
        return len(self._strips)

    @property
    def width(self) -> int:
        """Cells of a strip."""
        return self._width

    def clear(self) -> None:
        """Drop all strips."""
        self._strips.clear()

    def configure(self, palette: Palette | None = None, *, width: int, height: int) -> None:
        """Take another theme or size; cached strips are dropped when either matters."""
        self._limit = max(_KEPT_STRIPS, 3 * height)
        if palette is not None:
            self._palette = palette
        elif width == self._width:
            return
        self._width = width
        self._strips.clear()

    def forget(self, entry_id: str, first: int = 0) -> None:
        """Drop the strips of an entry's rows from `first` on."""
        for key in [key for key in self._strips if key[0] == entry_id and key[1] >= first]:
            del self._strips[key]

    def cached_strip(self, entry_id: str, row: int) -> Strip | None:
        """The strip of a row if it was painted lately."""
        return self._strips.get((entry_id, row))

    def paint(self, entry_id: str, number: int, row: Row, *, hover: bool = False) -> Strip:
        """The strip of a row, as wide as the view; it is remembered."""
        strip = self._strip(row, "bg:hover" if hover and not row.fill else row.fill)
        while len(self._strips) >= self._limit:
            del self._strips[next(iter(self._strips))]
        self._strips[entry_id, number] = strip
        return strip

    def blank(self) -> Strip:
        """A row of nothing."""
        return self._strip(BLANK, "")

    def _strip(self, row: Row, fill: str) -> Strip:
        style = self._palette.style
        ground = style(fill)
        segments = [Segment(" " * MARGIN, ground)]
        used = MARGIN
        for text, key in row.runs:
            # The run's own wash, if any, comes last and wins.
            segments.append(Segment(text, style(f"{fill} {key}" if fill else key)))
            used += text_width(text)
        if used < self._width:
            segments.append(Segment(" " * (self._width - used), ground))
        strip = Strip(segments)
        return strip if used <= self._width else strip.crop(0, self._width)

    def select(self, strip: Strip, start: int, end: int) -> Strip:
        """The strip with the characters `start` to `end` shown as selected."""
        wash = self._palette.wash("selection")
        segments: list[Segment] = []
        at = 0
        for text, style, _control in strip:
            size = len(text)
            low, high = max(0, min(size, start - at)), max(0, min(size, end - at))
            if text[:low]:
                segments.append(Segment(text[:low], style))
            if text[low:high]:
                segments.append(Segment(text[low:high], style + wash if style else wash))
            if text[high:]:
                segments.append(Segment(text[high:], style))
            at += size
        return Strip(segments, strip.cell_length)
