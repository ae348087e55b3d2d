"""ripgrep as an engine for `grep`: it says which files are worth reading (decisions, grep).

The walk, the ignore rules, the matching and the report stay our own; ripgrep gets a batch of files
and names those in which something matches. So the results are the same with it and without it.
Whenever it does anything odd, the files of the batch are simply read.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path

from rho_core.tools.search.rg_pattern import ripgrep_pattern
from rho_core.tools.search.ripgrep_batch import Batch
from rho_core.tools.search.walk import Folder, StopReason, Walk, WalkedFile

#: Files that are read without asking: starting a process costs as much as reading these.
DIRECT_FILES = 256
FIRST_BATCH = 512
LARGEST_BATCH = 16_384
#: Batches with unreadable files fail one by one; a pattern that it refuses fails each time.
_MAX_FAILURES = 3
_OLDEST_VERSION = 13
_VERSION_SECONDS = 5.0
_OPTIONS = (
    "--no-config",
    "--files-with-matches",
    "--max-count=1",
    "--stats",
    "--max-depth=1",
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


class RipgrepSieve:
    """Lets through the files of one search that may match. Blocking.

    Args:
        program: The `rg` to run.
        max_file_bytes: Larger files are let through unseen; what becomes of them is up to `grep`.
    """

    def __init__(self, program: Path, arguments: tuple[str, ...], max_file_bytes: int) -> None:
        limit = f"--max-filesize={max_file_bytes}"
        self._command = [str(program), *_OPTIONS, limit, *arguments]
        self._max_file_bytes = max_file_bytes
        self._works = True
        self._failures = 0
        #: With which batch a folder was asked about; None: its files are by themselves.
        self._asked: dict[Folder, Batch | None] = {}

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

    def sift(
        self, files: Iterator[WalkedFile], walk: Walk, *, by_folder: bool
    ) -> Generator[WalkedFile, None, None]:
        """The files that may match, in order. One batch is searched while the next is walked.

        Args:
            by_folder: `files` are all that the walk yields: folders may be searched as a whole.
        """
        yield from islice(files, DIRECT_FILES)
        running: Batch | None = None
        held: StopReason | None = None
        size = FIRST_BATCH
        try:
            while True:
                following = self._batch(islice(files, size if held is None else 0), by_folder)
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

    def _batch(self, files: Iterator[WalkedFile], by_folder: bool) -> Batch:
        batch = Batch(self._max_file_bytes)
        asked: Folder | None = None
        for file in files:
            batch.files.append(file)
            folder = file.folder
            if not self._works or (folder is not None and folder is asked):
                continue
            if by_folder and folder is not None and self._is_asked(folder, batch):
                asked = folder
            else:
                batch.ask_file(file.path)
            if batch.is_full:
                break
        self._works = self._works and batch.start(self._command)
        return batch

    def _is_asked(self, folder: Folder, batch: Batch) -> bool:
        """Whether a folder is asked about as a whole, with this batch or an earlier one."""
        if folder not in self._asked:
            is_small = folder.files <= LARGEST_BATCH >= batch.asked
            is_asked = folder.is_whole and is_small and batch.ask_folder(folder)
            self._asked[folder] = batch if is_asked else None
        return self._asked[folder] is not None

    def _passed(self, batch: Batch, walk: Walk) -> Iterator[WalkedFile]:
        if not batch.wait(walk.may_continue):
            return
        if batch.was_asked and not batch.is_answered:
            self._failures += 1
            self._works = self._works and batch.is_refused and self._failures < _MAX_FAILURES
        files = batch.files
        batch.files = []  # the batch is kept for the folders that it asked about
        for file in files:
            about: Batch | None = batch
            if not batch.is_about(file):
                about = None if file.folder is None else self._asked.get(file.folder)
            if about is None or about.may_match(file.path):
                yield file
