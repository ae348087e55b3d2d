"""A small text editor without a screen: text, caret, and what keys do to them."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import split_graphemes

_EDIT_KEYS = {
    "backspace": "backspace",
    "ctrl+h": "backspace",
    "delete": "delete",
    "left": "left",
    "right": "right",
    "home": "home",
    "ctrl+a": "home",
    "end": "end",
    "ctrl+e": "end",
    "alt+backspace": "delete_word",
    "ctrl+w": "delete_word",
    "ctrl+u": "delete_to_start",
}


@dataclass(slots=True)
class TextField:
    """Text with a caret between characters; moves and deletes by grapheme."""

    text: str = ""
    caret: int = 0

    def insert(self, text: str) -> None:
        """Put text at the caret; line ends become `\\n`."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.text = self.text[: self.caret] + text + self.text[self.caret :]
        self.caret += len(text)

    def set(self, text: str) -> None:
        """Replace the text; the caret goes to the end."""
        self.text, self.caret = text, len(text)

    def handle(self, key: str) -> bool:
        """Apply an editing key; False when the key edits nothing."""
        name = _EDIT_KEYS.get(key)
        if name is None:
            return False
        match name:
            case "left":
                self.caret = self._before()
            case "right":
                self.caret = self._after()
            case "home":
                self.caret = self.text.rfind("\n", 0, self.caret) + 1
            case "end":
                end = self.text.find("\n", self.caret)
                self.caret = len(self.text) if end < 0 else end
            case "backspace":
                self._cut(self._before(), self.caret)
            case "delete":
                self._cut(self.caret, self._after())
            case "delete_to_start":
                self._cut(self.text.rfind("\n", 0, self.caret) + 1, self.caret)
            case "delete_word":
                head = self.text[: self.caret].rstrip()
                cut = max(head.rfind(" "), head.rfind("\n")) + 1
                self._cut(cut, self.caret)
        return True

    def _cut(self, start: int, end: int) -> None:
        self.text = self.text[:start] + self.text[end:]
        self.caret = start

    def _before(self) -> int:
        edges = [start for start, _end, _cells in _graphemes(self.text) if start < self.caret]
        return edges[-1] if edges else 0

    def _after(self) -> int:
        for _start, end, _cells in _graphemes(self.text):
            if end > self.caret:
                return end
        return len(self.text)


def _graphemes(text: str) -> list[tuple[int, int, int]]:
    if text.isascii():
        return [(at, at + 1, 1) for at in range(len(text))]
    found: list[tuple[int, int, int]] = []
    base = 0
    for line in text.split("\n"):  # a newline has no width and would join the cluster before it
        found.extend(
            (base + start, base + end, cells) for start, end, cells in split_graphemes(line)[0]
        )
        base += len(line) + 1
        if base <= len(text):
            found.append((base - 1, base, 0))
    return found
