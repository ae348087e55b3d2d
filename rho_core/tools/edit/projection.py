"""What an edit says that it will do, before any file is looked at (10.29, 12.27).

For cards while a call is still being written: nothing here reads a disk or judges the edit. Real
diffs take its place as soon as the call is prepared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

MAX_ROWS = 1_000
MAX_FILES = 100
MAX_CHARACTERS = 262_144
"""How much of a document is looked at; the rest is still being written, or too much to show."""


@dataclass(frozen=True, slots=True)
class ProjectedFile:
    """One file: where it was and is (None: new, removed), and the rows of its diff.

    `added` and `removed` count all its lines, shown or not; `removed` counts declared ones.
    """

    old_path: str | None
    path: str | None
    rows: tuple[str, ...]
    added: int
    removed: int

    @property
    def shown(self) -> str:
        """Its name for a header."""
        if self.old_path is not None and self.path is not None and self.old_path != self.path:
            return f"{self.old_path} → {self.path}"
        return self.path or self.old_path or ""


@dataclass(frozen=True, slots=True)
class Projection:
    """All files of a document, in order; `is_cut` says that some of it is not shown."""

    files: tuple[ProjectedFile, ...]
    is_cut: bool = False

    @property
    def added(self) -> int:
        """Lines that will be added."""
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        """Lines that will be removed, as far as the document says."""
        return sum(file.removed for file in self.files)

    @property
    def diff(self) -> str:
        """The rows as a unified diff; hunks that begin at 0 have no line numbers yet."""
        lines: list[str] = []
        for file in self.files:
            lines.append(f"--- {'/dev/null' if file.old_path is None else f'a/{file.old_path}'}")
            lines.append(f"+++ {'/dev/null' if file.path is None else f'b/{file.path}'}")
            lines += file.rows
        if self.is_cut:
            lines.append("… more is not shown here")
        return "\n".join(lines) + "\n" if lines else ""


@dataclass(slots=True)
class ProjectionBuilder:
    """Collects files until the budget of rows and files is used up."""

    files: list[ProjectedFile] = field(default_factory=list)
    room: int = MAX_ROWS
    is_cut: bool = False

    def add(
        self,
        old_path: str | None,
        path: str | None,
        rows: Iterable[str],
        added: int,
        removed: int,
    ) -> None:
        """One more file, with as many of its rows as there is room for."""
        if len(self.files) >= MAX_FILES:
            self.is_cut = True
            return
        kept: list[str] = []
        for row in rows:
            if self.room <= 0:
                self.is_cut = True
                break
            kept.append(row)
            self.room -= 1
        self.files.append(ProjectedFile(old_path, path, tuple(kept), added, removed))

    def build(self) -> Projection:
        """What was collected."""
        return Projection(tuple(self.files), self.is_cut)


def added_hunk(start: int, rows: Sequence[str]) -> list[str]:
    """A hunk of added rows only, at line `start` of the file."""
    return [f"@@ -{start},0 +{start},{len(rows)} @@", *(f"+{row}" for row in rows)]
