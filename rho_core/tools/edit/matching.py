"""Finding and replacing exact text whatever the line endings, byte for byte elsewhere (11.4–11.6).

Only line endings are tolerant: `\\r\\n` and `\\r` match `\\n`. What differs between the old and the
new text is replaced, and what they share at their ends stays as it is in the file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from rho_core.errors import ToolError
from rho_core.tools.edit.nearest import describe_missing
from rho_core.tools.files.text import dominant_newline

_MAX_LISTED_LINES = 20
_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Replacement:
    """The new text, how often it was replaced, and the changed lines in it, from 1."""

    text: str
    count: int
    lines: tuple[int, ...]


def normalize_newlines(text: str) -> str:
    """`text` with every line ending as `\\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def replace_text(
    text: str, old: str, new: str, *, replace_all: bool, shown: str, fixed: int = 0
) -> Replacement:
    """Replace `old` by `new` in `text`. Raises `ToolError` (execution) and says why if it can't.

    Exactly one match is needed, or with `replace_all` at least one. Matches don't overlap and are
    taken from left to right. The first `fixed` characters may be matched and always stay.
    """
    normal, needle, wanted = (normalize_newlines(part) for part in (text, old, new))
    starts = _occurrences(normal, needle)
    if not starts:
        raise ToolError.execution(
            f"missing match: found 0 occurrence(s) of old_string in {shown}; nothing was changed. "
            + describe_missing(normal, needle)
        )
    if len(starts) == 1 and not replace_all:
        # a second place that overlaps the first is a second place all the same
        overlapping = normal.find(needle, starts[0] + 1)
        starts += [overlapping] if overlapping >= 0 else []
    if len(starts) > 1 and not replace_all:
        raise ToolError.execution(_ambiguous(normal, starts, shown))
    if needle == wanted:
        raise ToolError.execution("old_string and new_string are the same; nothing was changed")
    return _apply(text, needle, wanted, starts, fixed)


def _occurrences(text: str, needle: str) -> list[int]:
    starts: list[int] = []
    at = text.find(needle) if needle else -1
    while at >= 0:
        starts.append(at)
        at = text.find(needle, at + len(needle))
    return starts


def _apply(text: str, old: str, new: str, starts: list[int], fixed: int) -> Replacement:
    pairs = _pair_positions(text)
    head, tail = _shared_ends(old, new)
    inserted = new[head : len(new) - tail]
    pieces: list[str] = []
    lines: set[int] = set()
    copied = 0
    line = 1
    for start in starts:
        begin = max(fixed, _original(pairs, start + head))
        end = _original(pairs, start + len(old) - tail)
        newline = _newline_at(text, _original(pairs, start))
        written = inserted if newline == "\n" else inserted.replace("\n", newline)
        kept = text[copied:begin]
        line += _count_lines(kept)
        height = _count_lines(written)
        lines.update(range(line, line + height + 1))
        line += height
        pieces += [kept, written]
        copied = end
    pieces.append(text[copied:])
    return Replacement("".join(pieces), len(starts), tuple(sorted(lines)))


def _pair_positions(text: str) -> list[int]:
    """Where in the normalised text each `\\r\\n` of the original became one character."""
    if "\r\n" not in text:
        return []
    return [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))]


def _original(pairs: list[int], position: int) -> int:
    """The original offset of a position in the normalised text."""
    return position + bisect_left(pairs, position)


def _shared_ends(old: str, new: str) -> tuple[int, int]:
    """How many characters `old` and `new` share at the front, and then at the back."""
    room = min(len(old), len(new))
    head = 0
    while head < room and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < room - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def _newline_at(text: str, position: int) -> str:
    """The line ending of the line at `position`: the file's own there, else its dominant one."""
    match = _NEWLINE.search(text, position)
    return match.group() if match else dominant_newline(text)


def _count_lines(text: str) -> int:
    """Line ends as views count them: `\\n` only (3.1)."""
    return text.count("\n")


def _ambiguous(text: str, starts: list[int], shown: str) -> str:
    lines: list[int] = []
    line, copied = 1, 0
    for start in starts[:_MAX_LISTED_LINES]:
        line += text.count("\n", copied, start)
        copied = start
        lines.append(line)
    listed = ", ".join(str(number) for number in dict.fromkeys(lines))
    more = ", …" if len(starts) > _MAX_LISTED_LINES else ""
    return (
        f"ambiguous match: found {len(starts)} occurrence(s) of old_string in {shown}, on lines "
        f"{listed}{more}; nothing was changed. Add surrounding lines so that it is unique, or set "
        "replace_all to change all of them."
    )
