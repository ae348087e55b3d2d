"""How paths and names are written for the model and for cards (2.22).

A name is untrusted: one that holds a newline, a control or bidirectional character or bytes that
are no UTF-8 is written quoted with escapes, so that it cannot forge a line of a result.
"""

from __future__ import annotations

import os
from pathlib import PurePath

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"'}
_LINE_SEPARATORS = frozenset("\u0085\u2028\u2029")
_BIDI_CONTROLS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def display_path(path: str | os.PathLike[str], cwd: str | os.PathLike[str]) -> str:
    """`path` relative to `cwd` where it lies inside, `.` for `cwd` itself, else absolute.

    Purely lexical: `.` is dropped and `..` popped, and no link is followed. Separators are `/`.
    """
    base = os.path.normpath(os.fspath(cwd))
    target = PurePath(os.path.normpath(os.path.join(base, os.fspath(path))))  # noqa: PTH118
    shown = target.relative_to(base) if target.is_relative_to(base) else target
    return visible_name(shown.as_posix())


def visible_name(name: str) -> str:
    """`name` as it is if it is harmless, else in double quotes with C-style escapes.

    Bytes that are no UTF-8 (surrogates of the file-system encoding) become `\\xNN`, other
    characters that must not be shown as they are become `\\uNNNN`. The result is valid Unicode.
    """
    if name.isascii() and name.isprintable() and not name.startswith('"'):
        return name
    if not name.startswith('"') and not any(_is_unsafe(character) for character in name):
        return name
    return '"' + "".join(_escaped(character) for character in name) + '"'


def _is_unsafe(character: str) -> bool:
    code = ord(character)
    return (
        code < 0x20
        or 0x7F <= code < 0xA0
        or 0xD800 <= code <= 0xDFFF
        or character in _LINE_SEPARATORS
        or character in _BIDI_CONTROLS
    )


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if not _is_unsafe(character):
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}"
