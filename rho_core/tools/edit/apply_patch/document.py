"""A patch: an ordered list of file operations (12.3–12.5)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class RowKind(StrEnum):
    """What a row of a chunk says of its line, as the patch writes it."""

    CONTEXT = " "
    REMOVED = "-"
    ADDED = "+"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a chunk."""

    kind: RowKind
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows to find and to change.

    Args:
        line: Where it begins in the patch, 1-based, for messages.
        context: A line of the file after which to search, None without one.
        rows: Context, removed and added lines in order.
        at_end: Whether its last row is the end of the file.
    """

    line: int
    context: str | None
    rows: tuple[Row, ...]
    at_end: bool = False

    @property
    def old(self) -> tuple[str, ...]:
        """The lines that must be in the file."""
        return tuple(row.text for row in self.rows if row.kind is not RowKind.ADDED)


@dataclass(frozen=True, slots=True)
class AddFile:
    """A new file with its whole content."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file to remove."""

    path: str


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """Chunks of an existing file, which may also get another path."""

    path: str
    chunks: tuple[Chunk, ...]
    move_to: str | None = None


FileOperation: TypeAlias = AddFile | DeleteFile | UpdateFile


def named_paths(operation: FileOperation) -> tuple[str, ...]:
    """The paths of an operation as written: of a move, source then destination (12.26)."""
    if isinstance(operation, UpdateFile) and operation.move_to is not None:
        return (operation.path, operation.move_to)
    return (operation.path,)
