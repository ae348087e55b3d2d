"""The one gate between untrusted text and the terminal.

Textual passes terminal escapes through every widget, so text from models, tools, files and names
is made harmless here and nowhere else. Control characters become visible control pictures instead
of vanishing, so nobody can hide what a command or a path holds. Tool output that may carry colours
goes through `ansi`, which uses this module for what is left.
"""

from __future__ import annotations

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Marks, embeddings, overrides and isolates that reorder text on screen, annotation and tag
# characters that hide text, and halves of surrogate pairs, which can't be encoded.
_INVISIBLE = (
    "\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff{_INVISIBLE}]")
_UNSAFE_LINE = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff{_INVISIBLE}]")
_NEWLINES = re.compile("\r\n|[\u2028\u2029]")

DELETE_PICTURE = "\u2421"


def _picture(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return DELETE_PICTURE
    if char == "\ufeff":
        return ""
    return REPLACEMENT


def _line_picture(match: re.Match[str]) -> str:
    return "\u2424" if match.group() in "\u2028\u2029" else _picture(match)


def clean_text(text: str) -> str:
    r"""Text that is safe to paint, of any number of lines.

    `\n` and `\t` stay, `\r\n` and Unicode line separators become `\n`. Other C0 controls and DEL
    become control pictures such as `␛`; C1 controls, direction controls, hidden tags and lone
    surrogates become `�`. A byte order mark is dropped. The result is a fixed point.
    """
    if text.isascii() and text.isprintable():
        return text
    if _UNSAFE.search(text) is None:
        return text
    return _UNSAFE.sub(_picture, _NEWLINES.sub("\n", text))


def clean_line(text: str) -> str:
    r"""Like `clean_text` for names, paths and titles: one line, `\n` shows as `␊`, `\t` as `␉`."""
    if text.isprintable() and text.isascii():
        return text
    return _UNSAFE_LINE.sub(_line_picture, text)


def is_clean(text: str) -> bool:
    """Whether `clean_text` would return `text` unchanged."""
    return _UNSAFE.search(text) is None
