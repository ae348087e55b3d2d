"""Lines of a file with their own endings, so that untouched ones stay as they are (10.16, 12.18).

New rows get an ending when the file is put together again. Untouched lines never lose theirs;
a last line without one gains one only if something now follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from rho_core.tools.files.text import dominant_newline

_ANY_ENDING = re.compile(r"\r\n|\r|\n")


class Line(NamedTuple):
    """One line. `ending` is None for a new row, which takes the file's own ending.

    An untouched line that has no ending has an empty one.
    """

    text: str
    ending: str | None = None


def split_view_lines(text: str) -> list[Line]:
    """The lines as views number them: only `\\n` separates, a CR before it belongs to it (3.1)."""
    lines = []
    parts = text.split("\n")
    last = parts.pop()
    for part in parts:
        is_crlf = part.endswith("\r")
        lines.append(Line(part[:-1], "\r\n") if is_crlf else Line(part, "\n"))
    if last:
        is_cr = last.endswith("\r")
        lines.append(Line(last[:-1], "\r") if is_cr else Line(last, ""))
    return lines


def split_any_lines(text: str) -> list[Line]:
    """The lines with `\\r\\n`, `\\n` and a lone `\\r` as endings."""
    lines = []
    at = 0
    for match in _ANY_ENDING.finditer(text):
        lines.append(Line(text[at : match.start()], match.group()))
        at = match.end()
    if at < len(text):
        lines.append(Line(text[at:], ""))
    return lines


def join_lines(lines: Iterable[Line], original: str) -> str:
    """The new text of a file that was `original`."""
    newline = _newline_of(original)
    rows = list(lines)
    pieces = [text + (ending or newline) for text, ending in rows]
    if rows:
        text, ending = rows[-1]
        ends_open = bool(original) and not original.endswith(("\n", "\r"))
        if ending is None:
            ending = "" if ends_open else newline
        pieces[-1] = text + ending
    return "".join(pieces)


def _newline_of(text: str) -> str:
    """The dominant ending; a lone CR only where there is no other, as views count by `\\n`."""
    newline = dominant_newline(text)
    if newline == "\r" and "\n" in text:
        crlf = text.count("\r\n")
        return "\r\n" if crlf > text.count("\n") - crlf else "\n"
    return newline
