"""Server-sent events from raw bytes (case:H1, case:H2, case:H4).

Lines end at CR, LF or CRLF and nowhere else, and they are looked for in bytes, before decoding:
text splitters tear a JSON payload at U+2028 or U+0085, and decoding chunk by chunk tears
characters. Any way of cutting the same bytes into chunks yields the same events.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_EVENT_BYTES = 16 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its name (`message` when the stream gave none) and its data lines joined."""

    event: str
    data: str


class EventTooLarge(ValueError):
    """A line or an event is longer than the limit; the stream cannot be used any further."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"a streamed event is larger than {limit} bytes")


class SSEParser:
    """Incremental parser. Comments, `id` and `retry` fields are understood and dropped.

    Args:
        max_event_bytes: The most bytes that one line, or the data of one event, may hold.
    """

    __slots__ = ("_bom_open", "_data", "_data_bytes", "_event", "_limit", "_partial", "_skip_lf")

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._partial = bytearray()
        self._bom_open = True
        # a lone CR ends a line at once; if the next byte is its LF, that one ends nothing
        self._skip_lf = False
        self._event = ""
        self._data: list[str] = []
        self._data_bytes = 0

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that `chunk` completes. Raises `EventTooLarge`."""
        if self._skip_lf and chunk:
            self._skip_lf = False
            if chunk[0] == 0x0A:
                chunk = chunk[1:]
        if not chunk:
            return []
        if b"\n" not in chunk and b"\r" not in chunk:
            self._keep(chunk)
            return []
        self._skip_lf = chunk[-1] == 0x0D
        lines = chunk.split(b"\n") if b"\r" not in chunk else _LINE_END.split(chunk)
        tail = lines.pop()
        if self._partial:
            self._keep(lines[0])
            lines[0] = bytes(self._partial)
            self._partial.clear()
        events: list[ServerSentEvent] = []
        for line in lines:
            self._take_line(line, events)
        if tail:
            self._keep(tail)
        return events

    def close(self) -> list[ServerSentEvent]:
        """The last event if the stream ended without its blank line."""
        events: list[ServerSentEvent] = []
        if self._partial:
            line = bytes(self._partial)
            self._partial.clear()
            self._take_line(line, events)
        self._take_line(b"", events)
        return events

    def _keep(self, piece: bytes) -> None:
        if len(self._partial) + len(piece) > self._limit:
            raise EventTooLarge(self._limit)
        self._partial += piece

    def _take_line(self, line: bytes, events: list[ServerSentEvent]) -> None:
        if self._bom_open:
            self._bom_open = False
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                events.append(ServerSentEvent(self._event or "message", "\n".join(self._data)))
                self._data = []
                self._data_bytes = 0
            self._event = ""
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data_bytes += len(value) + 1
            if self._data_bytes > self._limit:
                raise EventTooLarge(self._limit)
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        elif name == b"event":
            self._event = value.removeprefix(b" ").decode("utf-8", "replace")
