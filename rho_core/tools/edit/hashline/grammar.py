"""Reading an edit document, strictly for edits and leniently for previews (10.6–10.11)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rho_core.tools.edit.hashline.document import (
    Append,
    Delete,
    InsertAfter,
    InsertBefore,
    Operation,
    Replace,
    Section,
)
from rho_core.tools.files.text import BOM

_TAG = re.compile(r"[0-9A-Fa-f]{4}")
_KEYWORD = re.compile(r"(PUT|CUT)(?![\w$])\s*(.*)", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,9}")
_RANGE = re.compile(r"(?P<start>[^.=-]*?)\s*(?:\.=|\.\.|-)\s*(?P<end>.*)", re.DOTALL)
_MAX_QUOTED = 60


class DocumentError(ValueError):
    """The document cannot be read; the text names the line and says what would be right."""


@dataclass(slots=True)
class _OpenSection:
    path: str
    tag: str
    line: int
    operations: list[Operation] = field(default_factory=list)

    def close(self) -> Section:
        return Section(self.path, self.tag, tuple(self.operations))


def parse_document(text: str) -> tuple[Section, ...]:
    """The sections of `text`, each with operations. Raises `DocumentError`."""
    reader = _Reader(text, lenient=False)
    sections = reader.read()
    if not sections:
        raise DocumentError(
            "there is no section; begin with a header line [path#TAG] copied from a view"
        )
    return sections


def parse_leniently(text: str) -> tuple[Section, ...]:
    """What can be read of a document that may be incomplete; nothing is an error (10.11)."""
    return _Reader(text, lenient=True).read()


class _Reader:
    def __init__(self, text: str, *, lenient: bool) -> None:
        self._lines = text.removeprefix(BOM).split("\n")
        self._lenient = lenient
        self._at = 0
        self._sections: list[_OpenSection] = []

    def read(self) -> tuple[Section, ...]:
        while self._at < len(self._lines):
            line = self._lines[self._at].removeprefix(BOM).strip()
            self._at += 1
            if not line:
                continue
            number = self._at
            try:
                self._line(line)
            except DocumentError as error:
                if not self._lenient:
                    raise DocumentError(f"line {number}: {error}") from None
        if not self._lenient:
            self._require_operations()
        return tuple(section.close() for section in self._sections)

    def _line(self, line: str) -> None:
        if line.startswith("[") and line.endswith("]"):
            self._header(line)
            return
        match = _KEYWORD.match(line)
        if match is None:
            raise DocumentError(_unknown(line))
        rows = self._body() if match[1].upper() == "PUT" else ()
        if not self._sections:
            raise DocumentError(
                f"{_quoted(line)} comes before any header; begin with a line [path#TAG]"
            )
        if match[1].upper() == "CUT":
            self._sections[-1].operations.append(_cut(match[2].strip()))
        elif rows or not self._lenient:
            self._sections[-1].operations.append(_put(match[2].strip(), rows))

    def _header(self, line: str) -> None:
        self._require_operations()
        path, separator, tag = line[1:-1].rpartition("#")
        path, tag = path.strip(), tag.strip()
        if not separator:
            raise DocumentError(f"the header {_quoted(line)} has no tag; write [path#TAG]")
        if not path:
            raise DocumentError(f"the header {_quoted(line)} names no path")
        if not _TAG.fullmatch(tag):
            raise DocumentError(
                f"the tag {_quoted(tag)} is not 4 hexadecimal digits; copy it from a fresh view"
            )
        self._sections.append(_OpenSection(path, tag.upper(), self._at))

    def _require_operations(self) -> None:
        if self._lenient or not self._sections or self._sections[-1].operations:
            return
        section = self._sections[-1]
        raise DocumentError(f"the section of {_quoted(section.path)} has no operations")

    def _body(self) -> tuple[str, ...]:
        """The rows that follow; only a final CR is no part of a row (10.9)."""
        rows = []
        while self._at < len(self._lines) and self._lines[self._at].startswith("+"):
            rows.append(self._lines[self._at][1:].removesuffix("\r"))
            self._at += 1
        return tuple(rows)


def _put(locator: str, rows: tuple[str, ...]) -> Operation:
    _refuse_truncated(locator.removesuffix(":").rstrip(), "PUT ", ":")
    if not locator.endswith(":"):
        raise DocumentError(
            f"PUT {_shortened(locator)} lacks its final colon; write PUT {_shortened(locator)}: "
            "and the rows below it, each with a leading +"
        )
    locator = locator[:-1].strip()
    _refuse_unsupported(locator)
    if locator.startswith(">") and locator[1:].strip() == "$":
        operation: Operation = Append(rows)
    elif locator.startswith("<"):
        operation = InsertBefore(_number(locator[1:].strip()), rows)
    elif locator.startswith(">"):
        operation = InsertAfter(_number(locator[1:].strip()), rows)
    else:
        operation = Replace(*_span(locator), rows)
    if not rows:
        raise DocumentError(
            f"PUT {_shortened(locator)}: has no rows; write each with a leading +, or use CUT to "
            "delete lines"
        )
    return operation


def _cut(locator: str) -> Operation:
    if not locator:
        raise DocumentError("CUT names no lines; write CUT 3 or CUT 3.=5")
    _refuse_unsupported(locator)
    _refuse_truncated(locator.removesuffix(":").rstrip(), "CUT ", "")
    if locator.endswith(":"):
        raise DocumentError("CUT has no body; write it without a colon, such as CUT 3.=5")
    return Delete(*_span(locator))


def _refuse_unsupported(locator: str) -> None:
    if "*" in locator:
        raise DocumentError("block ops (*) are not supported; name lines by number")
    if "@" in locator:
        raise DocumentError("registers (@) are not supported; write the rows out")


def _refuse_truncated(token: str, keyword: str, colon: str) -> None:
    if re.fullmatch(r"[0-9]{1,9}\.", token):
        only = token[:-1]
        raise DocumentError(
            f"the range {_quoted(token)} is truncated; write {keyword}{only}{colon} for one line "
            f"or {keyword}{only}.=M{colon} for more"
        )


def _span(token: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(token)
    if match is None:
        number = _number(token)
        return number, number
    if not match["start"].strip() or not match["end"].strip():
        raise DocumentError(
            f"the range {_quoted(token)} is incomplete; write both ends, such as 3.=5"
        )
    start, end = _number(match["start"].strip()), _number(match["end"].strip())
    if end < start:
        raise DocumentError(f"the range {_quoted(token)} ends before it starts")
    return start, end


def _number(token: str) -> int:
    if not _NUMBER.fullmatch(token) or int(token) == 0:
        raise DocumentError(
            f"{_quoted(token)} is not a line number; they are positive integers from 1"
        )
    return int(token)


def _unknown(line: str) -> str:
    if line.startswith("+"):
        return "a row with a leading + belongs below a PUT line"
    if line.startswith("["):
        return f"the header {_quoted(line)} does not end with ]"
    return (
        f"{_quoted(line)} is neither a header [path#TAG] nor PUT or CUT; rows of text need a "
        "leading +"
    )


def _quoted(text: str) -> str:
    return f"'{_shortened(text)}'"


def _shortened(text: str) -> str:
    shown = text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
    return shown if len(shown) <= _MAX_QUOTED else f"{shown[:_MAX_QUOTED]}…"
