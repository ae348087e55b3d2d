"""A bounded, deterministic walk over the regular files of a tree (section 13).

Depth first, the entries of a directory in the order of their names' bytes. Symlinks are neither
followed nor yielded: one read grant covers the tree and nothing else. Blocking: run it in a thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from rho_core.tools.search.ignore import IgnoreRules, rules_for

MAX_ENTRIES = 200_000
MAX_SECONDS = 15.0


_POLL_EVERY = 4
_IS_DOS = os.sep == "\\"
_name_of = attrgetter("name")


class StopReason(StrEnum):
    """Why a walk ended before the tree did."""

    RESULT_LIMIT = "result limit reached"
    OUTPUT_LIMIT = "output limit reached"
    ENTRY_LIMIT = "scan limit reached"
    DEADLINE = "time limit reached"
    CANCELLED = "cancelled"


class WalkedFile(NamedTuple):  # made by the ten thousand: a tuple is the quickest to make
    """A regular file: its absolute path, and its path relative to the root with `/`."""

    path: str
    relative: str


class Walk:
    """One walk. Iterate `files` once; `stopped` then says whether it was cut short, and why.

    Args:
        root: A canonical path. A file is a tree of one file (30.2).
        include_hidden: Also yield what begins with a dot; ignore rules still hold.
        is_cancelled: Polled per entry, from the walking thread.
        max_entries, max_seconds: Bounds; directories and unreadable entries count.
        use_global_excludes: Whether the user's git excludes apply.
    """

    def __init__(
        self,
        root: Path,
        *,
        include_hidden: bool = False,
        is_cancelled: Callable[[], bool] = lambda: False,
        max_entries: int = MAX_ENTRIES,
        max_seconds: float = MAX_SECONDS,
        use_global_excludes: bool = True,
    ) -> None:
        self.stopped: StopReason | None = None
        self.skipped_hidden = 0
        self.skipped_ignored = 0
        self._root = root
        self._include_hidden = include_hidden
        self._is_cancelled = is_cancelled
        self._entries = 0
        self._max_entries = max_entries
        self._deadline = time.monotonic() + max_seconds
        self._use_global_excludes = use_global_excludes

    def files(self) -> Iterator[WalkedFile]:
        """The files, in order. Ends early when a bound is met."""
        if not self.may_continue(1):
            return
        if not self._root.is_dir():
            if self._root.is_file():
                yield WalkedFile(str(self._root), self._root.name)
            return
        rules = rules_for(self._root, use_global_excludes=self._use_global_excludes)
        root = str(self._root)
        prefix = len(root) if root.endswith("/") else len(root) + 1
        stack = [self._listing(root, rules)]
        while stack:
            entries, rules, decides = stack[-1]
            entry = next(entries, None)
            if entry is None:
                stack.pop()
                continue
            if not self._count():
                return
            kind = self._kind(entry, rules if decides else None)
            if kind == "directory":
                stack.append(self._listing(entry.path, rules.enter(entry.path)))
            elif kind == "file":
                relative = entry.path[prefix:]
                yield WalkedFile(entry.path, relative.replace("\\", "/") if _IS_DOS else relative)

    def may_continue(self, entries: int = 0) -> bool:
        """Count `entries` and check the bounds: cancellation, then time, then entries (13.6)."""
        if self.stopped is None:
            if self._is_cancelled():
                self.stopped = StopReason.CANCELLED
            elif time.monotonic() >= self._deadline:
                self.stopped = StopReason.DEADLINE
            elif self._entries + entries > self._max_entries:
                self.stopped = StopReason.ENTRY_LIMIT
        self._entries += entries
        return self.stopped is None

    def _count(self) -> bool:
        """Count one entry; the bounds other than the count are looked at now and then."""
        if self._entries % _POLL_EVERY == 0 or self._entries >= self._max_entries:
            return self.may_continue(1)
        self._entries += 1
        return True

    def _listing(
        self, directory: str, rules: IgnoreRules
    ) -> tuple[Iterator[os.DirEntry[str]], IgnoreRules, bool]:
        """The entries, the rules that hold there, and whether these decide on any of them."""
        entries = self._entries_of(directory)
        names = [_shown_name(entry) for entry in entries]
        return iter(entries), rules, bool(entries) and rules.may_decide(directory, names)

    def _entries_of(self, directory: str) -> list[os.DirEntry[str]]:
        listed: list[os.DirEntry[str]] = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    listed.append(entry)
                    # one directory may hold millions of names: list no more than may be visited
                    if len(listed) % 1024 == 0 and (
                        len(listed) > self._max_entries or not self.may_continue()
                    ):
                        break
        except OSError:
            return []
        # the order of code points is that of UTF-8; undecodable names are another matter
        if "".join(map(_name_of, listed)).isascii():
            return sorted(listed, key=_name_of)
        return sorted(listed, key=lambda entry: os.fsencode(entry.name))

    def _kind(self, entry: os.DirEntry[str], rules: IgnoreRules | None) -> str | None:
        """`file` or `directory` for what is visited, None for what is passed over."""
        if entry.name == ".git":
            return None
        try:
            is_directory = entry.is_dir(follow_symlinks=False)
            if not is_directory and not entry.is_file(follow_symlinks=False):
                return None
        except OSError:
            return None
        ignored = None if rules is None else rules.verdict(entry.path, is_directory)
        if ignored:
            self.skipped_ignored += 1
            return None
        if entry.name.startswith(".") and not self._include_hidden and ignored is None:
            self.skipped_hidden += 1
            return None
        return "directory" if is_directory else "file"


def _shown_name(entry: os.DirEntry[str]) -> str:
    """The name as ignore rules see it."""
    try:
        return f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
    except OSError:
        return entry.name
