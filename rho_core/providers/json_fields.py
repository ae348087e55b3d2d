"""Reading fields out of JSON that a server sent: a value of the wrong type counts as absent."""

from __future__ import annotations

import re
from typing import Any

_EMPTY: dict[str, Any] = {}
_SURROGATE = re.compile("[\ud800-\udfff]")


def object_at(value: object, key: str) -> dict[str, Any]:
    """The object under `key`, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else _EMPTY


def list_at(value: object, key: str) -> list[Any]:
    """The array under `key`, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def text_at(value: object, key: str) -> str:
    """The string under `key`, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def count_at(value: object, key: str) -> int | None:
    """The non-negative integer under `key`, or None; a boolean is not a number."""
    found = value.get(key) if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        return None
    return found


class TextJoiner:
    """Makes streamed text valid Unicode: a surrogate pair cut in two is joined, a lone half
    becomes U+FFFD. History cannot hold surrogates (L7)."""

    __slots__ = ("_high",)

    def __init__(self) -> None:
        self._high = ""

    def feed(self, text: str) -> str:
        """The part of the text that is complete."""
        if text.isascii() and not self._high:
            return text
        text = self._high + text
        self._high = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._high = text[-1]
            text = text[:-1]
        if _SURROGATE.search(text) is None:
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def close(self) -> str:
        """What is left at the end: a replacement character for a half that stayed alone."""
        rest = "\ufffd" if self._high else ""
        self._high = ""
        return rest
