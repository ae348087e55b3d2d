"""Matching lines with a linear-time regular expression (15.2, 15.3).

RE2 has no look-around and no back-references, and in exchange no pattern can hang the search. A
whole buffer is searched at once; only where a match would cross a line is that line searched again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rho_core.errors import ToolError
from rho_core.tools.files.display import visible_name

MAX_PROGRAM_BYTES = 10 * 1024 * 1024
MAX_PATTERN_CHARACTERS = 64 * 1024
MAX_SPANS = 200
_SHOWN_CHARACTERS = 200
#: Constructs whose meaning differs between a line and a buffer of lines.
_NEEDS_LINES = re.compile(r"\\[Az]|\(\?[a-zA-Z]*-[a-zA-Z]*m")
_UNSUPPORTED = re.compile(r"\(\?<?[=!]|\(\?P=|\(\?>|\\[1-9]|\\k[<{']|\(\?\(|[*+?}]\+")


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A matching line: its number from 1, its bytes, and where in them the match begins."""

    number: int
    line: bytes
    start: int


class LineMatcher:
    """A compiled pattern. Raises `ToolError` (execution) when it does not compile."""

    def __init__(self, pattern: str, *, literal: bool = False, case_sensitive: bool = True) -> None:
        import re2

        shown = visible_name(pattern[:_SHOWN_CHARACTERS])
        if len(pattern) > MAX_PATTERN_CHARACTERS:
            raise ToolError.execution(f"invalid pattern '{shown}…': it is too long")
        options = re2.Options()
        options.log_errors = False
        options.max_mem = MAX_PROGRAM_BYTES
        options.never_capture = True
        options.case_sensitive = case_sensitive
        source = re2.escape(pattern) if literal else pattern
        self._line_by_line = not literal and _NEEDS_LINES.search(pattern) is not None
        try:
            self._regex = re2.compile(("(?m)" + source).encode(), options)
        except UnicodeEncodeError:
            raise ToolError.execution("invalid pattern: it holds a lone surrogate") from None
        except re2.error as error:
            raise ToolError.execution(_explanation(pattern, shown, error)) from None

    def matches(self, content: bytes) -> Iterator[LineMatch]:
        """The matching lines of a file's bytes, in order. Only `\\n` ends a line (3.1)."""
        if not content:
            return
        # to look for one byte is several times faster than to look for two
        body = content.replace(b"\r\n", b"\n") if b"\r" in content else content
        # what ends the last line: a line feed, or one CR where there is none
        body = body[:-1] if body.endswith(b"\n") else body.removesuffix(b"\r")
        yield from self._by_line(body) if self._line_by_line else self._by_buffer(body)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where one line matches, to show it: character ranges, in order, none of them empty."""
        data = line.encode("utf-8", "replace")
        found = itertools.islice(self._regex.finditer(data), MAX_SPANS)
        ranges = [(match.start(), match.end()) for match in found if match.end() > match.start()]
        if len(data) == len(line):
            return ranges
        characters: list[tuple[int, int]] = []
        byte = character = 0
        for start, end in ranges:
            first = character + len(data[byte:start].decode("utf-8", "ignore"))
            character = first + len(data[start:end].decode("utf-8", "ignore"))
            byte = end
            characters.append((first, character))
        return characters

    def _by_line(self, body: bytes) -> Iterator[LineMatch]:
        for number, line in enumerate(body.split(b"\n"), 1):
            found = self._regex.search(line)
            if found is not None:
                yield LineMatch(number, line, found.start())

    def _by_buffer(self, body: bytes) -> Iterator[LineMatch]:
        position, number, counted = 0, 1, 0
        while position <= len(body):
            found = self._regex.search(body, position)
            if found is None:
                return
            begin = body.rfind(b"\n", 0, found.start()) + 1
            end = body.find(b"\n", found.start())
            end = len(body) if end < 0 else end
            number += body.count(b"\n", counted, begin)
            counted = begin
            line = body[begin:end]
            start = found.start() - begin
            if found.end() > end:
                # the match crosses the line's end: what does the line say by itself?
                alone = self._regex.search(line)
                start = -1 if alone is None else alone.start()
            if start >= 0:
                yield LineMatch(number, line, start)
            position = end + 1


def _explanation(pattern: str, shown: str, error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    if isinstance(reason, bytes):
        reason = reason.decode("utf-8", "replace")
    hint = ""
    if _UNSUPPORTED.search(pattern):
        hint = (
            "; look-around, back-references and possessive quantifiers are not supported, "
            "search for a simpler pattern"
        )
    elif "too large" in str(reason):
        hint = "; use a smaller repetition"
    else:
        hint = "; set literal to true to search for the text itself"
    return f"invalid pattern '{shown}': {visible_name(str(reason))}{hint}"
