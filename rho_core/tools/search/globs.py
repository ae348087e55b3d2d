"""Glob patterns over relative paths, compiled to a linear-time expression (14.2).

`*` and `?` stay within a component, `**` crosses them, `[…]`, `[!…]`, `{a,b}` and `\\` work as in
a shell. A pattern without `/` matches in every directory. A name that equals the pattern literally
always matches, so that `[id].tsx` finds the file of that name (C9).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from rho_core.errors import ToolError
from rho_core.tools.files.display import visible_name

if TYPE_CHECKING:
    import re2

MAX_PATTERN_CHARACTERS = 4_096
MAX_BRACE_DEPTH = 32
_SHOWN_CHARACTERS = 200


class InvalidGlob(ValueError):
    """The pattern does not parse; the message says why."""


class PathGlob:
    """A compiled pattern. Raises `ToolError` (execution) when it does not parse."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._literal = pattern.removeprefix("./")
        self._has_separator = "/" in self._literal
        try:
            self._regex = _compile(self._literal)
        except InvalidGlob as error:
            shown = visible_name(pattern[:_SHOWN_CHARACTERS])
            raise ToolError.execution(f"invalid glob '{shown}': {error}") from None

    def matches(self, relative: str) -> bool:
        """Whether a path relative to the search root matches; undecodable bytes match `?`."""
        if not relative.isascii():
            relative = relative.encode("utf-8", "replace").decode()
        if self._regex.fullmatch(relative.encode()) is not None:
            return True
        return relative == self._literal or (
            not self._has_separator and relative.rpartition("/")[2] == self._literal
        )

    @property
    def names_hidden(self) -> bool:
        """Whether a component of the pattern begins with a dot: hidden entries are asked for."""
        return any(
            part.startswith(".") and part not in (".", "..") for part in self._literal.split("/")
        )

    @property
    def literal(self) -> str | None:
        """The path that the pattern names if it has no wildcards, else None."""
        return None if re.search(r"[*?\[{\\]", self._literal) else self._literal


@lru_cache(maxsize=64)
def _compile(pattern: str) -> re2._Regexp[bytes]:
    import re2

    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise InvalidGlob(f"longer than {MAX_PATTERN_CHARACTERS} characters")
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.dot_nl = True
    try:
        return re2.compile(_Translator(pattern).translate().encode(), options)
    except re2.error as error:
        raise InvalidGlob("too complex" if "large" in str(error) else "cannot be parsed") from None
    except UnicodeEncodeError:
        raise InvalidGlob("holds a lone surrogate") from None


class _Translator:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._parts: list[str] = []

    def translate(self) -> str:
        while self._at < len(self._pattern):
            self._take()
        if self._depth:
            raise InvalidGlob("a '{' is not closed")
        return "".join(self._parts)

    def _take(self) -> None:
        character = self._pattern[self._at]
        self._at += 1
        match character:
            case "*":
                self._star()
            case "?":
                self._parts.append("[^/]")
            case "[":
                self._bracket()
            case "{":
                self._depth += 1
                if self._depth > MAX_BRACE_DEPTH:
                    raise InvalidGlob("braces are nested too deeply")
                self._parts.append("(?:")
            case "}" if self._depth:
                self._depth -= 1
                self._parts.append(")")
            case "}":
                raise InvalidGlob("a '}' has no '{'")
            case "," if self._depth:
                self._parts.append("|")
            case "\\":
                if self._at == len(self._pattern):
                    raise InvalidGlob("ends with a backslash")
                self._parts.append(_quoted(self._pattern[self._at]))
                self._at += 1
            case _:
                self._parts.append(_quoted(character))

    def _star(self) -> None:
        begin = self._at - 1
        while self._pattern[self._at : self._at + 1] == "*":
            self._at += 1
        starts = begin == 0 or self._pattern[begin - 1] in "/{,"
        following = self._pattern[self._at : self._at + 1]
        if self._at - begin != 2 or not starts or following not in ("", "/", "}", ","):
            self._parts.append("[^/]*")
        elif following == "/":
            self._at += 1
            self._parts.append("(?:.*/)?")
        else:
            self._parts.append(".*" if begin == 0 else ".+")

    def _bracket(self) -> None:
        negated = self._pattern[self._at : self._at + 1] in ("!", "^")
        begin = self._at + negated
        # a `]` directly after the opening is a member of the class
        end = self._pattern.find("]", begin + 1)
        if end < 0:
            raise InvalidGlob("a '[' is not closed")
        members = self._pattern[begin:end]
        self._at = end + 1
        ranges: list[str] = []
        index = 0
        while index < len(members):
            first = members[index]
            last = members[index + 2 : index + 3] if members[index + 1 : index + 2] == "-" else ""
            if last:
                if last < first:
                    raise InvalidGlob(f"the range '{first}-{last}' is the wrong way round")
                ranges.append(f"{_quoted(first)}-{_quoted(last)}")
                index += 3
            else:
                ranges.append(_quoted(first))
                index += 1
        # a class never matches a separator
        if negated:
            self._parts.append(f"[^/{''.join(ranges)}]")
        else:
            self._parts.append(f"[{''.join(ranges)}]")


def _quoted(character: str) -> str:
    if character.isalnum() or character in "_/":
        return character
    return f"\\x{{{ord(character):x}}}"
