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
        self._strips: dict[str, dict[int, Strip]] = {}  # by entry, then row; never an empty one
        self._kept = 0
        self._blank: Strip | None = None

    @property
    def cached(self) -> int:
        """Number of strips kept."""
        return self._kept

    @property
    def width(self) -> int:
        """Cells of a strip."""
        return self._width

    def clear(self) -> None:
        """Drop all strips."""
        self._strips.clear()
        self._kept = 0
        self._blank = None

    def configure(self, palette: Palette | None = None, *, width: int, height: int) -> None:
        """Take another theme or size; cached strips are dropped when either matters."""
        self._limit = max(_KEPT_STRIPS, 3 * height)
        if palette is not None:
            self._palette = palette
        elif width == self._width:
            return
        self._width = width
        self.clear()

    def forget(self, entry_id: str, first: int = 0) -> None:
        """Drop the strips of an entry's rows from `first` on."""
        rows = self._strips.get(entry_id, {})
        for row in [row for row in rows if row >= first]:
            self._drop(entry_id, row)

    def cached_strip(self, entry_id: str, row: int) -> Strip | None:
        """The strip of a row if it was painted lately."""
        rows = self._strips.get(entry_id)
        return rows.get(row) if rows is not None else None

    def paint(self, entry_id: str, number: int, row: Row, *, hover: bool = False) -> Strip:
        """The strip of a row, as wide as the view; it is remembered."""
        strip = self._strip(row, "bg:hover" if hover and not row.fill else row.fill)
        while self._kept >= self._limit:
            oldest = next(iter(self._strips))
            self._drop(oldest, next(iter(self._strips[oldest])))
        rows = self._strips.setdefault(entry_id, {})
        self._kept += number not in rows
        rows[number] = strip
        return strip

    def _drop(self, entry_id: str, row: int) -> None:
        rows = self._strips[entry_id]
        del rows[row]
        self._kept -= 1
        if not rows:
            del self._strips[entry_id]

    def blank(self) -> Strip:
        """A row of nothing."""
        if self._blank is None:
            self._blank = self._strip(BLANK, "")
        return self._blank

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
