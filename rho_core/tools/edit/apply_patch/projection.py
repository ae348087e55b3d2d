"""A patch as rows for a card, while it is being written (12.27)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rho_core.tools.edit.apply_patch.document import (
    AddFile,
    Chunk,
    DeleteFile,
    FileOperation,
    RowKind,
    UpdateFile,
)
from rho_core.tools.edit.apply_patch.grammar import parse_partial_patch
from rho_core.tools.edit.projection import (
    MAX_CHARACTERS,
    Projection,
    ProjectionBuilder,
    added_hunk,
)


def project_patch(text: str) -> Projection:
    """What the complete lines of a patch declare."""
    builder = ProjectionBuilder()
    for operation in parse_partial_patch(text[:MAX_CHARACTERS]):
        _add(builder, operation)
    builder.is_cut = builder.is_cut or len(text) > MAX_CHARACTERS
    return builder.build()


def _add(builder: ProjectionBuilder, operation: FileOperation) -> None:
    match operation:
        case AddFile(path=path, content=content):
            rows = content.split("\n")[:-1]
            builder.add(None, path, added_hunk(1, rows) if rows else (), len(rows), 0)
        case DeleteFile(path=path):
            builder.add(path, None, (), 0, 0)
        case UpdateFile(path=path, chunks=chunks, move_to=move_to):
            builder.add(
                path,
                move_to or path,
                _card_rows(chunks),
                _count(chunks, RowKind.ADDED),
                _count(chunks, RowKind.REMOVED),
            )


def _card_rows(chunks: Sequence[Chunk]) -> Iterator[str]:
    for chunk in chunks:
        if chunk.context:
            yield f"@@ {chunk.context}"
        old = sum(row.kind is not RowKind.ADDED for row in chunk.rows)
        new = sum(row.kind is not RowKind.REMOVED for row in chunk.rows)
        yield f"@@ -0,{old} +0,{new} @@"  # where it matches is not known before it is tried
        for row in chunk.rows:
            yield f"{row.kind}{row.text}"


def _count(chunks: Sequence[Chunk], kind: RowKind) -> int:
    return sum(row.kind is kind for chunk in chunks for row in chunk.rows)
