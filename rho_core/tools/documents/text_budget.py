"""Extracted text up to its limit, and warnings up to theirs (7.1)."""

from __future__ import annotations

MAX_TEXT_CHARACTERS = 200_000
MAX_WARNINGS = 20
MAX_WARNING_CHARACTERS = 500


class TextFull(Exception):
    """The limit is reached: nothing more needs to be extracted."""


class DocumentText:
    """Collects the text of one document."""

    def __init__(self, limit: int = MAX_TEXT_CHARACTERS) -> None:
        self.is_truncated = False
        self.warnings: list[str] = []
        self._left = limit
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        """Append. Raises `TextFull` when it did not fit as a whole."""
        if len(text) > self._left:
            self._parts.append(text[: self._left])
            self._left = 0
            self.is_truncated = True
            raise TextFull
        self._parts.append(text)
        self._left -= len(text)

    def warn(self, warning: str) -> None:
        """Note something that the reader should know; the list and each entry are bounded."""
        if len(self.warnings) == MAX_WARNINGS - 1:
            self.warnings.append("further warnings are left out")
        if len(self.warnings) >= MAX_WARNINGS:
            return
        if len(warning) > MAX_WARNING_CHARACTERS:
            warning = f"{warning[: MAX_WARNING_CHARACTERS - 3]}..."
        self.warnings.append(warning)

    def text(self) -> str:
        """All of it, without a byte order mark and without blank ends (7.4)."""
        return "".join(self._parts).removeprefix("\ufeff").strip("\n")
