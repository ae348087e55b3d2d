"""An edit document: sections of operations on line numbers (10.6–10.11)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Replace:
    """`PUT N.=M:` puts `rows` in place of lines `start` to `end`, which are 1-based, inclusive."""

    start: int
    end: int
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """`CUT N.=M` removes lines."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class InsertBefore:
    """`PUT <N:` puts `rows` before a line."""

    line: int
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InsertAfter:
    """`PUT >N:` puts `rows` after a line."""

    line: int
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Append:
    """`PUT >$:` puts `rows` at the end."""

    rows: tuple[str, ...]


Operation: TypeAlias = Replace | Delete | InsertBefore | InsertAfter | Append


@dataclass(frozen=True, slots=True)
class Section:
    """The operations on one file; `tag` is what the model saw, upper case."""

    path: str
    tag: str
    operations: tuple[Operation, ...]

    def anchors(self) -> Iterator[int]:
        """The lines that the operations name, for showing the file around them."""
        for operation in self.operations:
            match operation:
                case Replace(start=start, end=end) | Delete(start=start, end=end):
                    yield start
                    yield end
                case InsertBefore(line=line) | InsertAfter(line=line):
                    yield line
                case Append():
                    pass


def locator(operation: Operation) -> str:
    """How an operation is written in its first line, without a colon."""
    match operation:
        case Replace(start=start, end=end):
            return f"PUT {_span(start, end)}"
        case Delete(start=start, end=end):
            return f"CUT {_span(start, end)}"
        case InsertBefore(line=line):
            return f"PUT <{line}"
        case InsertAfter(line=line):
            return f"PUT >{line}"
        case Append():
            return "PUT >$"


def summary(operation: Operation) -> str:
    """An operation with its counts, for results (10.25)."""
    name = locator(operation)
    match operation:
        case Replace(start=start, end=end, rows=rows):
            return f"{name}: ({end - start + 1} → {len(rows)} line(s))"
        case Delete(start=start, end=end):
            count = end - start + 1
            return f"{name} ({count} line{'' if count == 1 else 's'})"
        case InsertBefore(rows=rows) | InsertAfter(rows=rows) | Append(rows=rows):
            return f"{name}: (+{len(rows)} line(s))"


def _span(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}.={end}"
