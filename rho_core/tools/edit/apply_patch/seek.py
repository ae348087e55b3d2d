"""Finding a block of lines, exactly or with more and more tolerance (12.13).

A tolerant match only says where the block is; what was not named to be removed is kept as the file
has it. Each search is linear in the lines of the file and of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rho_core.tools.edit.look_alikes import PUNCTUATION
from rho_core.tools.files.text import BOM

_FOLDED = str.maketrans(PUNCTUATION)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A way to compare lines; `reason` says what it overlooks, empty for the exact one."""

    simplify: Callable[[str], str]
    reason: str


EXACT = Tolerance(lambda line: line, "")
TOLERANCES = (
    EXACT,
    Tolerance(str.rstrip, "white space at the ends of lines"),
    Tolerance(str.strip, "indentation"),
    Tolerance(
        lambda line: line.translate(_FOLDED).strip(),
        "quotes, dashes or special spaces that look alike",
    ),
)


@dataclass(frozen=True, slots=True)
class Found:
    """All places of a block, 0-based, by the strictest comparison that finds any."""

    starts: tuple[int, ...]
    tolerance: Tolerance


class LineIndex:
    """The lines of one file, simplified once per tolerance.

    If it is `marked`, views show a byte order mark in its first line, and a block may repeat it.
    """

    def __init__(self, lines: list[str], *, marked: bool = False) -> None:
        self._lines = lines
        self._is_marked = marked
        self._simplified: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def find(self, block: Sequence[str], start: int, end: int | None = None) -> Found | None:
        """Where `block`, which is not empty, begins at or after `start` and before `end`."""
        for tolerance in TOLERANCES:
            lines = self._by(tolerance)
            wanted = [tolerance.simplify(line) for line in block]
            limit = len(lines) if end is None else min(len(lines), end + len(block) - 1)
            starts = set(_occurrences(lines, wanted, start, limit))
            if self._is_marked and start == 0 and block[0].startswith(BOM):
                unmarked = [tolerance.simplify(block[0][1:]), *wanted[1:]]
                starts.update([0] if lines[: min(limit, len(block))] == unmarked else [])
            if starts:
                return Found(tuple(sorted(starts)), tolerance)
        return None

    def find_at_end(self, block: Sequence[str], start: int) -> Found | None:
        """The block as the last lines of the file."""
        last = len(self._lines) - len(block)
        return self.find(block, last) if last >= start else None

    def _by(self, tolerance: Tolerance) -> list[str]:
        if not tolerance.reason:
            return self._lines
        known = self._simplified.get(tolerance.reason)
        if known is None:
            known = [tolerance.simplify(line) for line in self._lines]
            self._simplified[tolerance.reason] = known
        return known


def _occurrences(lines: Sequence[str], block: Sequence[str], start: int, end: int) -> list[int]:
    """Starts of the block in lines [start, end), by Knuth, Morris and Pratt."""
    borders = [0] * len(block)
    matched = 0
    for index in range(1, len(block)):
        while matched and block[index] != block[matched]:
            matched = borders[matched - 1]
        matched += block[index] == block[matched]
        borders[index] = matched
    starts = []
    matched = 0
    for index in range(start, end):
        while matched and lines[index] != block[matched]:
            matched = borders[matched - 1]
        matched += lines[index] == block[matched]
        if matched == len(block):
            starts.append(index + 1 - matched)
            matched = borders[matched - 1]
    return starts
