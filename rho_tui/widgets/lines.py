"""Lines of docks, lists and pickers: logical lines that wrap into rows, without Textual.

A line carries untrusted text as it came; `lay_out` sends every run through the one sanitiser.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rho_tui.transcript.rows import Row, Run
from rho_tui.transcript.sanitize import clean_line
from rho_tui.transcript.wrap import cell_breaks, expand_tabs, text_width, wrap_cells, wrap_words


@dataclass(frozen=True, slots=True)
class Line:
    """One logical line: styled runs that wrap at the width of the view.

    `runs` are pairs of text and style key (see `palette`); a newline inside shows as a picture, so
    split text before. `hang` indents the rows after the first. `exact` cuts at cells and keeps all
    spaces (commands, diffs) instead of breaking at words; `crop` makes it one row that ends in an
    ellipsis. `fill` is a style under the whole row.
    """

    runs: tuple[Run, ...] = ()
    hang: int = 0
    exact: bool = False
    fill: str = ""
    crop: bool = False


def text_line(text: str, style: str = "", *, hang: int = 0, exact: bool = False) -> Line:
    """A line of one style."""
    return Line(((text, style),), hang=hang, exact=exact)


@dataclass(frozen=True, slots=True)
class LaidOut:
    """Rows of some lines at one width. `starts[i]` is the first row of line `i`."""

    rows: tuple[Row, ...] = ()
    starts: tuple[int, ...] = ()
    owners: tuple[int, ...] = field(default=())
    """Index of the line that each row belongs to."""

    def span(self, index: int) -> tuple[int, int]:
        """First row of a line, and the row after its last."""
        after = index + 1
        return self.starts[index], self.starts[after] if after < len(self.starts) else len(
            self.rows
        )


def lay_out(lines: Sequence[Line], width: int) -> LaidOut:
    """Wrap `lines` at `width` cells (at least 1)."""
    rows: list[Row] = []
    starts: list[int] = []
    owners: list[int] = []
    for index, line in enumerate(lines):
        starts.append(len(rows))
        wrapped = _wrap(line, max(1, width))
        rows.extend(wrapped)
        owners.extend([index] * len(wrapped))
    return LaidOut(tuple(rows), tuple(starts), tuple(owners))


def _wrap(line: Line, width: int) -> list[Row]:
    runs = [(expand_tabs(_clean(text)), style) for text, style in line.runs]
    if line.crop:
        return [_cropped(runs, width)._replace(fill=line.fill)]
    hang = line.hang if line.hang * 2 < width else 0
    if hang:
        first, rest = _split_first(runs, width, line.exact)
        if rest:
            pad: Run = (" " * hang, "")
            inner = _rows(rest, width - hang, line.exact)
            rows = [first, *(row._replace(runs=(pad, *row.runs)) for row in inner)]
        else:
            rows = [first]
    else:
        rows = _rows(runs, width, line.exact)
    return [row._replace(fill=line.fill) for row in rows] if line.fill else rows


def _cropped(runs: list[Run], width: int) -> Row:
    if sum(text_width(text) for text, _ in runs) <= width:
        return Row(tuple(runs))
    shown: list[Run] = []
    left = width - 1  # the ellipsis takes a cell
    for text, style in runs:
        size = text_width(text)
        if size > left:
            end = cell_breaks(text, left)[0][1] if left > 0 else 0
            if text_width(text[:end]) > left:
                end = 0  # not even one wide character fits
            return Row((*shown, (text[:end] + "…", style)))
        shown.append((text, style))
        left -= size
    return Row(tuple(shown))


def _clean(text: str) -> str:
    # A tab is layout here, not a picture: columns of commands and diffs stay readable.
    return "\t".join(clean_line(part) for part in text.split("\t"))


def _rows(runs: Iterable[Run], width: int, exact: bool) -> list[Row]:
    if exact:
        return wrap_cells(list(runs), width)
    return wrap_words([(text, style, "") for text, style in runs], width)


def _split_first(runs: list[Run], width: int, exact: bool) -> tuple[Row, list[Run]]:
    """The first row at full width, and the runs that are left."""
    rows = _rows(runs, width, exact)
    first = rows[0]
    if len(rows) == 1:
        return first, []
    skip = len(first.text) + len(first.join.rstrip("\n"))
    rest: list[Run] = []
    for text, style in runs:
        if skip >= len(text):
            skip -= len(text)
            continue
        rest.append((text[skip:], style))
        skip = 0
    return first, rest
