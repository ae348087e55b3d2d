"""What this session last saw of each file, so that nobody's changes are overwritten (30.6, 30.7).

Content is compared by hash of the exact bytes, never by time. A file that this session has never
read or written has no entry and is not stale: an edit must match its content anyway, and a `write`
shows its diff against the content of that moment, which is checked again at the commit.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from rho_core.errors import ToolError, ToolErrorKind


@dataclass(frozen=True, slots=True)
class _Seen:
    digest: str
    written_here: bool


class FileLedger:
    """The content hashes of one session, by canonical path. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[Path, _Seen] = {}

    def record_read(self, path: Path, digest: str) -> None:
        """The session was shown this content. Its own write stays its own."""
        with self._lock:
            known = self._seen.get(path)
            if known is None or known.digest != digest:
                self._seen[path] = _Seen(digest, written_here=False)

    def record_write(self, path: Path, digest: str) -> None:
        """The session wrote this content."""
        with self._lock:
            self._seen[path] = _Seen(digest, written_here=True)

    def is_own_write(self, path: Path, digest: str) -> bool:
        """Whether this content is what the session itself wrote last."""
        with self._lock:
            known = self._seen.get(path)
        return known is not None and known.written_here and known.digest == digest

    def is_fresh(self, path: Path, digest: str) -> bool:
        """Whether this content is what the session last saw, or it never saw the file."""
        with self._lock:
            known = self._seen.get(path)
        return known is None or known.digest == digest

    def check_fresh(self, path: Path, digest: str, shown: str) -> None:
        """Raise a `ToolError` that says what to do if the file changed behind the session."""
        if not self.is_fresh(path, digest):
            raise stale_file(shown)


class StaleFile(ToolError):
    """A file is not what a change was made for. `swapped`: its name now means another file."""

    def __init__(self, shown: str, *, swapped: bool = False) -> None:
        super().__init__(
            ToolErrorKind.EXECUTION,
            f"{shown} changed on disk since it was last read in this session, and was left as it "
            "is. Re-read it with read_file and send the change again, based on its present "
            "content.",
        )
        self.shown = shown
        self.swapped = swapped


def stale_file(shown: str, *, swapped: bool = False) -> StaleFile:
    """The refusal to overwrite what somebody else wrote meanwhile."""
    return StaleFile(shown, swapped=swapped)
