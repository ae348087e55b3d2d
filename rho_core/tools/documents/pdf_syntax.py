"""As much of PDF's syntax as it takes to judge a file before a library parses it (7.7).

Hostile input: every function is linear in what it looks at, and none recurses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rho_core.tools.documents.archive import DamagedDocument

#: Several times what a file of the largest size that is read has; they take some seconds.
MAX_MARKS = 5_000_000
MAX_DICTIONARY_BYTES = 1024 * 1024
_SPACE = rb"\0\t\n\f\r "
_REGULAR = rb"[^\0\t\n\f\r ()<>\[\]{}/%]"
_COMMENT_OR_BRACKET = rb"%[^\r\n]*+|\(|<<|>>|[\[\]]|<[0-9A-Fa-f" + _SPACE + rb"]*+>?"
#: Names and numbers need no look: they hold nothing of this.
_MARK = re.compile(
    _COMMENT_OR_BRACKET
    + rb"|(?<![^()<>\[\]{}" + _SPACE + rb"])(?:stream|endobj|obj|startxref)(?!" + _REGULAR + rb")"
)  # fmt: skip
_TOKEN = re.compile(_COMMENT_OR_BRACKET + rb"|/" + _REGULAR + rb"*+|" + _REGULAR + rb"++")
_STRING_MARK = re.compile(rb"[()]|\\.", re.DOTALL)
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")
_DECISIVE = frozenset({b"/Length", b"/Filter", b"/Subtype"})


@dataclass(frozen=True, slots=True)
class Reference:
    """An object by its number; generations are not told apart."""

    number: int


#: A token (names with their `/`), a reference, or the tokens in an array.
Value = bytes | Reference | list[bytes]


class MarkReader:
    """Finds brackets and keywords, so many of them in all."""

    def __init__(self, limit: int = MAX_MARKS) -> None:
        self._limit = limit
        self._left = limit

    def marks(self, data: bytes, at: int) -> Iterator[tuple[bytes, int]]:
        """Brackets and keywords from `at` on, each with the position of its end.

        Comments and strings are passed over. Raises `DamagedDocument` for a string without an end
        and when there is too much to look at.
        """
        while mark := _MARK.search(data, at):
            self._left -= 1
            if self._left < 0:
                raise DamagedDocument(
                    f"holds more than {self._limit} arrays, dictionaries and such"
                )
            token, at = mark[0], mark.end()
            if token == b"(":
                at = _string_end(data, at)
            elif token == b"<<" or token[0] not in b"%<":
                yield token, at


def dictionary(data: bytes) -> dict[bytes, Value]:
    """The entries of a stream's dictionary, from after its `<<` to its end.

    Raises `DamagedDocument` if one that matters is there twice, for which one would a library
    take?, and for a dictionary over `MAX_DICTIONARY_BYTES`.
    """
    if len(data) > MAX_DICTIONARY_BYTES:
        raise DamagedDocument(f"has a stream with a dictionary over {MAX_DICTIONARY_BYTES} bytes")
    entries: dict[bytes, Value] = {}
    values = _values(data)
    at = 0
    while at + 1 < len(values):
        key = values[at]
        if not isinstance(key, bytes) or not key.startswith(b"/"):
            at += 1
            continue
        if key in entries and key in _DECISIVE:
            raise DamagedDocument("is damaged: a dictionary has an entry twice")
        entries[key] = values[at + 1]
        at += 2
    return entries


def _values(data: bytes) -> list[Value]:
    """Keys and values one after the other; of what is nested only the tokens in arrays."""
    values: list[Value] = []
    depth = at = 0
    while found := _TOKEN.search(data, at):
        token, at = found[0], found.end()
        if token == b"(":
            at = _string_end(data, at)
        if token.startswith(b"%"):
            continue
        if token in (b">>", b"]"):
            depth -= 1
            if depth < 0:
                break
            continue
        if depth == 0:
            _append(values, token)
        elif depth == 1 and isinstance(values[-1], list):
            values[-1].append(_name(token))
        depth += token in (b"<<", b"[")
    return values


def _append(values: list[Value], token: bytes) -> None:
    if token == b"R" and len(values) > 1:
        number = values[-2]
        if isinstance(number, bytes) and number.isdigit() and len(number) <= 10:
            values[-2:] = [Reference(int(number))]
            return
    values.append([] if token == b"[" else _name(token))


def _name(token: bytes) -> bytes:
    """A name as it is meant; other tokens as they are."""
    if token.startswith(b"/") and b"#" in token:
        return _ESCAPED.sub(lambda escaped: bytes([int(escaped[1], 16)]), token)
    return token


def _string_end(data: bytes, at: int) -> int:
    depth = 1
    for mark in _STRING_MARK.finditer(data, at):
        if mark[0] == b"(":
            depth += 1
        elif mark[0] == b")":
            depth -= 1
            if depth == 0:
                return mark.end()
    raise DamagedDocument("is damaged: a string has no end")
