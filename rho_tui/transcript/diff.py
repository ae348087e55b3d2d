"""A unified diff, parsed leniently: whatever isn't understood stays a line of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from rho_tui.transcript.sanitize import clean_text

_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NOISE = ("diff --git ", "index ")


class LineKind(Enum):
    """What a line of a diff is."""

    CONTEXT = " "
    ADDED = "+"
    REMOVED = "-"
    GAP = "gap"
    """Between hunks."""
    FILE = "file"
    META = "meta"


@dataclass(slots=True)
class DiffLine:
    """One line to show."""

    kind: LineKind
    text: str
    number: int = 0
    """Line number in the new file, for removed lines in the old one; 0 for none."""
    pair: int = -1
    """Index of the line this one replaces or is replaced by, -1 for none."""


@dataclass(slots=True)
class DiffFile:
    """Where a file's lines begin, and its counts."""

    path: str
    first: int
    """Index of its first line."""
    added: int = 0
    removed: int = 0


@dataclass(slots=True)
class Diff:
    """A parsed diff."""

    lines: list[DiffLine] = field(default_factory=list)
    files: list[DiffFile] = field(default_factory=list)

    def path_at(self, index: int, default: str) -> str:
        """Path of the file that a line belongs to."""
        for file in reversed(self.files):
            if file.first <= index:
                return file.path or default
        return default


class _Reader:
    """Position inside the diff while reading it line by line."""

    def __init__(self) -> None:
        self.diff = Diff()
        self.old = self.new = 0
        self.old_left = self.new_left = 0
        self.old_path = ""
        self.numbered = True

    @property
    def in_hunk(self) -> bool:
        return self.old_left > 0 or self.new_left > 0

    def read(self, line: str) -> None:
        if self.in_hunk and (line[:1] in ("+", "-", " ") or not line):
            self._body(line)
        elif (match := _HUNK.match(line)) is not None:
            self._hunk(match)
        elif line.startswith("--- "):
            self.old_path = _path(line)
        elif line.startswith("+++ "):
            path = _path(line)
            self._file(self.old_path if path == "/dev/null" else path)
        elif line.startswith("\\"):
            self._add(LineKind.META, line[1:].strip())
        elif line and not line.startswith(_NOISE):
            self.old_left = self.new_left = 0
            self._add(LineKind.META, line)

    def _add(self, kind: LineKind, text: str, number: int = 0) -> None:
        self.diff.lines.append(DiffLine(kind, text, number))

    def _file(self, path: str) -> None:
        self.diff.files.append(DiffFile(path, len(self.diff.lines)))

    def _hunk(self, match: re.Match[str]) -> None:
        old, old_count, new, new_count = match.groups()
        self.old, self.new = int(old), int(new)
        # a hunk of an edit that is still being written: nobody knows yet where it goes
        self.numbered = bool(self.old or self.new)
        self.old_left = 1 if old_count is None else int(old_count)
        self.new_left = 1 if new_count is None else int(new_count)
        first = self.diff.files[-1].first if self.diff.files else 0
        if any(line.kind is not LineKind.META for line in self.diff.lines[first:][-1:]):
            self._add(LineKind.GAP, "⋯")

    def _body(self, line: str) -> None:
        sign, text = line[:1] or " ", line[1:]
        if not self.diff.files:
            self._file("")
        if sign == "-":
            self._add(LineKind.REMOVED, text, self.old if self.numbered else 0)
            self.diff.files[-1].removed += 1
        elif sign == "+":
            self._add(LineKind.ADDED, text, self.new if self.numbered else 0)
            self.diff.files[-1].added += 1
        else:
            self._add(LineKind.CONTEXT, text, self.new if self.numbered else 0)
        if sign != "+":
            self.old, self.old_left = self.old + 1, self.old_left - 1
        if sign != "-":
            self.new, self.new_left = self.new + 1, self.new_left - 1


def parse_diff(text: str) -> Diff:
    """Lines of a unified diff of any number of files, paired for word-level marks."""
    reader = _Reader()
    for line in clean_text(text).removesuffix("\n").split("\n"):
        reader.read(line)
    pair_changes(reader.diff.lines)
    return reader.diff


def _path(line: str) -> str:
    path = line[4:].split("\t")[0].strip()
    return path[2:] if path.startswith(("a/", "b/")) else path


def pair_changes(lines: list[DiffLine]) -> None:
    """Pair the lines of a block of removals with an equally long block of additions below it."""
    index = 0
    while index < len(lines):
        start = index
        while index < len(lines) and lines[index].kind is LineKind.REMOVED:
            index += 1
        middle = index
        while index < len(lines) and lines[index].kind is LineKind.ADDED:
            index += 1
        if 0 < middle - start == index - middle:
            for offset in range(middle - start):
                lines[start + offset].pair = middle + offset
                lines[middle + offset].pair = start + offset
        index = max(index, start + 1)
