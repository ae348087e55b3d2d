"""Numbered views of text for the model (section 3).

A row is `‹n›:‹line›` with absolute, 1-based numbers under a header line. Only `\\n` separates
lines. A very long line is cut with a mark that says how much is missing, and a view that does not
fit its budget ends at a whole row with a footer that says where to go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rho_core.errors import ToolError

MAX_LINE_CHARACTERS = 2_000
SNAPSHOT_HEAD = 28
SNAPSHOT_TAIL = 8
SNAPSHOT_CONTEXT = 2
SNAPSHOT_ROWS = 40
GAP = "…"
_FOOTER_RESERVE = 256
_LAST_RESORT_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class NumberedView:
    """A rendered view: its text and the lines it shows, 1-based and inclusive (0, 0 if none)."""

    text: str
    start_line: int
    end_line: int
    total_lines: int
    cut_lines: int = 0


def content_lines(text: str) -> list[str]:
    """The lines of `text` without their endings; an empty text has none (3.1)."""
    if not text:
        return []
    body = text[:-1] if text.endswith("\n") else text
    return [line[:-1] if line.endswith("\r") else line for line in body.split("\n")]


def numbered_row(number: int, line: str, *, max_characters: int = MAX_LINE_CHARACTERS) -> str:
    """One row (3.2); a line over `max_characters` is cut and says so."""
    if len(line) <= max_characters:
        return f"{number}:{line}"
    missing = len(line) - max_characters
    return f"{number}:{line[:max_characters]}… [line cut: {missing:,} more characters]"


def window_view(
    header: str,
    lines: Sequence[str],
    *,
    offset: int | None = None,
    limit: int | None = None,
    max_bytes: int = 64_000,
) -> NumberedView:
    """`limit` lines from `offset` under `header`, as far as `max_bytes` allow (3.4, 3.5).

    Raises `ToolError` for an offset past the end; it names the real length.
    """
    total = len(lines)
    first = 1 if offset is None else offset
    if first > max(total, 1):
        raise ToolError.execution(
            f"offset {first} is past the end of the file ({total} line(s)): {header}"
        )
    if not total:
        return NumberedView(header, 0, 0, 0)
    last = total if limit is None else min(first + limit - 1, total)
    rows, cut = _rows_within(lines, first, last, max_bytes - len(header.encode()) - _FOOTER_RESERVE)
    shown = first + len(rows) - 1
    text = "\n".join([header, *rows])
    if (first, shown) != (1, total):
        text += f"\n\n[{_footer(first, shown, last, total)}]"
    return NumberedView(text, first, shown, total, cut)


def snapshot_view(
    header: str,
    lines: Sequence[str],
    focus: Iterable[int] = (),
    *,
    max_bytes: int = 64_000,
    context: int = SNAPSHOT_CONTEXT,
) -> NumberedView:
    """A bounded picture of a file: the lines around `focus`, else head and tail (3.6–3.8).

    `context` is how many lines around each focus line are shown.
    """
    total = len(lines)
    if not total:
        return NumberedView(header, 0, 0, 0)
    chosen = _focused(total, focus, context) or _head_and_tail(total)
    rows: list[str] = []
    room = max_bytes - len(header.encode()) - _FOOTER_RESERVE
    shown = 0
    previous = chosen[0] - 1
    for number in chosen:
        row = numbered_row(number, lines[number - 1])
        room -= len(row.encode("utf-8", "replace")) + 1
        if room < 0 and shown:
            break
        if number != previous + 1:
            rows.append(GAP)
        rows.append(row)
        previous = number
        shown += 1
    text = "\n".join([header, *rows])
    if shown < total:
        seen = f"{shown} of {total} lines shown, within {chosen[0]}-{previous} of {total}"
        text += f"\n\n[{seen}; read_file shows the rest]"
    return NumberedView(text, chosen[0], previous, total)


def _rows_within(lines: Sequence[str], first: int, last: int, room: int) -> tuple[list[str], int]:
    """Whole rows that fit into `room` bytes, at least one, and how many of them are cut."""
    wanted = lines[first - 1 : last]
    lengths = [len(line) for line in wanted]
    if sum(lengths) < room and max(lengths, default=0) <= MAX_LINE_CHARACTERS:
        # most files: nothing is cut, and they are counted in one go
        rows = [f"{number}:{line}" for number, line in enumerate(wanted, first)]
        if len("\n".join(rows).encode("utf-8", "replace")) < room:
            return rows, 0
    rows = []
    cut = 0
    for number in range(first, last + 1):
        line = lines[number - 1]
        row = numbered_row(number, line)
        room -= len(row.encode("utf-8", "replace")) + 1
        if room < 0:
            if rows:
                break
            row = numbered_row(number, line, max_characters=_LAST_RESORT_CHARACTERS)
        cut += len(line) > MAX_LINE_CHARACTERS
        rows.append(row)
    return rows, cut


def _footer(first: int, shown: int, wanted: int, total: int) -> str:
    note = f"lines {first}-{shown} of {total}"
    if shown < wanted:
        return f"{note}; the output limit is reached, continue with offset {shown + 1}"
    if shown < total:
        return f"{note}; read on with offset {shown + 1}, or choose another offset and limit"
    return f"{note}; choose another offset and limit for the rest"


def _head_and_tail(total: int) -> list[int]:
    if total <= SNAPSHOT_HEAD + SNAPSHOT_TAIL:
        return list(range(1, total + 1))
    return [*range(1, SNAPSHOT_HEAD + 1), *range(total - SNAPSHOT_TAIL + 1, total + 1)]


def _focused(total: int, focus: Iterable[int], context: int) -> list[int]:
    wanted = sorted({line for line in focus if 1 <= line <= total})
    numbers = sorted(
        {
            near
            for line in wanted
            for near in range(line - context, line + context + 1)
            if 1 <= near <= total
        }
    )
    return list(_capped(numbers))


def _capped(numbers: list[int]) -> Iterator[int]:
    """At most 40 rows, shared among the contiguous hunks from their fronts (3.9)."""
    hunks: list[list[int]] = []
    for number in numbers:
        if hunks and number == hunks[-1][-1] + 1:
            hunks[-1].append(number)
        else:
            hunks.append([number])
    left = SNAPSHOT_ROWS
    for index, hunk in enumerate(hunks):
        later = len(hunks) - index - 1
        share = left if later == 0 else max(1, min(SNAPSHOT_ROWS // len(hunks), left - later))
        if left <= 0:
            return
        yield from hunk[:share]
        left -= min(share, len(hunk))
