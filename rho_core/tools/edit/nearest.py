"""Why an exact match failed: the nearest text, and what keeps it from matching.

Only ever a description for the model. Nothing found here is written anywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rho_core.tools.edit.look_alikes import PUNCTUATION
from rho_core.tools.files.numbered import numbered_row

_MAX_CANDIDATES = 3
_MAX_ROWS = 12
_MAX_ROW_CHARACTERS = 200
_MAX_SCANNED_LINES = 50_000
_MAX_COMPARED_LINES = 400
_MAX_WANTED_LINES = 1_000
_MAX_HINT_WORDS = 20
_MAX_COMPARED_CHARACTERS = 2_000
_MIN_SIMILARITY = 0.5
_WORD = re.compile(r"\w+|[^\w\s]")

_ROW_NUMBER = re.compile(r"^ *\d+[:|] ?", re.MULTILINE)
_LOOK_ALIKES = str.maketrans(
    {
        **PUNCTUATION,
        "\u2032": "'",
        "\u2033": '"',
        "\u2026": "...",
        "\ufeff": "",
        "\u200b": "",
    }
)
_ESCAPED = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\'": "'", "\\\\": "\\"}


@dataclass(frozen=True, slots=True)
class _Tolerance:
    """A way to compare lines, and what it means if lines are equal only that way."""

    simplify: Callable[[str], str]
    reason: str


_TOLERANCES = (
    _Tolerance(str.rstrip, "it differs in white space at the ends of lines"),
    _Tolerance(str.strip, "it differs in indentation"),
    _Tolerance(lambda line: " ".join(line.split()), "it differs in white space"),
    _Tolerance(
        lambda line: " ".join(line.translate(_LOOK_ALIKES).split()),
        "it differs in quotes, dashes or special spaces that only look alike",
    ),
    _Tolerance(
        lambda line: " ".join(line.translate(_LOOK_ALIKES).casefold().split()),
        "it differs in upper and lower case",
    ),
)


def describe_missing(text: str, needle: str, *, name: str = "old_string") -> str:
    """One or two sentences and the nearest rows; `text` and `needle` have `\\n` endings only.

    `name` is what the needle is called.
    """
    if not text:
        return "The file is empty."
    rewritten = _rewritten(text, needle, name)
    if rewritten:
        return rewritten
    lines = text.split("\n")[:_MAX_SCANNED_LINES]
    wanted = _core_lines(needle)
    if not wanted:
        return f"{name} is only white space; name the lines around it."
    for tolerance in _TOLERANCES:
        starts = _tolerant_starts(lines, wanted, tolerance.simplify)
        if starts:
            return _candidates(lines, starts, len(wanted), tolerance.reason)
    similar = _most_similar(lines, wanted)
    if similar is None:
        return "Nothing in the file is similar; read it again before the next try."
    return _candidates(lines, [similar], len(wanted), "it is only similar")


def _rewritten(text: str, needle: str, name: str) -> str | None:
    """Typical slips of the caller that explain the failure completely."""
    if _ROW_NUMBER.match(needle) and _ROW_NUMBER.sub("", needle) in text:
        return f"{name} repeats the row numbers of a view; leave them out."
    unescaped = re.sub(r"\\[nt\"'\\]", lambda match: _ESCAPED[match.group()], needle)
    if unescaped != needle and unescaped in text:
        return (
            f'{name} holds escapes such as \\n or \\" as two characters where the file holds '
            "the character itself."
        )
    if needle.strip("\n") != needle and needle.strip("\n") and needle.strip("\n") in text:
        line = text.count("\n", 0, text.find(needle.strip("\n"))) + 1
        return f"Line {line} matches except for the line breaks at the ends of {name}."
    return None


def _core_lines(needle: str) -> list[str]:
    """The needle's lines without blank ones at its ends."""
    lines = needle.split("\n")
    filled = [index for index, line in enumerate(lines) if line.strip()]
    if not filled:
        return []
    return lines[filled[0] : filled[-1] + 1][:_MAX_WANTED_LINES]


def _tolerant_starts(
    lines: list[str], wanted: list[str], simplify: Callable[[str], str]
) -> list[int]:
    """Where the wanted lines occur if they are compared tolerantly, from 0.

    The first line may begin in the middle of a line and the last one may end there.
    """
    simple = [simplify(line) for line in lines]
    first, *middle = [simplify(line) for line in wanted]
    last = middle.pop() if middle else None
    starts: list[int] = []
    for index in range(len(lines) - len(wanted) + 1):
        if last is None:
            found = bool(first) and first in simple[index]
        else:
            end = index + len(wanted) - 1
            found = (
                simple[index].endswith(first)
                and simple[end].startswith(last)
                and simple[index + 1 : end] == middle
            )
        if found:
            starts.append(index)
            if len(starts) > _MAX_CANDIDATES:
                break
    return starts


def _most_similar(lines: list[str], wanted: list[str]) -> int | None:
    """The start of the window that shares most words with the wanted lines, if it shares enough.

    Words are counted instead of compared in order: that is linear, whatever the file holds.
    """
    target = _words(wanted)
    best: tuple[float, int] | None = None
    for index in _plausible_starts(lines, wanted):
        window = _words(lines[index : index + len(wanted)])
        shared = (window & target).total()
        score = 2 * shared / max(1, window.total() + target.total())
        if score >= _MIN_SIMILARITY and (best is None or score > best[0]):
            best = (score, index)
    return None if best is None else best[1]


def _words(lines: list[str]) -> Counter[str]:
    return Counter(_WORD.findall("\n".join(lines[:_MAX_ROWS])[:_MAX_COMPARED_CHARACTERS]))


def _plausible_starts(lines: list[str], wanted: list[str]) -> Iterator[int]:
    """Window starts worth a comparison: those that share a line first, then as many as fit."""
    rare = Counter(line.strip() for line in lines)
    offsets = {
        line.strip(): offset for offset, line in enumerate(wanted) if 0 < rare[line.strip()] <= 20
    }
    shared = [
        max(0, index - offsets[line.strip()])
        for index, line in enumerate(lines)
        if line.strip() in offsets
    ][:_MAX_COMPARED_LINES]
    words = set(re.findall(r"\w{3,}", wanted[0])[:_MAX_HINT_WORDS])
    hinted = [
        index for index, line in enumerate(lines) if words and any(word in line for word in words)
    ][:_MAX_COMPARED_LINES]
    seen = dict.fromkeys([*shared, *hinted])
    yield from list(seen)[:_MAX_COMPARED_LINES] if seen else range(min(len(lines), 100))


def _candidates(lines: list[str], starts: list[int], height: int, reason: str) -> str:
    shown = starts[:_MAX_CANDIDATES]
    where = ", ".join(_span(start, height, len(lines)) for start in shown)
    more = " and more" if len(starts) > len(shown) else ""
    rows: list[str] = []
    for start in shown:
        end = min(len(lines), start + height)
        for index in range(start, min(end, start + _MAX_ROWS)):
            rows.append(numbered_row(index + 1, lines[index], max_characters=_MAX_ROW_CHARACTERS))
        if end - start > _MAX_ROWS:
            rows.append(f"… {end - start - _MAX_ROWS} more lines")
    text = "\n".join(rows)
    return f"Nearest: {where}{more}, but {reason}:\n{text}"


def _span(start: int, height: int, total: int) -> str:
    end = min(total, start + height)
    return f"line {start + 1}" if end == start + 1 else f"lines {start + 1}-{end}"
