"""Constructs that are open at the end of a stream, and the lines they have taken for good."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rho_tui.transcript.code_rows import CodeRows
from rho_tui.transcript.markdown_parse import Group, parse_groups
from rho_tui.transcript.markdown_table import TableRows

FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})")

_HELD = re.compile(r"^[ \t>]*(?:[-*+=#|~`_:<]+|\d{1,9}[.)]?)?[ \t]*$|^ {0,3}(?:```|~~~)")
_HELD_MAX = 120


def is_undecided(line: str) -> bool:
    """Whether a last, incomplete line may turn out to be structure.

    Such a line is shown once that is decided, so that a `-` under a paragraph doesn't flash as a
    heading's underline.
    """
    return len(line) <= _HELD_MAX and _HELD.search(line) is not None


@dataclass(slots=True)
class OpenList:
    """A list whose finished items are final; parsing goes on at its last item."""

    kind: str
    markup: str
    number: int | None
    """Number of the next item, None in a bullet list."""

    def continues(self, group: Group) -> bool:
        """Whether a parsed group is the rest of this list."""
        return group.kind == self.kind and group.tokens[0].markup == self.markup


class OpenFence:
    """A fence that takes lines until its closing mark; nothing is parsed meanwhile."""

    def __init__(self, opening: re.Match[str], rows: CodeRows) -> None:
        self.rows = rows
        self._indent = len(opening.group(1))
        mark = re.escape(opening.group(2)[0])
        self._closing = re.compile(rf"^ {{0,3}}{mark}{{{len(opening.group(2))},}}[ \t]*$")
        self._maybe_closing = re.compile(rf"^ {{0,3}}{mark}*[ \t]*$")
        self._partial = False

    def closes(self, line: str) -> bool:
        """Whether a line is the closing mark."""
        return self._closing.match(line) is not None

    def take(self, lines: Sequence[str], partial: str = "") -> None:
        """Add complete lines for good, and the incomplete last one until the next call."""
        code = self.rows.code.lines
        first = len(code)
        if self._partial:
            first -= 1
            code.pop()
        code.extend(self._content(line) for line in lines)
        self._partial = bool(partial) and self._maybe_closing.match(partial) is None
        if self._partial:
            code.append(self._content(partial))
        self.rows.code.color_early(len(code) - self._partial)
        self.rows.grow(first)

    def _content(self, line: str) -> str:
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(spaces, self._indent) :]


class OpenTable:
    """A table that takes rows; its header and rule stay as the context to parse more."""

    def __init__(self, context: Sequence[str], rows: TableRows) -> None:
        self.rows = rows
        self._context = list(context)
        self._partial = False
        self.parsed_chars = 0

    def take(self, lines: Sequence[str], partial: str = "") -> int:
        """Add complete lines as long as they belong to the table, and an incomplete row until the
        next call. Returns the number of lines taken."""
        if self._partial:
            self.rows.pop()
        self._partial = False
        taken = self._count(lines) if lines else 0
        for line in lines[:taken]:
            self.rows.add(line)
        if partial.strip() and taken == len(lines) and self._count([partial]):
            self.rows.add(partial)
            self._partial = True
        return taken

    def _count(self, lines: Sequence[str]) -> int:
        text = "\n".join([*self._context, *lines])
        self.parsed_chars += len(text)
        group = parse_groups(text)[0]
        return group.end - len(self._context) if group.kind == "table" else 0
