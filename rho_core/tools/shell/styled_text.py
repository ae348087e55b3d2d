r"""Plain text that remembers where a program changed its colours, for people to see later.

The text is exactly `plain_text` of the output, which is what the model reads. The colours stand
beside it as marks, so they can be cut with the text, counted and stored, and no escape sequence is
ever kept. Everything here is linear in the length of the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rho_core.tools.shell.terminal_text import CONTROLS, ESCAPES, plain_text

MAX_STYLE_CHARACTERS = 48 * 1024
"""Bound of all marks of a text, each counted with its offset: about the size of the text itself."""

_TOKENS = re.compile(rf"{ESCAPES.pattern}|[\r\n\b]", re.VERBOSE)
_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]{0,64})m")
_MARK_COST = 12
_MAX_PENDING = 16

Mark = tuple[int, str]
"""Character offset and the arguments of the SGR sequence (`CSI … m`) that stood there."""


@dataclass(frozen=True, slots=True)
class StyledText:
    """Plain text with the colour changes in it, in order; it starts in the default colours."""

    text: str
    marks: tuple[Mark, ...] = ()

    @classmethod
    def read(cls, raw: str) -> StyledText:
        """The output of a program, control sequences applied or dropped as by `plain_text`."""
        if "\x1b[" not in raw and "\x9b" not in raw:
            return cls(plain_text(raw))
        reader = _Reader()
        at = 0
        for match in _TOKENS.finditer(raw):
            reader.write(raw[at : match.start()])
            reader.control(match.group())
            at = match.end()
        reader.write(raw[at:])
        return reader.finish()

    @classmethod
    def join(cls, separator: str, parts: Iterable[StyledText | str]) -> StyledText:
        """The parts with text between them; no part's colours reach into what follows."""
        pieces: list[str] = []
        marks: list[Mark] = []
        length = 0
        for part in parts:
            if pieces:
                pieces.append(separator)
                length += len(separator)
            styled = cls(part) if isinstance(part, str) else part
            for offset, arguments in styled.marks:
                _add(marks, length + offset, arguments)
            pieces.append(styled.text)
            length += len(styled.text)
            _add(marks, length, "0")
        return cls("".join(pieces), tuple(marks))

    def cut(self, start: int, end: int | None = None) -> StyledText:
        """Characters `start` to `end`, in the colours that they have here."""
        end = len(self.text) if end is None else end
        marks: list[Mark] = []
        for offset, arguments in self.marks:
            if offset >= end:
                break
            _add(marks, max(0, offset - start), arguments)
        return StyledText(self.text[start:end], tuple(marks))

    def removesuffix(self, suffix: str) -> StyledText:
        """The text without `suffix`, if it ends with it."""
        size = len(suffix)
        return self.cut(0, len(self.text) - size) if self.text.endswith(suffix) else self

    def styles(self) -> list[list[int | str]]:
        """The marks as JSON: `[[offset, arguments], …]`. Past the bound the middle has no colours.

        What is shown of a long output is its beginning and its end, so those keep theirs.
        """
        front = _affordable(self.marks)
        if front == len(self.marks):
            return [list(mark) for mark in self.marks]
        front = _affordable(self.marks, MAX_STYLE_CHARACTERS // 2)
        back = len(self.marks) - _affordable(self.marks[::-1], MAX_STYLE_CHARACTERS // 2)
        kept = [*self.marks[:front], (self.marks[front][0], "0"), *self.marks[back:]]
        return [list(mark) for mark in kept]


def _affordable(marks: tuple[Mark, ...], limit: int = MAX_STYLE_CHARACTERS) -> int:
    """How many marks from the first on fit the limit."""
    spent = 0
    for count, (_offset, arguments) in enumerate(marks):
        spent += _MARK_COST + len(arguments)
        if spent > limit:
            return count
    return len(marks)


def _resets(arguments: str) -> bool:
    """Whether nothing of what was in force before stays in force."""
    return arguments == "" or arguments.split(";", 1)[0].strip("0") == ""


def _add(marks: list[Mark], offset: int, arguments: str) -> None:
    """Add a mark behind the others; those that no character can show any more go."""
    if _resets(arguments):
        while marks and marks[-1][0] == offset:
            marks.pop()
        if not arguments.strip("0;"):
            arguments = "0"
            if not marks or marks[-1][1] == "0":
                return
    marks.append((offset, arguments))


class _Reader:
    """Follows the output of a program line by line."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._marks: list[Mark] = []
        self._line: list[str | Mark] = []  # text, or a mark whose offset is not known yet
        self._moves = False

    def write(self, text: str) -> None:
        """Text without escape sequences and line movements."""
        if text:
            self._line.append(text)

    def control(self, token: str) -> None:
        r"""An escape sequence, or one of `\n`, `\r` and `\b`."""
        if token == "\n":
            self._end_line()
            self._put("\n")
        elif token in "\r\b":
            self._moves = True
            self._line.append((0, token))
        elif (match := _SGR.fullmatch(token)) is not None:
            self._line.append((0, match.group(1)))

    def finish(self) -> StyledText:
        """The text with its marks."""
        self._end_line()
        return StyledText("".join(self._parts), tuple(self._marks))

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def _end_line(self) -> None:
        line, self._line = self._line, []
        if self._moves:
            self._moves = False
            line = _RedrawnLine(line).pieces()
        for piece in line:
            if isinstance(piece, str):
                self._put(CONTROLS.sub("", piece))
            else:
                _add(self._marks, self._length, piece[1])


class _RedrawnLine:
    """The last state of a line that was drawn over: a row of characters and a cursor."""

    def __init__(self, line: list[str | Mark]) -> None:
        self._cells: list[str] = []
        self._cursor = 0
        self._marks: list[Mark] = []
        self._starts_again = False
        for piece in line:
            if isinstance(piece, str):
                self._write(piece)
            elif piece[1] == "\r":
                self._starts_again = True
            elif piece[1] == "\b":
                self._start_again()
                self._cursor = max(0, self._cursor - 1)
                self._pull_back(self._cursor)
            else:
                _add(self._marks, self._cursor, piece[1])

    def pieces(self) -> list[str | Mark]:
        """The line as text and marks."""
        found: list[str | Mark] = []
        at = 0
        for offset, arguments in self._marks:
            found += ["".join(self._cells[at:offset]), (0, arguments)]
            at = offset
        found.append("".join(self._cells[at:]))
        return found

    def _write(self, text: str) -> None:
        self._start_again()
        for character in text:
            self._cells[self._cursor : self._cursor + 1] = [character]
            self._cursor += 1

    def _start_again(self) -> None:
        """A carriage return that something follows: the line is drawn anew."""
        if self._starts_again:
            self._starts_again = False
            self._cells.clear()
            self._cursor = 0
            self._pull_back(0)

    def _pull_back(self, cursor: int) -> None:
        """Colours set behind the cursor hold from there on; only the latest of them can matter."""
        late: list[str] = []
        while self._marks and self._marks[-1][0] > cursor:
            late.append(self._marks.pop()[1])
        for arguments in late[:_MAX_PENDING][::-1]:
            _add(self._marks, cursor, arguments)
