"""A bounded, deterministic walk over the regular files of a tree (section 13).

Depth first, the entries of a directory in the order of their names' bytes. Symlinks are neither
followed nor yielded: one read grant covers the tree and nothing else. Blocking: run it in a thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from rho_core.tools.search.ignore import IgnoreRules, rules_for

MAX_ENTRIES = 200_000
MAX_SECONDS = 15.0

_POLL_EVERY = 4
_LISTED_AT_ONCE = 1_024
_IS_DOS = os.sep == "\\"
_name_of = attrgetter("name")


class StopReason(StrEnum):
    """Why a walk ended before the tree did."""

    RESULT_LIMIT = "result limit reached"
    OUTPUT_LIMIT = "output limit reached"
    ENTRY_LIMIT = "scan limit reached"
    DEADLINE = "time limit reached"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, eq=False)
class Folder:
    """A directory of the tree that was listed.

    Attributes:
        path: Absolute.
        files: How many regular files lie in it, not below it.
        is_whole: Whether the walk yields all of these.
    """

    path: str
    files: int
    is_whole: bool


class WalkedFile(NamedTuple):  # made by the ten thousand: a tuple is the quickest to make
    """A regular file: its absolute path, and its path relative to the root with `/`.

    `folder` is where it lies; None for a root that is a file.
    """

    path: str
    relative: str
    folder: Folder | None


class _Listing(NamedTuple):
    """A directory that is being visited."""

    #: The entries and their names as ignore rules see them: `/` after a directory's, empty for
    #: what is neither that nor a regular file.
    visits: Iterator[tuple[os.DirEntry[str], str]]
    folder: Folder
    rules: IgnoreRules
    #: Whether the rules decide on any of the entries.
    decides: bool


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
                yield WalkedFile(str(self._root), self._root.name, None)
            return
        rules = rules_for(self._root, use_global_excludes=self._use_global_excludes)
        root = str(self._root)
        prefix = len(root) if root.endswith("/") else len(root) + 1
        stack = [self._listing(root, rules)]
        while stack:
            listing = stack[-1]
            for entry, name in listing.visits:  # goes on where it was left
                if not self._count():
                    return
                if not name or not self._is_visited(entry, name, listing):
                    continue
                path = entry.path
                if name[-1] == "/":
                    stack.append(self._listing(path, listing.rules.enter(path)))
                    break
                relative = path[prefix:].replace("\\", "/") if _IS_DOS else path[prefix:]
                yield WalkedFile(path, relative, listing.folder)
            else:
                stack.pop()

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

    def _listing(self, directory: str, rules: IgnoreRules) -> _Listing:
        entries = self._entries_of(directory)
        names = [_shown_name(entry) for entry in entries]
        files = [name for name in names if name and name[-1] != "/"]
        decides = bool(rules.ordered) and rules.may_decide(directory, [*filter(None, names)])
        is_whole = (
            ".git" not in files
            and (self._include_hidden or not any(name[0] == "." for name in files))
            and not (decides and files and rules.may_decide(directory, files))
        )
        folder = Folder(directory, len(files), is_whole)
        return _Listing(zip(entries, names, strict=True), folder, rules, decides)

    def _entries_of(self, directory: str) -> list[os.DirEntry[str]]:
        listed: list[os.DirEntry[str]] = []
        try:
            with os.scandir(directory) as entries:
                while part := list(islice(entries, _LISTED_AT_ONCE)):
                    listed += part
                    # one directory may hold millions of names: list no more than may be visited
                    if len(part) == _LISTED_AT_ONCE and (
                        len(listed) > self._max_entries or not self.may_continue()
                    ):
                        break
        except OSError:
            return []
        # the order of code points is that of UTF-8; undecodable names are another matter
        if "".join(map(_name_of, listed)).isascii():
            return sorted(listed, key=_name_of)
        return sorted(listed, key=lambda entry: os.fsencode(entry.name))

    def _is_visited(self, entry: os.DirEntry[str], name: str, listing: _Listing) -> bool:
        """Whether a file or directory is not passed over."""
        if name in (".git", ".git/"):
            return False
        ignored = None
        if listing.decides:
            ignored = listing.rules.verdict(entry.path, name[-1] == "/")
        if ignored:
            self.skipped_ignored += 1
            return False
        if name[0] == "." and not self._include_hidden and ignored is None:
            self.skipped_hidden += 1
            return False
        return True


def _shown_name(entry: os.DirEntry[str]) -> str:
    """See `_Listing.visits`."""
    try:
        if entry.is_file(follow_symlinks=False):
            return entry.name
        return f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else ""
    except OSError:
        return ""
