"""An edit document as rows for a card, while it is being written (10.29)."""

from __future__ import annotations

from collections.abc import Iterator

from rho_core.tools.edit.hashline.document import (
    Append,
    Delete,
    InsertAfter,
    InsertBefore,
    Operation,
    Replace,
    Section,
    summary,
)
from rho_core.tools.edit.hashline.grammar import parse_leniently
from rho_core.tools.edit.projection import (
    MAX_CHARACTERS,
    Projection,
    ProjectionBuilder,
    added_hunk,
)


def project_edit(text: str) -> Projection:
    """What the complete part of an edit document declares; the lines it removes are unknown."""
    builder = ProjectionBuilder()
    for section in parse_leniently(text[:MAX_CHARACTERS]):
        added = sum(len(_rows(operation)) for operation in section.operations)
        removed = sum(_removed(operation) for operation in section.operations)
        builder.add(section.path, section.path, _card_rows(section), added, removed)
    builder.is_cut = builder.is_cut or len(text) > MAX_CHARACTERS
    return builder.build()


def _card_rows(section: Section) -> Iterator[str]:
    for operation in section.operations:
        yield summary(operation)
        if rows := _rows(operation):
            yield from added_hunk(_start(operation), rows)


def _rows(operation: Operation) -> tuple[str, ...]:
    match operation:
        case Delete():
            return ()
        case Replace(rows=rows) | InsertBefore(rows=rows) | InsertAfter(rows=rows):
            return rows
        case Append(rows=rows):
            return rows


def _removed(operation: Operation) -> int:
    match operation:
        case Replace(start=start, end=end) | Delete(start=start, end=end):
            return end - start + 1
        case _:
            return 0


def _start(operation: Operation) -> int:
    match operation:
        case Replace(start=start) | Delete(start=start):
            return start
        case InsertBefore(line=line):
            return line
        case InsertAfter(line=line):
            return line + 1
        case Append():
            return 0
