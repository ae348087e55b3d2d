"""Long pastes: kept whole behind a short marker in the composer (APP5.43, case D8)."""

from __future__ import annotations

import re

MAX_INLINE_LINES = 10
MAX_INLINE_CHARS = 1000
MAX_UNFOLD_CHARS = 50_000
"""A marker is unfolded by pasting the same text again, up to this size."""

# Terminal control sequences and controls that no prompt needs; tabs and newlines stay.
_CSI = "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
_OSC = "\x1b[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"
_SEQUENCES = re.compile(f"{_CSI}|{_OSC}|\x1b[ -~]?")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean_paste(text: str) -> str:
    r"""Pasted text for the composer: line ends become `\n`, terminal controls go."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


class PasteStore:
    """The texts behind the markers of one composer."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """What to insert for a paste: the text itself when it is short, else a new marker."""
        lines = text.count("\n") + 1
        if lines <= MAX_INLINE_LINES and len(text) <= MAX_INLINE_CHARS:
            return text
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        marker = f"[pasted {size}]"
        number = 2
        while marker in self._texts and self._texts[marker] != text:
            marker = f"[pasted {size} #{number}]"
            number += 1
        self._texts[marker] = text
        return marker

    def expand(self, text: str) -> str:
        """Text with every marker replaced by what was pasted, in one pass."""
        spans = self.spans(text)
        if not spans:
            return text
        parts: list[str] = []
        at = 0
        for start, end in spans:
            parts.append(text[at:start])
            parts.append(self._texts[text[start:end]])
            at = end
        return "".join([*parts, text[at:]])

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where markers are in `text`, sorted and disjoint."""
        if not self._texts or "[pasted " not in text:
            return []
        pattern = "|".join(re.escape(marker) for marker in self._texts)
        return [match.span() for match in re.finditer(pattern, text)]

    def marker_before(self, line: str, column: int) -> tuple[int, str] | None:
        """Start and text of the marker that ends right before `column`."""
        for start, end in self.spans(line):
            if end == column:
                return start, self._texts[line[start:end]]
        return None

    def clear(self) -> None:
        """Forget all texts."""
        self._texts.clear()
