"""One question to ripgrep: in which of these files does something match? (decisions, grep)

Folders are asked about as a whole where `grep` reads all of their files: ripgrep lists them itself,
which is much cheaper than a path and a look at the size of every file. It says how many files it
searched; fewer than there are means that some are too large, and only then their sizes are looked
at here.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Callable, Sequence

from rho_core.tools.search.walk import Folder, WalkedFile

#: Of all arguments together: well below what systems allow (1 MiB on macOS).
_MAX_PATH_BYTES = 384 * 1024
_POLL_SECONDS = 0.05
_SEARCHED = re.compile(rb"^(\d{1,9}) files searched$", re.MULTILINE)


class Batch:
    """Files that pass together, in order, and the answer to what was asked with them.

    Attributes:
        files: In order, asked about or not.
        is_answered: Whether there is an answer that can be relied on.
        is_refused: Whether ripgrep said that it could not do its work; a file that it cannot read
            or a pattern that it does not know are enough for that.
    """

    def __init__(self, max_file_bytes: int) -> None:
        self.files: list[WalkedFile] = []
        self.is_answered = False
        self.is_refused = False
        self._max_file_bytes = max_file_bytes
        self._single: set[str] = set()
        self._folders: set[str] = set()
        self._expected = 0
        self._is_complete = False
        self._matching: set[str] = set()
        self._room = _MAX_PATH_BYTES
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_full(self) -> bool:
        """Whether there is no room for further paths."""
        return self._room <= 0

    @property
    def asked(self) -> int:
        """How many files ripgrep is to look at."""
        return self._expected

    def ask_file(self, path: str) -> None:
        """Ask about one file, unless it is too large or a special one."""
        try:
            status = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - a hot path
        except OSError:
            return
        # a size of 0 may be a lie, as in /proc, where reading may also take forever
        if stat.S_ISREG(status.st_mode) and 0 < status.st_size <= self._max_file_bytes:
            self._single.add(path)
            self._expected += 1
            self._use_room(path)

    def ask_folder(self, folder: Folder) -> bool:
        """Ask about all files in a folder; whether that can be done."""
        try:
            status = os.stat(folder.path, follow_symlinks=False)  # noqa: PTH116
        except OSError:
            return False
        if not stat.S_ISDIR(status.st_mode) or status.st_size == 0:  # 0: as in /proc, see above
            return False
        self._folders.add(folder.path)
        self._expected += folder.files
        self._use_room(folder.path)
        return True

    def start(self, command: Sequence[str]) -> bool:
        """Ask, if there is anything to ask; False if the program cannot be started."""
        paths = [*self._folders, *self._single]
        if not paths:
            return True
        try:
            self._process = subprocess.Popen(
                [*command, *paths],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=os.path.abspath(os.sep),  # noqa: PTH100
                env={},
            )
        except OSError:
            return False
        return True

    def wait(self, may_continue: Callable[[], bool]) -> bool:
        """Wait for the answer; False if `may_continue` said no before it came."""
        if self._process is None:
            return True
        while True:
            try:
                output = self._process.communicate(timeout=_POLL_SECONDS)[0]
                break
            except subprocess.TimeoutExpired:
                if not may_continue():
                    self.close()
                    return False
        self._read(output, self._process.returncode)
        return True

    def is_about(self, file: WalkedFile) -> bool:
        """Whether this file was asked about by itself."""
        return file.path in self._single

    def may_match(self, path: str) -> bool:
        """Whether a file that was asked about has to be read."""
        if not self.is_answered or path in self._matching:
            return True
        return not self._is_complete and self._is_too_large(path)

    def close(self) -> None:
        """End the program if it still runs."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    @property
    def was_asked(self) -> bool:
        """Whether the program was run."""
        return self._process is not None

    def _read(self, output: bytes, code: int) -> None:
        paths, separator, statistics = output.rpartition(b"\0")
        named = set(os.fsdecode(paths).split("\0")) if separator else set()
        searched = _SEARCHED.search(statistics)
        if not all(path in self._single or _parent(path) in self._folders for path in named):
            return
        # 0: something matches, 1: nothing does; 2: something went wrong, a file cannot be read
        self.is_refused = code == 2
        if code not in (0, 1) or searched is None:
            return
        self.is_answered = True
        self._matching = named
        self._is_complete = int(searched[1]) == self._expected

    def _is_too_large(self, path: str) -> bool:
        try:
            return os.stat(path, follow_symlinks=False).st_size > self._max_file_bytes  # noqa: PTH116
        except OSError:
            return True

    def _use_room(self, path: str) -> None:
        self._room -= len(path) * (1 if path.isascii() else 4) + 1


def _parent(path: str) -> str:
    return os.path.dirname(path)  # noqa: PTH120 - paths are strings here
