"""Applying the operations of a section to the lines of a file (10.12–10.17)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rho_core.tools.edit.hashline.document import (
    Append,
    Delete,
    InsertAfter,
    InsertBefore,
    Operation,
    Replace,
    locator,
)
from rho_core.tools.edit.lines import Line, join_lines, split_view_lines
from rho_core.tools.files.diff import Block, changed_blocks

STRUCTURAL_LINES = 40


class EditRefused(ValueError):
    """The operations do not fit the file; the text says why."""


@dataclass(frozen=True, slots=True)
class AppliedEdit:
    """The new text and the lines to show of it, counted from 1 in the new text."""

    text: str
    focus: tuple[int, ...]
    is_structural: bool


def apply_operations(text: str, operations: Sequence[Operation]) -> AppliedEdit:
    """All operations address the lines of `text`. Raises `EditRefused` and changes nothing."""
    lines = split_view_lines(text)
    _check_range(operations, len(lines))
    _check_overlaps(operations)
    rows, focus = _arrange(lines, operations)
    spans = [item for item in operations if isinstance(item, Replace | Delete)]
    structural = any(span.end - span.start + 1 >= STRUCTURAL_LINES for span in spans)
    return AppliedEdit(join_lines(rows, text), tuple(focus), structural)


def rebase(operations: Sequence[Operation], base: str, current: str) -> tuple[Operation, ...]:
    """Operations made for `base`, addressed to `current` as they mean the same lines.

    Raises `EditRefused` where a line that they name has changed itself.
    """
    blocks = changed_blocks(_texts(base), _texts(current))
    return tuple(_moved(operation, blocks) for operation in operations)


def _check_range(operations: Sequence[Operation], total: int) -> None:
    for operation in operations:
        match operation:
            case Append():
                continue
            case InsertBefore(line=1) if total == 0:
                continue
            case Replace(end=last) | Delete(end=last):
                pass
            case InsertBefore(line=last) | InsertAfter(line=last):
                pass
        if total == 0:
            raise EditRefused(
                f"{locator(operation)} is out of range: the file is empty, so only PUT <1: and "
                "PUT >$: can be used"
            )
        if last > total:
            raise EditRefused(f"{locator(operation)} is out of range: the file has {total} line(s)")


def _check_overlaps(operations: Sequence[Operation]) -> None:
    spans = [item for item in operations if isinstance(item, Replace | Delete)]
    spans.sort(key=lambda span: (span.start, span.end))
    for before, after in pairwise(spans):
        if after.start <= before.end:
            raise EditRefused(f"{locator(before)} and {locator(after)} are overlapping")
    wide = [span for span in spans if span.end > span.start]
    for operation in operations:
        for span in wide:
            if _falls_inside(operation, span):
                raise EditRefused(
                    f"{locator(operation)} falls inside {locator(span)}; put those rows into its "
                    f"body, or insert at PUT <{span.start}: or PUT <{span.end + 1}:"
                )


def _falls_inside(operation: Operation, span: Replace | Delete) -> bool:
    match operation:
        case InsertBefore(line=line):
            return span.start < line <= span.end
        case InsertAfter(line=line):
            return span.start <= line <= span.end
        case _:
            return False


def _arrange(
    lines: Sequence[Line], operations: Sequence[Operation]
) -> tuple[list[Line], list[int]]:
    """The new lines in order, and which of them are new or beside a gap (10.15, 10.17)."""
    before: dict[int, list[str]] = {}
    after: dict[int, list[str]] = {}
    spans: dict[int, Replace | Delete] = {}
    appended: list[str] = []
    for operation in operations:
        match operation:
            case InsertBefore(line=line, rows=new):
                before.setdefault(line, []).extend(new)
            case InsertAfter(line=line, rows=new):
                after.setdefault(line, []).extend(new)
            case Append(rows=new):
                appended.extend(new)
            case Replace() | Delete():
                spans[operation.start] = operation
    rows: list[Line] = []
    focus: list[int] = []

    def add(new: Sequence[Line]) -> None:
        focus.extend(range(len(rows) + 1, len(rows) + len(new) + 1))
        rows.extend(new)

    gaps: list[int] = []
    copied = 0  # lines of the file that are dealt with
    for number in sorted({*before, *after, *spans}):
        rows += lines[copied : number - 1]
        copied = max(copied, number - 1)
        add([Line(row) for row in before.get(number, ())])
        span = spans.get(number)
        if isinstance(span, Replace):
            add(_in_place_of(lines[span.start - 1 : span.end], span.rows))
        elif span is not None:
            gaps.append(len(rows))
        else:
            rows += lines[number - 1 : number]
        copied = number if span is None else span.end
        add([Line(row) for row in after.get(number, ())])
    rows += lines[copied:]
    add([Line(row) for row in appended])
    focus += [near for gap in gaps for near in (gap, gap + 1) if 1 <= near <= len(rows)]
    return rows, sorted(set(focus)) or [1]


def _in_place_of(old: Sequence[Line], rows: Sequence[str]) -> list[Line]:
    """New rows with the endings of the lines that they replace, as far as there are any."""
    endings = [line.ending or None for line in old]
    return [
        Line(row, endings[index] if index < len(endings) else None)
        for index, row in enumerate(rows)
    ]


def _texts(text: str) -> list[str]:
    return [line.text for line in split_view_lines(text)]


def _moved(operation: Operation, blocks: Sequence[Block]) -> Operation:
    match operation:
        case Replace(start=start, end=end) | Delete(start=start, end=end):
            return replace(operation, start=_place(start, blocks), end=_place(end, blocks, start))
        case InsertBefore(line=line) | InsertAfter(line=line):
            return replace(operation, line=_place(line, blocks))
        case Append():
            return operation


def _place(line: int, blocks: Sequence[Block], start: int | None = None) -> int:
    """Where a line of the old text is now; from `start` on nothing may have changed."""
    shift = 0
    for block in blocks:
        if block.old_start >= line:
            break
        if block.old_end > ((line if start is None else start) - 1):
            raise EditRefused("a line that this edit names was changed by an edit before it")
        shift = block.new_end - block.old_end
    return line + shift
