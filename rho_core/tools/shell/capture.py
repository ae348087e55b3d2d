"""Bounded capture of a command's output: head, rolling tail, spill file and live text (16.7, A8).

One thread feeds, another may take the live text. Memory is bounded by the limits, whatever a
command writes.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from rho_core.private_files import make_private_folder, open_private_file

DEFAULT_SPILL_LIMIT = 32 * 1024 * 1024
LIVE_LIMIT = 16 * 1024


class StreamCapture:
    """The head and the tail of one stream, at most `limit` bytes each."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._limit = limit
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(data)
        room = self._limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        if len(data) >= self._limit:
            self._tail.clear()
            self._tail_size = 0
            data = data[-self._limit :]
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= self._limit:
            self._tail_size -= len(self._tail.popleft())

    @property
    def is_complete(self) -> bool:
        """Whether no byte was dropped."""
        return self.total == len(self._head) + self._tail_size

    def head(self) -> str:
        """The beginning, decoded; a character torn at its end is left out."""
        if self.is_complete:
            return (bytes(self._head) + b"".join(self._tail)).decode("utf-8", "replace")
        return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))

    def tail(self) -> str:
        """The end, decoded; a character torn at its beginning is left out."""
        data = b"".join(self._tail)[-self._limit :]
        start = 0
        while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
            start += 1
        return data[start:].decode("utf-8", "replace")


class SpillFile:
    """Keeps the whole output on disk, up to `limit` bytes, once it is too long to show.

    Until then the bytes wait in memory, so that short outputs make no file. A full disk ends the
    file, not the command.
    """

    def __init__(self, folder: Path, threshold: int, limit: int = DEFAULT_SPILL_LIMIT) -> None:
        self.path: Path | None = None
        self.is_truncated = False
        self._folder = folder
        self._threshold = threshold
        self._limit = limit
        self.size = 0
        self._waiting: list[bytes] = []
        self._file: BinaryIO | None = None
        self._failed = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes of either stream, in order of arrival."""
        if self._failed or self.is_truncated:
            return
        if self.size + len(data) > self._limit:
            data = data[: self._limit - self.size]
            self.is_truncated = True
        self.size += len(data)
        if self._file is None:
            self._waiting.append(data)
            if self.size <= self._threshold:
                return
        try:
            if self._file is None:
                self._open()
                data = b"".join(self._waiting)
                self._waiting.clear()
            if self._file is not None:
                self._file.write(data)
        except OSError:
            self._failed = True
            self._waiting.clear()
            self.close()
            self._discard()

    def close(self) -> None:
        """Finish the file; idempotent."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _open(self) -> None:
        make_private_folder(self._folder)
        path = self._folder / f"shell-{secrets.token_hex(8)}.txt"
        descriptor = open_private_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self.path = path

    def _discard(self) -> None:
        # half a file would be named as the whole output
        if self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()
            self.path = None


class LiveText:
    """Decoded output that waits to be shown, both streams in order of arrival.

    Bounded: when a command writes faster than anyone reads, the middle is dropped and said so.
    """

    def __init__(self, notify: Callable[[], object]) -> None:
        self._lock = threading.Lock()
        self._notify = notify
        self._text = ""
        self._dropped = 0
        self._decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in range(2)]

    def feed(self, stream: int, data: bytes) -> None:
        """Take bytes of stream 0 or 1; decodes characters that are torn between reads."""
        with self._lock:
            was_empty = not self._text
            if len(data) > LIVE_LIMIT:
                # nobody can read this much in one tick: show its end only
                self._dropped += len(data) - LIVE_LIMIT
                self._decoders[stream].reset()
                data = data[-LIVE_LIMIT:]
            text = self._text + self._decoders[stream].decode(data)
            if len(text) > 2 * LIVE_LIMIT:
                self._dropped += len(text) - LIVE_LIMIT
                text = text[-LIVE_LIMIT:]
            self._text = text
        if was_empty and text:
            self._notify()

    def take(self) -> str:
        """What arrived since the last call."""
        with self._lock:
            text, dropped = self._text, self._dropped
            self._text, self._dropped = "", 0
        return f"\n[… {dropped} bytes not shown live …]\n{text}" if dropped else text


class OutputCapture:
    """Everything that is kept of one command's two streams."""

    def __init__(
        self,
        limit: int,
        *,
        spill_folder: Path | None = None,
        live: LiveText | None = None,
    ) -> None:
        self.stdout = StreamCapture(limit)
        self.stderr = StreamCapture(limit)
        self.spill = None if spill_folder is None else SpillFile(spill_folder, limit)
        self._streams = (self.stdout, self.stderr)
        self._live = live

    def feed(self, stream: int, data: bytes) -> None:
        """Take bytes of stdout (0) or stderr (1)."""
        self._streams[stream].feed(data)
        if self.spill is not None:
            self.spill.feed(data)
        if self._live is not None:
            self._live.feed(stream, data)

    def close(self) -> None:
        """No more output comes."""
        if self.spill is not None:
            self.spill.close()
