"""RE2 patterns in ripgrep's syntax, where both certainly find the same lines (decisions, grep).

ripgrep only names files that are worth reading, so its pattern may match more lines, never fewer.
Anything that is not known to mean the same in both gets no translation: `grep` then does without.
"""

from __future__ import annotations

import re

#: What RE2 means by these, ASCII only; in ripgrep they would be Unicode classes.
_CLASSES = {
    "d": "0-9",
    "w": "0-9A-Za-z_",
    "s": r"\t\n\f\r ",
}
_META = frozenset("\\.+*?()|[]{}^$#&-~")
_REPETITION = re.compile(r"\{\d{1,4}(?:,\d{0,4})?\}")
_MAX_CHARACTERS = 2_000


def ripgrep_pattern(pattern: str, *, literal: bool, case_sensitive: bool) -> str | None:
    """The pattern for ripgrep, with `--fixed-strings` if `literal`; None where it is not certain.

    The pattern is known to compile as RE2.
    """
    if not pattern or len(pattern) > _MAX_CHARACTERS:
        return None
    if any(ord(character) < 32 and character != "\t" for character in pattern):
        return None
    # beyond ASCII, the two may know different versions of Unicode's upper and lower case
    if not case_sensitive and not pattern.isascii():
        return None
    try:
        pattern.encode()
        return pattern if literal else _Translator(pattern).translate()
    except (UnicodeEncodeError, _Uncertain):
        return None


class _Uncertain(Exception):
    """There is a construct of which it is not known that both mean the same."""


class _Translator:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def translate(self) -> str:
        parts = []
        while self._at < len(self._pattern):
            parts.append(self._next())
        return "".join(parts)

    def _take(self) -> str:
        if self._at >= len(self._pattern):
            raise _Uncertain
        character = self._pattern[self._at]
        self._at += 1
        return character

    def _next(self) -> str:
        character = self._take()
        match character:
            case "\\":
                return self._escape()
            case "[":
                return self._bracket()
            case "$":
                return r"(?:\r?$)"  # a line may end with CR LF there; here the CR is taken off
            case "(":
                return self._group()
            case "{":
                found = _REPETITION.match(self._pattern, self._at - 1)
                if found is None:
                    return r"\{"  # RE2 takes it as it is
                self._at = found.end()
                return found.group()
            case "." | "^" | "*" | "+" | "?" | "|" | ")":
                return character
            case _:
                return _quoted(character)

    def _group(self) -> str:
        if not self._pattern.startswith("?", self._at):
            return "("
        if not self._pattern.startswith("?:", self._at):
            raise _Uncertain  # flags and names
        self._at += 2
        return "(?:"

    def _escape(self) -> str:
        character = self._take()
        if character in _CLASSES:
            return f"[{_CLASSES[character]}]"
        if character.lower() in _CLASSES:
            return f"[^{_CLASSES[character.lower()]}]"
        if character == "b":
            return r"(?-u:\b)"
        return _quoted(_escaped(character))

    def _bracket(self) -> str:
        negated = self._pattern.startswith("^", self._at)
        self._at += negated
        members: list[str] = []
        while True:
            character = self._take()
            if character == "]" and members:
                break
            members.append(self._member(character))
        return f"[{'^' if negated else ''}{''.join(members)}]"

    def _member(self, character: str) -> str:
        if character in "[]":
            raise _Uncertain  # a class by name, or a `]` that is a member
        if character == "\\":
            character = self._take()
            if character in _CLASSES:
                return _CLASSES[character]
            character = _escaped(character)
        if not character.isascii():
            raise _Uncertain
        if not self._pattern.startswith("-", self._at) or self._pattern.startswith("-]", self._at):
            return _by_number(character)
        self._at += 1
        last = self._take()
        if last == "\\":
            last = _escaped(self._take())
        if last in "[]" or not last.isascii():
            raise _Uncertain
        return f"{_by_number(character)}-{_by_number(last)}"


def _escaped(character: str) -> str:
    """The character that a backslash before `character` stands for."""
    if character == "t":
        return "\t"
    if character.isalnum() or not character.isascii():
        raise _Uncertain
    return character


def _quoted(character: str) -> str:
    return f"\\{character}" if character in _META else character


def _by_number(character: str) -> str:
    return f"\\x{ord(character):02x}"
