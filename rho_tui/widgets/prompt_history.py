"""Prompts that were sent before: walking through them, and the file that keeps them (APP5.45)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from rho_core.private_files import make_private_folder, open_private_file, replace_private_file

MAX_STORED_BYTES = 10 * 1024
"""A longer prompt is kept in memory only."""


class PromptHistoryPort(Protocol):
    """Where the composer keeps prompts."""

    async def load(self) -> Sequence[str]:
        """Prompts, oldest first; an unreadable store gives none."""
        ...

    async def append(self, text: str) -> None:
        """Keep a prompt. Raises `OSError` when it can't be written."""
        ...


class PromptRecall:
    """Walks through earlier prompts and brings the draft back at the end."""

    def __init__(self, limit: int = 1000) -> None:
        self._limit = limit
        self._entries: list[str] = []
        self._at: int | None = None
        self._draft = ""

    @property
    def entries(self) -> tuple[str, ...]:
        """Prompts, oldest first."""
        return tuple(self._entries)

    @property
    def walking(self) -> bool:
        """Whether an earlier prompt is shown."""
        return self._at is not None

    def fill(self, entries: Sequence[str]) -> None:
        """Put loaded entries in front of those of this run."""
        self._entries = [*entries, *self._entries][-self._limit :] if self._limit else []
        self.reset()

    def add(self, text: str) -> bool:
        """Remember a prompt; False for blank text and for a repetition of the newest."""
        self.reset()
        if not self._limit or not text.strip() or (self._entries and self._entries[-1] == text):
            return False
        self._entries.append(text)
        del self._entries[: -self._limit]
        return True

    def older(self, current: str) -> str | None:
        """The prompt before; `current` is kept as the draft when the walk begins."""
        if self._at is None:
            if not self._entries:
                return None
            self._draft, self._at = current, len(self._entries)
        if self._at == 0:
            return None
        self._at -= 1
        return self._entries[self._at]

    def newer(self) -> str | None:
        """The prompt after, at the end the draft; None when no walk is on."""
        if self._at is None:
            return None
        self._at += 1
        if self._at < len(self._entries):
            return self._entries[self._at]
        self._at = None
        return self._draft

    def reset(self) -> None:
        """End the walk: what is shown now is the draft."""
        self._at = None
        self._draft = ""


class PromptHistory:
    """A JSON Lines file of prompts, private to the user and bounded.

    One line is `{"text": …}`. Lines that can't be read are skipped, a torn last line never joins
    the next one. Several processes may append; the file is cut back to `limit` when it is loaded
    with more than twice as many. Does nothing before `load` or `append`.
    """

    def __init__(self, path: Path, *, limit: int = 1000) -> None:
        self._path = path
        self._limit = limit
        self._lock = asyncio.Lock()

    async def load(self) -> Sequence[str]:
        """The newest `limit` prompts, oldest first, adjacent repetitions dropped."""
        if self._limit <= 0:
            return ()
        async with self._lock:
            return await asyncio.to_thread(self._load)

    async def append(self, text: str) -> None:
        """Add a prompt at the end; too long ones and a limit of 0 are not stored."""
        record = json.dumps({"text": text}) + "\n"
        if self._limit <= 0 or len(record) > MAX_STORED_BYTES:
            return
        async with self._lock:
            await asyncio.to_thread(self._append, record)

    def _load(self) -> list[str]:
        try:
            raw = self._path.read_bytes()
        except OSError:
            return []
        entries = [entry for line in raw.split(b"\n") if (entry := _entry(line)) is not None]
        if len(entries) > 2 * self._limit:
            with contextlib.suppress(OSError):  # a read-only folder only means a long file
                self._rewrite(entries[-self._limit :])
        kept: list[str] = []
        for entry in entries:
            if not kept or kept[-1] != entry:
                kept.append(entry)
        return kept[-self._limit :]

    def _append(self, record: str) -> None:
        make_private_folder(self._path.parent)
        descriptor = open_private_file(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        with os.fdopen(descriptor, "rb+", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    record = "\n" + record
            file.write(record.encode())

    def _rewrite(self, entries: Sequence[str]) -> None:
        lines = [json.dumps({"text": entry}) + "\n" for entry in entries]
        replace_private_file(self._path, "".join(lines).encode())


def _entry(line: bytes) -> str | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    text = record.get("text") if isinstance(record, dict) else None
    return text if isinstance(text, str) else None
