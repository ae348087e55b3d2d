"""Cutting text at byte limits without tearing a character (C102)."""

from __future__ import annotations

TRUNCATED = "\n[truncated]"


def floor_boundary(data: bytes, index: int) -> int:
    """The largest UTF-8 character boundary at or below `index`, clamped to the data."""
    index = max(0, min(index, len(data)))
    while 0 < index < len(data) and data[index] & 0xC0 == 0x80:
        index -= 1
    return index


def ceil_boundary(data: bytes, index: int) -> int:
    """The smallest UTF-8 character boundary at or above `index`, clamped to the data."""
    index = max(0, min(index, len(data)))
    while index < len(data) and data[index] & 0xC0 == 0x80:
        index += 1
    return index


def truncate_utf8(
    text: str, max_bytes: int, *, marker: str = TRUNCATED, within: bool = False
) -> str:
    """Keep at most `max_bytes` UTF-8 bytes of `text` and append `marker` where something was cut.

    With `within` the marker counts towards the limit; without it the result may be longer than
    the limit by the marker (2.19).
    """
    if len(text) * 4 <= max_bytes:
        return text
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= max_bytes:
        return text
    room = max_bytes - len(marker.encode()) if within else max_bytes
    return data[: floor_boundary(data, max(0, room))].decode("utf-8", "surrogatepass") + marker
