"""Terminal input that Textual 8.2.8 gets wrong: pastes that hold escapes, and odd Enter keys.

Textual turns a bracketed paste that contains an ESC into single key presses, so that a pasted line
end submits and a pasted control character acts (case D7). It also drops the Alt of ESC CR and names
the Enter of `modifyOtherKeys` by its character (case D13). All of it relies on the pinned version;
tests watch every assumption.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from types import SimpleNamespace

from textual import events
from textual._parser import ParseTimeout
from textual._xterm_parser import XTermParser
from textual.message import Message

PASTE_START = "\x1b[200~"
PASTE_END = "\x1b[201~"

_ALIASES = {
    "shift+\r": "shift+enter",
    "ctrl+\r": "ctrl+enter",
    "alt+\r": "alt+enter",
    "\r": "alt+enter",
}


class PasteSafeParser(XTermParser):
    """Takes bracketed pastes out of the stream whole, before the stock parser sees them."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._paste: list[str] | None = None
        self._held = ""  # the end of a read that may be the start of a marker

    def feed(self, data: str) -> Iterable[Message]:
        """Messages of one read; a paste may span many reads."""
        if not data:
            yield from super().feed(data)
            return
        data = self._held + data
        self._held = ""
        while data:
            if self._paste is None:
                before, marker, data = data.partition(PASTE_START)
                if not marker:
                    before = self._hold_back(before)
                if before:
                    yield from super().feed(before)
                if marker:
                    yield from self._settle()
                    self._paste = []
            else:
                text, marker, data = data.partition(PASTE_END)
                if marker:
                    pasted = "".join([*self._paste, text])
                    self._paste = None
                    # Textual leaves NUL out as well.
                    yield events.Paste(pasted.replace("\x00", ""))
                else:
                    keep = _overlap(text, PASTE_END, 1)
                    self._held = text[len(text) - keep :]
                    self._paste.append(text[: len(text) - keep])

    def _hold_back(self, data: str) -> str:
        """`data` without a tail that may begin a paste; ESC and ESC [ are keys of their own."""
        keep = _overlap(data, PASTE_START, 3)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def _settle(self) -> Iterable[Message]:
        """Decide an ESC that was waiting for more: what follows is a paste."""
        if self._timeout_time is not None:
            self._timeout_time = None
            self._awaiting = self._gen.throw(ParseTimeout())
            while self._tokens:
                yield self._tokens.popleft()


def _overlap(text: str, marker: str, least: int) -> int:
    """Length of the longest end of `text` that is a proper beginning of `marker`, or 0."""
    for size in range(min(len(marker) - 1, len(text)), least - 1, -1):
        if text.endswith(marker[:size]):
            return size
    return 0


def key_name(key: str) -> str:
    """The usual name of a key as Textual reported it."""
    return _ALIASES.get(key, key)


def install_terminal_input() -> None:
    """Make the drivers of this process use the safe parser; call once before the app runs."""
    from textual import _ansi_sequences

    table: dict[str, object] = _ansi_sequences.ANSI_SEQUENCES_KEYS  # type: ignore[assignment] # read-only by annotation only
    table["\x1b\r"] = (SimpleNamespace(value="alt+enter"),)
    name = "win32" if sys.platform == "win32" else "linux_driver"
    driver = import_module(f"textual.drivers.{name}")
    driver.XTermParser = PasteSafeParser  # type: ignore[attr-defined] # the name the driver builds its parser from
