"""ripgrep as an engine for `grep`: it says which files are worth reading (decisions, grep).

The walk, the ignore rules, the matching and the report stay our own; ripgrep gets the paths of a
batch of files and names those in which something matches. So the results are the same with it and
without it. Whenever it does anything odd, the files of the batch are simply read.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from rho_core.tools.search.rg_pattern import ripgrep_pattern
from rho_core.tools.search.walk import StopReason, Walk, WalkedFile

#: Files that are read without asking: starting a process costs as much as reading these.
DIRECT_FILES = 256
FIRST_BATCH = 512
LARGEST_BATCH = 4_096
_MAX_PATH_BYTES = 384 * 1024
#: Batches with unreadable files fail one by one; a pattern that it refuses fails each time.
_MAX_FAILURES = 3
_OLDEST_VERSION = 13
_POLL_SECONDS = 0.05
_VERSION_SECONDS = 5.0
_OPTIONS = (
    "--no-config",
    "--files-with-matches",
    "--null",
    "--color=never",
    "--no-messages",
    # every file is searched as the bytes that it has
    "--no-ignore",
    "--hidden",
    "--text",
    "--encoding=none",
)


def find_ripgrep(path: str | None = None) -> Path | None:
    """The `rg` of the PATH (or of `path`), None if there is none that can be trusted.

    A relative entry of the PATH would let a workspace bring its own. Runs `rg --version` once.
    """
    found = shutil.which("rg", path=path)
    if found is None or not os.path.isabs(found):  # noqa: PTH117
        return None
    try:
        version = subprocess.run(
            [found, "--no-config", "--version"],
            capture_output=True,
            timeout=_VERSION_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
            cwd=os.path.abspath(os.sep),  # noqa: PTH100
            env={},
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    major = re.match(rb"ripgrep (\d{1,4})\.", version)
    if major is None or int(major[1]) < _OLDEST_VERSION:
        return None
    return Path(found)


@dataclass(slots=True)
class _Batch:
    """Files that ripgrep looks at, among others that are read anyway, in order."""

    files: list[WalkedFile]
    asked: set[str] = field(default_factory=set)
    process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()


class RipgrepSieve:
    """Lets through the files of one search that may match. Blocking.

    Args:
        program: The `rg` to run.
        max_file_bytes: Larger files are let through unseen; what becomes of them is up to `grep`.
    """

    def __init__(self, program: Path, arguments: tuple[str, ...], max_file_bytes: int) -> None:
        self._command = [str(program), *_OPTIONS, *arguments]
        self._max_file_bytes = max_file_bytes
        self._works = True
        self._failures = 0

    @classmethod
    def create(
        cls,
        program: Path,
        pattern: str,
        *,
        root: Path,
        literal: bool,
        case_sensitive: bool,
        max_file_bytes: int,
    ) -> RipgrepSieve | None:
        """A sieve for the pattern; None where its results would not certainly be the same.

        A program that lies in the searched tree is not run.
        """
        translated = ripgrep_pattern(pattern, literal=literal, case_sensitive=case_sensitive)
        if translated is None or program.resolve().is_relative_to(root):
            return None
        mode = "--fixed-strings" if literal else "--no-fixed-strings"
        case = "--case-sensitive" if case_sensitive else "--ignore-case"
        arguments = (mode, case, "--regexp", translated, "--")
        return cls(program, arguments, max_file_bytes)

    def sift(self, files: Iterator[WalkedFile], walk: Walk) -> Generator[WalkedFile, None, None]:
        """The files that may match, in order. One batch is searched while the next is walked."""
        yield from islice(files, DIRECT_FILES)
        running: _Batch | None = None
        held: StopReason | None = None
        size = FIRST_BATCH
        try:
            while True:
                following = self._start(islice(files, size)) if held is None else _Batch([])
                if walk.stopped is StopReason.ENTRY_LIMIT:
                    # reached by looking ahead: what came before is still to be searched
                    held, walk.stopped = walk.stopped, None
                if running is not None:
                    done, running = running, following
                    yield from self._passed(done, walk)
                else:
                    running = following
                if walk.stopped is not None or not running.files:
                    break
                size = min(size * 2, LARGEST_BATCH)
        finally:
            if running is not None:
                running.close()
            walk.stopped = walk.stopped or held

    def _start(self, files: Iterator[WalkedFile]) -> _Batch:
        batch = _Batch([])
        room = _MAX_PATH_BYTES
        paths: list[str] = []
        for file in files:
            batch.files.append(file)
            if self._works and self._is_for_ripgrep(file.path):
                room -= len(file.path) * (1 if file.path.isascii() else 4)
                if room >= 0:  # the rest of a batch of very long names is read
                    paths.append(file.path)
        if paths:
            try:
                batch.process = subprocess.Popen(
                    [*self._command, *paths],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=os.path.abspath(os.sep),  # noqa: PTH100
                    env={},
                )
                batch.asked = set(paths)
            except OSError:
                self._works = False
        return batch

    def _is_for_ripgrep(self, path: str) -> bool:
        try:
            status = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - a hot path
        except OSError:
            return False
        # a size of 0 may be a lie, as in /proc
        return stat.S_ISREG(status.st_mode) and 0 < status.st_size <= self._max_file_bytes

    def _passed(self, batch: _Batch, walk: Walk) -> Iterator[WalkedFile]:
        matching = self._matching(batch, walk)
        if walk.stopped is not None:
            return
        if matching is None:
            yield from batch.files
            return
        passed_over = batch.asked - matching
        for file in batch.files:
            if file.path not in passed_over:
                yield file

    def _matching(self, batch: _Batch, walk: Walk) -> set[str] | None:
        """The paths that ripgrep named; None when they are not to be trusted."""
        process = batch.process
        if process is None:
            return None
        while True:
            try:
                output = process.communicate(timeout=_POLL_SECONDS)[0]
                break
            except subprocess.TimeoutExpired:
                if not walk.may_continue():
                    batch.close()
                    return None
        named = set(os.fsdecode(output).split("\0"))
        named.discard("")
        # 0: something matches, 1: nothing does; 2: something went wrong, a file cannot be read
        if process.returncode not in (0, 1) or not named <= batch.asked:
            self._failures += 1
            is_plain_failure = process.returncode == 2 and named <= batch.asked
            self._works = self._works and is_plain_failure and self._failures < _MAX_FAILURES
            return None
        return named
