"""What is kept of a background process' output: numbered pieces, the oldest dropped (17.8, 17.9).

A cursor is the number of a piece; piece 0 is the first that the process ever wrote. One thread
feeds, any may read. Memory is bounded whatever the process writes.
"""

from __future__ import annotations

import codecs
import threading
from collections import deque
from dataclasses import dataclass

from rho_core.text import truncate_utf8

RETAINED_BYTES = 1024 * 1024
RETAINED_PIECES = 8_192
PIECE_BYTES = 8 * 1024
_TAIL_CHARACTERS = 4_096


@dataclass(frozen=True, slots=True)
class _Piece:
    stream: int
    text: str
    cost: int  # bytes as they came


@dataclass(frozen=True, slots=True)
class OutputWindow:
    """A part of the output from a cursor on.

    `next` is the cursor to go on with; `first` the oldest piece that is still there if the asked
    one was dropped, else None; `pending` whether there is more than fitted.
    """

    stdout: str
    stderr: str
    next: int
    first: int | None
    pending: bool


class ProcessOutput:
    """The retained output of one process."""

    def __init__(
        self, *, max_bytes: int = RETAINED_BYTES, max_pieces: int = RETAINED_PIECES
    ) -> None:
        self._max_bytes = max(1, max_bytes)
        self._max_pieces = max(1, max_pieces)
        self._lock = threading.Lock()
        self._pieces: deque[_Piece] = deque()
        self._bytes = 0
        self._end = 0  # the number that the next piece gets
        self._decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in range(2)]

    @property
    def end(self) -> int:
        """The cursor behind everything that was written so far."""
        return self._end

    def feed(self, stream: int, data: bytes) -> None:
        """Take bytes of stdout (0) or stderr (1)."""
        with self._lock:
            for start in range(0, len(data), PIECE_BYTES):
                part = data[start : start + PIECE_BYTES]
                # a character torn between two reads comes with the second
                self._append(stream, self._decoders[stream].decode(part), len(part))

    def close(self) -> None:
        """No more output comes: a character that was never finished is shown as damaged."""
        with self._lock:
            for stream, decoder in enumerate(self._decoders):
                self._append(stream, decoder.decode(b"", final=True), 1)

    def window(self, cursor: int, max_bytes: int) -> OutputWindow:
        """The pieces from `cursor` on, as many as fit `max_bytes`, at least one if there is any."""
        with self._lock:
            oldest = self._end - len(self._pieces)
            start = min(max(cursor, oldest), self._end)
            pieces = list(self._pieces)[start - oldest :]
            first = oldest if cursor < oldest else None
        streams: tuple[list[str], list[str]] = ([], [])
        room, taken = max(0, max_bytes), 0
        for piece in pieces:
            size = len(piece.text.encode())
            if size > room and taken:
                break
            # a piece that never fits is cut, so that no reader is stuck before it
            streams[piece.stream].append(truncate_utf8(piece.text, room))
            room -= min(size, room)
            taken += 1
        return OutputWindow(
            "".join(streams[0]),
            "".join(streams[1]),
            next=start + taken,
            first=first,
            pending=taken < len(pieces),
        )

    def tail(self) -> str:
        """The newest few thousand characters of both streams, in order of arrival."""
        with self._lock:
            parts: list[str] = []
            size = 0
            for piece in reversed(self._pieces):
                parts.append(piece.text)
                size += len(piece.text)
                if size >= _TAIL_CHARACTERS:
                    break
        return "".join(reversed(parts))[-_TAIL_CHARACTERS:]

    def _append(self, stream: int, text: str, cost: int) -> None:
        if not text:
            return
        self._pieces.append(_Piece(stream, text, cost))
        self._bytes += cost
        self._end += 1
        while len(self._pieces) > self._max_pieces or (
            self._bytes > self._max_bytes and len(self._pieces) > 1
        ):
            self._bytes -= self._pieces.popleft().cost
