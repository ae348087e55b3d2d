"""The chunks of an update against the text of a file (12.12–12.18)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rho_core.errors import ToolError
from rho_core.tools.edit.apply_patch.document import Chunk, Row, RowKind
from rho_core.tools.edit.apply_patch.seek import Found, LineIndex
from rho_core.tools.edit.lines import Line, join_lines, split_any_lines
from rho_core.tools.edit.nearest import describe_missing
from rho_core.tools.files.text import BOM

_GIT_RANGE = re.compile(r"-\d+(,\d+)? \+\d+(,\d+)? @@")
_MAX_LISTED = 20
_MAX_BLOCK_ROWS = 20


@dataclass(frozen=True, slots=True)
class Update:
    """The new text, the lines to show of it (from 1), and what was overlooked to match."""

    text: str
    focus: tuple[int, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a chunk goes: lines [start, start + len(rows without added)), all from 0."""

    start: int
    rows: tuple[Row, ...]
    overlooked: str


def update_text(text: str, chunks: Sequence[Chunk], shown: str, *, marked: bool = False) -> Update:
    """Apply the chunks in order. Raises `ToolError` that says what is nearest, changing nothing.

    Lines that the patch only names as context stay as the file has them, whatever their spelling
    in the patch; removed lines are gone whole, and added ones get the file's line ending. The
    first line of a `marked` file may be named with its byte order mark.
    """
    lines = split_any_lines(text)
    index = LineIndex([line.text for line in lines], marked=marked)
    rows: list[Line] = []
    focus: list[int] = []
    notes: list[str] = []
    at = 0
    for chunk in chunks:
        place = _place(chunk, index, at, lines, shown)
        rows += lines[at : place.start]
        at = _put(place, lines, rows, focus, marked=marked)
        if place.overlooked:
            notes.append(
                f"note: in {shown}, the lines at {place.start + 1} matched except for "
                f"{place.overlooked}"
            )
    rows += lines[at:]
    shown_lines = sorted({min(line, max(1, len(rows))) for line in focus if line >= 1})
    return Update(join_lines(rows, text), tuple(shown_lines), tuple(notes))


def _put(
    place: _Place, lines: Sequence[Line], rows: list[Line], focus: list[int], *, marked: bool
) -> int:
    """Append what the chunk leaves of its lines; the line of the file that comes after it."""
    at = place.start
    for row in place.rows:
        match row.kind:
            case RowKind.CONTEXT:
                rows.append(lines[at])
                at += 1
            case RowKind.REMOVED:
                at += 1
                focus += [len(rows), len(rows) + 1]
            case RowKind.ADDED:
                is_copied = marked and not rows  # the mark, from a view's first row
                rows.append(Line(row.text.removeprefix(BOM) if is_copied else row.text))
                focus.append(len(rows))
    return at


def _place(chunk: Chunk, index: LineIndex, at: int, lines: Sequence[Line], shown: str) -> _Place:
    start = at if chunk.context is None else _after_context(chunk, index, at, shown)
    if not chunk.old:  # nothing to find: at the end if asked, else where the search has come to
        return _Place(len(index) if chunk.at_end else start, chunk.rows, "")
    rows = chunk.rows
    found = _find(chunk, rows, index, start)
    if found is None and (shorter := _without_last_blank(rows)) is not None:
        rows = shorter
        found = _find(chunk, rows, index, start)
    if found is None:
        raise _missing(chunk, index, start, lines, shown)
    if len(found.starts) > 1 and chunk.context is None:
        raise _ambiguous(chunk, found, shown)
    return _Place(found.starts[0], rows, found.tolerance.reason)


def _find(chunk: Chunk, rows: Sequence[Row], index: LineIndex, start: int) -> Found | None:
    old = _old(rows)
    if not old:
        return None
    at_end = index.find_at_end(old, start) if chunk.at_end else None
    return at_end or index.find(old, start)


def _after_context(chunk: Chunk, index: LineIndex, at: int, shown: str) -> int:
    context = chunk.context or ""
    found = index.find([context], at)
    if found is not None:
        return found.starts[0] + 1
    quoted = f"'{context}'" if len(context) <= 200 else f"'{context[:200]}…'"
    earlier = index.find([context], 0, at)
    if earlier is not None:
        raise ToolError.execution(
            f"the chunk at line {chunk.line} of the patch is out of order: its context {quoted} "
            f"is only at line {earlier.starts[-1] + 1} of {shown}, before the end of the chunk "
            "above it; give the chunks in the order of the file. Nothing was changed"
        )
    hint = ""
    if _GIT_RANGE.match(context):
        hint = "; after @@ comes a line of the file or nothing, not a range of line numbers"
    raise ToolError.execution(
        f"Failed to find context {quoted} in {shown} (line {chunk.line} of the patch){hint}. "
        "Nothing was changed"
    )


def _without_last_blank(rows: tuple[Row, ...]) -> tuple[Row, ...] | None:
    """The rows without an empty last old line, and without an empty added line beside it."""
    last = next(
        (at for at in range(len(rows) - 1, -1, -1) if rows[at].kind is not RowKind.ADDED), None
    )
    if last is None or rows[last].text:
        return None
    kept = list(rows)
    if rows[last].kind is RowKind.REMOVED:
        new = [at for at in range(len(rows)) if rows[at].kind is not RowKind.REMOVED]
        if new and rows[new[-1]].kind is RowKind.ADDED and not rows[new[-1]].text:
            del kept[max(last, new[-1])]
            del kept[min(last, new[-1])]
            return tuple(kept)
    del kept[last]
    return tuple(kept)


def _old(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(row.text for row in rows if row.kind is not RowKind.ADDED)


def _missing(
    chunk: Chunk, index: LineIndex, start: int, lines: Sequence[Line], shown: str
) -> ToolError:
    old = chunk.old
    earlier = index.find(old, 0, start)
    if earlier is not None:
        return ToolError.execution(
            f"the chunk at line {chunk.line} of the patch is out of order: its lines are only at "
            f"line {earlier.starts[-1] + 1} of {shown}, before the place where the search has to "
            "begin; give the chunks in the order of the file. Nothing was changed"
        )
    block = "\n".join(old[:_MAX_BLOCK_ROWS])
    more = f"\n… {len(old) - _MAX_BLOCK_ROWS} more lines" if len(old) > _MAX_BLOCK_ROWS else ""
    text = "\n".join(line.text for line in lines)
    nearest = describe_missing(text, "\n".join(old), name="the chunk")
    return ToolError.execution(
        f"Failed to find expected lines in {shown}:\n{block}{more}\n\n{nearest}\n"
        "Nothing was changed"
    )


def _ambiguous(chunk: Chunk, found: Found, shown: str) -> ToolError:
    listed = ", ".join(str(start + 1) for start in found.starts[:_MAX_LISTED])
    more = ", …" if len(found.starts) > _MAX_LISTED else ""
    loosely = f" except for {found.tolerance.reason}" if found.tolerance.reason else ""
    return ToolError.execution(
        f"ambiguous chunk: the lines of the chunk at line {chunk.line} of the patch occur "
        f"{len(found.starts)} times in {shown}{loosely}, at lines {listed}{more}. Add lines of "
        "context, or put @@ and an earlier line of the file above the chunk. Nothing was changed"
    )
