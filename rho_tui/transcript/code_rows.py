"""A code fence as rows: a header with language and COPY button, then full-width code (APP2.13)."""

from __future__ import annotations

from collections.abc import Sequence

from rho_tui.transcript.highlight import CodeText, lexer_named
from rho_tui.transcript.lines import LineRows
from rho_tui.transcript.rows import Hit, Row
from rho_tui.transcript.sanitize import clean_line
from rho_tui.transcript.wrap import crop_cells, text_width

BUTTON = " COPY "
_FILL = "bg:code"


class CodeRows:
    """Rows of one fence.

    Args:
        lines: Sanitised code lines; may grow until `close`, followed by `grow`.
        info: The fence's info string; its first word names the language.
        width: Cells of a row.
        base: Style word for all of the block, such as `dim`.
    """

    def __init__(self, lines: list[str], info: str, width: int, base: str = "") -> None:
        words = info.split()
        self._info = info.strip()
        self._width = width
        self._base = base
        self.code = CodeText(lines, lexer_named(words[0]) if words else None)
        self._body = LineRows(self.code, width, self._decorate)

    def grow(self, first: int) -> None:
        """Take in lines added, or changed, from line `first` on."""
        self._body.measure(first)

    def close(self) -> None:
        """The fence is complete: colours may be computed."""
        self.code.close()

    @property
    def pending(self) -> bool:
        """Whether colours are still to come."""
        return self.code.pending

    def advance(self) -> None:
        """Colour another slice of lines."""
        self.code.advance()

    @property
    def height(self) -> int:
        """Number of rows."""
        return 1 + self._body.height

    def rows(self, start: int, stop: int) -> Sequence[Row]:
        """Rows `start` to `stop`."""
        found = list(self._body.rows(max(0, start - 1), stop - 1)) if stop > 1 else []
        return [self._header(), *found] if start == 0 else found

    def _decorate(self, _line: int, _index: int, row: Row) -> Row:
        runs = row.runs
        if self._base:
            runs = tuple((text, f"{self._base} {key}".strip()) for text, key in runs)
        return row._replace(runs=runs, fill=_FILL)

    def _header(self) -> Row:
        button = BUTTON if self._width >= 9 else BUTTON.strip()
        if self._width < 6:
            button = ""
        label = crop_cells(clean_line(self._info), self._width - len(button) - 1)
        gap = " " * max(0, self._width - text_width(label) - len(button))
        start = len(label) + len(gap)
        size = start + len(button)
        hits: tuple[Hit, ...] = ()
        if button:
            hits = (Hit(start, size, "copy", self.source()),)
        runs = ((label, "muted"), (gap, ""), (button, "accent"))
        shown = tuple(run for run in runs if run[0])
        return Row(shown, _FILL, lead=size, join="", hits=hits)

    def source(self) -> str:
        """The code without a final newline, for the COPY button."""
        return "\n".join(self.code.lines)
