"""What a person would have read of a program's output, without the terminal's control codes.

The model gets this plain text; the bytes as they came stay in the spill file. Every step is linear
in the length of the text.
"""

from __future__ import annotations

import re

ESCAPES = re.compile(
    r"""
    (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]?                     # CSI: colours, cursor, modes
    | (?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f]) [^\x07\x1b\x9c]* (?:\x07|\x1b\\|\x9c)?  # OSC, DCS …
    | \x1b [ -/]* [0-~]?                                     # two-character escapes
    """,
    re.VERBOSE,
)
CONTROLS = re.compile(r"[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f-\x9f]")


def plain_text(text: str) -> str:
    """Drop escape sequences and control characters; keep the last state of each redrawn line.

    A carriage return starts the line again, a backspace moves back by one; tabs and line feeds
    stay. NUL and other controls are dropped.
    """
    if text.isascii() and text.isprintable():
        return text
    text = ESCAPES.sub("", text)
    if "\r" in text or "\b" in text:
        text = "\n".join(_final_state(line) for line in text.split("\n"))
    return CONTROLS.sub("", text)


def _final_state(line: str) -> str:
    if "\r" in line:
        # the last drawing wins; one that drew nothing leaves what was there
        line = next((part for part in reversed(line.split("\r")) if part), "")
    if "\b" not in line:
        return line
    cells: list[str] = []
    position = 0
    for character in line:
        if character == "\b":
            position = max(0, position - 1)
            continue
        cells[position : position + 1] = [character]
        position += 1
    return "".join(cells)
