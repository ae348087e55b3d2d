r"""The one safe renderer of terminal output: colours are kept, everything else is defused.

Interpreted: SGR (bold, dim, italic, underline, reverse, strike, 16/256/true colours), `\r`, `\b`,
tabs and the erase-in-line and column codes that progress bars use. All other escape sequences
(OSC, DCS, APC, cursor movement, modes, C1, incomplete ones) are dropped; what remains passes
`clean_text`.

Escapes are read per line and only when a line is drawn, so 50,000 lines cost little until seen.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rho_tui.transcript.rows import Run
from rho_tui.transcript.sanitize import clean_text
from rho_tui.transcript.wrap import TAB_SIZE, cell_height, text_width

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)(?P<args>[0-?]*)[ -/]*(?P<final>[@-~]?)"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # strings
    r"|\x1b[ -/]*[0-~]?"  # other escapes
    r"|[\x00-\x07\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]"
)
_SPECIAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MOVES = re.compile(r"[\r\b]|(?:\x1b\[|\x9b)[0-?]*[ -/]*[GK`]")
_GROWS = re.compile(r"[\tG`]")
_RESET = re.compile(r"(?:\x1b\[|\x9b)0?m")
_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]*)m")

_LOOK_BACK = 2_000
"""Lines to search backwards for the colour in force; older colours are taken as reset."""

_MAX_COLUMN = 10_000


class Sgr(NamedTuple):
    """Graphic state between sequences."""

    fg: str = ""
    bg: str = ""
    flags: frozenset[str] = frozenset()


_PLAIN = Sgr()
_FLAGS_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_FLAGS_OFF = {
    21: {"bold"},
    22: {"bold", "dim"},
    23: {"italic"},
    24: {"underline"},
    27: {"reverse"},
    29: {"strike"},
}


@lru_cache(maxsize=512)
def _key(state: Sgr) -> str:
    words = sorted(state.flags)
    if state.fg:
        words.append(f"fg:{state.fg}")
    if state.bg:
        words.append(f"bg:{state.bg}")
    return " ".join(words)


@lru_cache(maxsize=1024)
def _apply(state: Sgr, args: str) -> Sgr:
    """State after `CSI args m`; unknown numbers are ignored."""
    fg, bg, flags = state
    numbers = [int(part[:9]) if part else 0 for part in re.split("[;:]", args)]
    at = 0
    while at < len(numbers):
        number = numbers[at]
        at += 1
        if number == 0:
            fg, bg, flags = _PLAIN
        elif number in _FLAGS_ON:
            flags |= {_FLAGS_ON[number]}
        elif number in _FLAGS_OFF:
            flags -= _FLAGS_OFF[number]
        elif number in (38, 48):
            color, at = _extended(numbers, at)
            fg, bg = (color or fg, bg) if number == 38 else (fg, color or bg)
        elif number == 39:
            fg = ""
        elif number == 49:
            bg = ""
        elif 30 <= number <= 37:
            fg = str(number - 30)
        elif 40 <= number <= 47:
            bg = str(number - 40)
        elif 90 <= number <= 97:
            fg = str(number - 82)
        elif 100 <= number <= 107:
            bg = str(number - 92)
    return Sgr(fg, bg, flags)


def _extended(numbers: list[int], at: int) -> tuple[str, int]:
    """Colour of `38;5;n` or `38;2;r;g;b` and the index after it."""
    mode = numbers[at] if at < len(numbers) else -1
    if mode == 5:
        index = numbers[at + 1] if at + 1 < len(numbers) else 256
        return (str(index) if index < 256 else ""), at + 2
    if mode == 2:
        parts = numbers[at + 1 : at + 4]
        if len(parts) < 3 or max(parts) > 255:
            return "", at + 4
        return "#{:02x}{:02x}{:02x}".format(*parts), at + 4
    return "", at + 1


class AnsiText:
    """Terminal output that grows by chunks and is read by line.

    A sequence split over chunks is read whole once its rest has arrived; an incomplete one at the
    end is not shown.
    """

    def __init__(self, text: str = "") -> None:
        self._lines: list[str] = [""]
        self._states: dict[int, Sgr] = {}
        self._colored = False
        if text:
            self.feed(text)

    def feed(self, chunk: str) -> int:
        """Add output. Returns the index of the first line that changed."""
        self._colored = self._colored or "\x1b" in chunk or "\x9b" in chunk
        first, *rest = chunk.split("\n")
        changed = len(self._lines) - 1
        self._lines[-1] += first
        self._lines.extend(rest)
        return changed

    def __len__(self) -> int:
        """Number of lines; output that ends in a newline has no further, empty line."""
        count = len(self._lines)
        return count if self._lines[-1] else count - 1

    def runs(self, index: int) -> list[Run]:
        """Styled runs of a line, tabs expanded, without controls."""
        line = self._lines[index]
        state = self._state_before(index) if self._colored else _PLAIN
        if _SPECIAL.search(line) is None and "\t" not in line:
            return [(clean_text(line), _key(state))] if line else []
        runs, after = _interpret(line, state)
        if self._colored:
            self._remember(index + 1, after)
        return runs

    def plain(self, index: int) -> str:
        """Text of a line as it is shown."""
        line = self._lines[index]
        if line.isascii() and line.isprintable():
            return line
        return "".join([text for text, _ in _interpret(line, _PLAIN)[0]])

    def height(self, index: int, width: int) -> int:
        """Rows of a line at a width in cells; plain ASCII costs only its length."""
        line = self._lines[index]
        if not (line.isascii() and line.isprintable()):
            if len(line) <= width and line.isascii() and not _GROWS.search(line):
                return 1  # escapes only take text away
            if _MOVES.search(line) is None and "\t" not in line:
                line = clean_text(_ESCAPE.sub("", line))
            else:
                line = self.plain(index)
        return cell_height(line, width)

    def _state_before(self, index: int) -> Sgr:
        """Graphic state at the start of a line, from the nearest reset or known state above."""
        start, state = max(0, index - _LOOK_BACK), _PLAIN
        for at in range(index, start, -1):
            if at in self._states:
                start, state = at, self._states[at]
                break
            if at < index and _RESET.search(self._lines[at]):
                start = at
                break
        for line in self._lines[start:index]:
            if "\x1b" in line or "\x9b" in line:
                for match in _SGR.finditer(line):
                    state = _apply(state, match.group(1))
        self._remember(index, state)
        return state

    def _remember(self, index: int, state: Sgr) -> None:
        if index >= len(self._lines):
            return  # the line above may still grow
        if len(self._states) > 256:
            self._states.clear()
        self._states[index] = state


def ansi_runs(line: str) -> list[Run]:
    r"""Styled runs of one line of terminal output (a `\n` in it is not expected)."""
    return _interpret(line, _PLAIN)[0]


def _interpret(line: str, state: Sgr) -> tuple[list[Run], Sgr]:
    """Runs of a line and the state after it."""
    line = line.removesuffix("\r")
    if _MOVES.search(line) is None:
        return _interpret_straight(line, state)
    return _interpret_moves(line, state)


def _interpret_straight(line: str, state: Sgr) -> tuple[list[Run], Sgr]:
    runs: list[Run] = []
    at = column = 0
    for match in _ESCAPE.finditer(line):
        column = _add(runs, line[at : match.start()], state, column)
        if match.group("final") == "m":
            state = _apply(state, match.group("args")) if _sgr(match) else state
        at = match.end()
    _add(runs, line[at:], state, column)
    return runs, state


def _sgr(match: re.Match[str]) -> bool:
    return not set(match.group("args")) - set("0123456789;:")


def _add(runs: list[Run], piece: str, state: Sgr, column: int) -> int:
    """Append text to the runs; returns the column after it."""
    if not piece:
        return column
    text = clean_text(piece)
    if "\t" in text:
        parts = text.split("\t")
        text = parts[0]
        at = column + text_width(text)
        for part in parts[1:]:
            gap = TAB_SIZE - at % TAB_SIZE
            text += " " * gap + part
            at += gap + text_width(part)
    runs.append((text, _key(state)))
    return column + text_width(text)


def _interpret_moves(line: str, state: Sgr) -> tuple[list[Run], Sgr]:
    """A line that writes over itself: a buffer of single characters and a cursor."""
    cells: list[Run] = []
    cursor = at = 0
    for match in re.finditer(rf"[\r\b]|{_ESCAPE.pattern}", line):
        cursor = _write(cells, cursor, line[at : match.start()], _key(state))
        at = match.end()
        code = match.group()
        final = match.group("final")
        if code == "\r":
            cursor = 0
        elif code == "\b":
            cursor = max(0, cursor - 1)
        elif final == "m":
            state = _apply(state, match.group("args")) if _sgr(match) else state
        elif final == "K":
            cells = [] if match.group("args") == "2" else cells
            if match.group("args") in ("", "0"):
                del cells[cursor:]
        elif final in ("G", "`"):
            column = match.group("args")
            if not column or column.isdecimal():
                cursor = min(max(int(column[:6] or "1") - 1, 0), _MAX_COLUMN)
    _write(cells, cursor, line[at:], _key(state))
    return _joined(cells), state


def _write(cells: list[Run], cursor: int, piece: str, key: str) -> int:
    for char in clean_text(piece):
        width = TAB_SIZE - cursor % TAB_SIZE if char == "\t" else 1
        if cursor > len(cells):
            cells.extend([(" ", "")] * (cursor - len(cells)))
        if char == "\t":
            cells.extend([(" ", key)] * max(0, cursor + width - len(cells)))
        else:
            cells[cursor : cursor + 1] = [(char, key)]
        cursor += width
    return cursor


def _joined(cells: list[Run]) -> list[Run]:
    runs: list[Run] = []
    for char, key in cells:
        if runs and runs[-1][1] == key:
            runs[-1] = (runs[-1][0] + char, key)
        else:
            runs.append((char, key))
    return runs
