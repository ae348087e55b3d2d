"""The text of a grep: rows per file, limits, and a truthful summary (15.5–15.11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from rho_core.tools.search.regex import LineMatch
from rho_core.tools.search.tree_tool import (
    OutputBudget,
    SearchReport,
    SearchRoot,
    skipped_notes,
    stop_notes,
    with_notes,
)
from rho_core.tools.search.walk import StopReason, Walk, WalkedFile

MAX_LINE_CHARACTERS = 200
_LEAD_CHARACTERS = 60
_NARROW = "the pattern, path, or glob"


class OutputMode(StrEnum):
    """What is reported of a file that matches."""

    CONTENT = "content"
    FILES = "files_with_matches"
    COUNT = "count"


@dataclass(slots=True)
class FileHits:
    """The matching lines of one file: how many, and the first of them."""

    total: int = 0
    kept: list[LineMatch] = field(default_factory=list)


class GrepReport:
    """Collects rows until a limit is reached."""

    def __init__(
        self,
        pattern: str,
        root: SearchRoot,
        mode: OutputMode,
        *,
        max_results: int,
        max_per_file: int,
        max_output_bytes: int,
        header: Callable[[str, str], str] | None = None,
    ) -> None:
        self.mode = mode
        self.max_per_file = max_per_file
        self.oversized = 0
        self._pattern = pattern
        self._root = root
        self._left = max_results
        self._header = header
        self._budget = OutputBudget(max_output_bytes)
        self._rows: list[str] = []
        self._files = 0
        self._shown = 0
        self._total = 0
        self._cut_per_file = 0

    def add(self, file: WalkedFile, content: bytes, hits: FileHits) -> StopReason | None:
        """Report a file with matches; a reason when nothing more can be reported."""
        shown_path = self._root.shown_file(file.path)
        if self.mode is OutputMode.CONTENT:
            return self._add_lines(shown_path, content, hits)
        row = shown_path if self.mode is OutputMode.FILES else f"{shown_path}:{hits.total}"
        if not self._budget.take(row):
            return StopReason.OUTPUT_LIMIT
        self._rows.append(row)
        self._files += 1
        self._total += hits.total
        self._left -= 1
        return None if self._left else StopReason.RESULT_LIMIT

    def _add_lines(self, shown_path: str, content: bytes, hits: FileHits) -> StopReason | None:
        header = shown_path
        if self._header is not None:
            header = self._header(shown_path, content.decode("utf-8"))
        rows = [f"{match.number} | {match_text(match)}" for match in hits.kept[: self._left]]
        fitting: list[str] = []
        if self._budget.take(header):
            for row in rows:
                if not self._budget.take(row):
                    break
                fitting.append(row)
        if not fitting:
            return StopReason.OUTPUT_LIMIT
        self._rows += [header, *fitting]
        if hits.total > len(fitting):
            self._rows.append(f"... +{hits.total - len(fitting)} more in this file")
        self._files += 1
        self._shown += len(fitting)
        self._total += hits.total
        self._left -= len(fitting)
        if hits.total > len(fitting) == self.max_per_file:
            self._cut_per_file += 1
        if len(fitting) < len(rows):
            return StopReason.OUTPUT_LIMIT
        return None if self._left else StopReason.RESULT_LIMIT

    def finish(self, walk: Walk) -> SearchReport:
        """The whole text."""
        notes = stop_notes(walk, _NARROW)
        if self._cut_per_file:
            notes.append(
                f"{self._cut_per_file} files truncated by max_per_file; "
                "raise max_per_file or narrow the pattern"
            )
        if self.oversized:
            notes.append(f"{self.oversized} files over 5 MiB skipped")
        if not self._files:
            text = f"no matches for '{self._pattern}' under {self._root.shown}"
            return SearchReport(with_notes(text, [*notes, *skipped_notes(walk)]), 0, 0)
        summary = with_notes(self._summary(), notes)
        text = "\n".join([*self._rows, "", summary])
        return SearchReport(text, self._files, self._total)

    def _summary(self) -> str:
        match self.mode:
            case OutputMode.FILES:
                return f"{self._files} files"
            case OutputMode.COUNT:
                return f"{self._total} matches in {self._files} files"
            case OutputMode.CONTENT if self._shown == self._total:
                return f"{self._total} matches in {self._files} files"
            case OutputMode.CONTENT:
                return f"{self._shown} matches shown ({self._total} total) in {self._files} files"


def match_text(match: LineMatch) -> str:
    """The line, at most 200 characters of it: its beginning, or what is around the match (C4)."""
    line = match.line.decode("utf-8")
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    before = len(match.line[: match.start].decode("utf-8", "replace"))
    if before < MAX_LINE_CHARACTERS - _LEAD_CHARACTERS:
        return line[:MAX_LINE_CHARACTERS] + "…"
    begin = min(before - _LEAD_CHARACTERS, len(line) - MAX_LINE_CHARACTERS)
    end = begin + MAX_LINE_CHARACTERS
    return f"…{line[begin:end]}{'…' if end < len(line) else ''}"
