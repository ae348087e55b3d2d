"""`grep`: find lines by regular expression (section 15)."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rho_core.authority.capabilities import CapabilityKind
from rho_core.errors import ToolError
from rho_core.tooling.contract import (
    PreparedToolInvocation,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.values import ToolMetadata, ToolOperation
from rho_core.tools.files.view_header import HeaderStyle
from rho_core.tools.search.globs import PathGlob
from rho_core.tools.search.grep_report import FileHits, GrepReport, OutputMode
from rho_core.tools.search.regex import LineMatcher
from rho_core.tools.search.ripgrep import RipgrepSieve
from rho_core.tools.search.tree_tool import (
    IsCancelled,
    SearchReport,
    SearchRoot,
    search_plan,
)
from rho_core.tools.search.walk import Walk, WalkedFile
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.tools.search.arguments import GrepArguments

MAX_FILE_BYTES = 5 * 1024 * 1024
SNIFF_BYTES = 8 * 1024
_SMALL_BYTES = 64 * 1024
_OPEN_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")
)
_POLL_LINES = 1_024
_DESCRIPTION = (
    "Search the contents of files with a regular expression (RE2 syntax), line by line. Paths are "
    "relative to the workspace. Hidden files need include_hidden; .git, files that .gitignore or "
    ".ignore exclude, binary files and files over 5 MiB are skipped; symlinks are not followed. "
    "output_mode: content (lines), files_with_matches (paths) or count."
)


class GrepTool(StructuredTool["GrepArguments"]):
    """Searches the regular files of a tree. Asks to read the tree.

    Args:
        header: How a file is introduced in content mode; by default its path (15.6).
        ripgrep: An `rg` that may be run, see `find_ripgrep`; the results are the same without.
    """

    name = "grep"
    description = _DESCRIPTION
    capabilities = (CapabilityKind.READ,)

    def __init__(
        self,
        *,
        max_output_bytes: int = 64_000,
        header: HeaderStyle | None = None,
        use_global_excludes: bool = True,
        ripgrep: Path | None = None,
    ) -> None:
        self._max_output_bytes = max_output_bytes
        self._header = header
        self._ripgrep = ripgrep
        self._use_global_excludes = use_global_excludes

    def start_metadata(self, arguments: dict[str, Any]) -> ToolMetadata:
        """Nothing but the operation is known before the path is resolved."""
        return ToolMetadata(ToolOperation.READ)

    @classmethod
    def arguments_model(cls) -> type[GrepArguments]:
        """`pattern`, and optionally where, how and how much."""
        from rho_core.tools.search.arguments import GrepArguments

        return GrepArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Compile the patterns before any authority is asked for (15.2)."""
        from rho_core.tools.search.arguments import MAX_PER_FILE, MAX_RESULTS, clamp

        arguments = self.parse(invocation, context)
        matcher = LineMatcher(
            arguments.pattern, literal=arguments.literal, case_sensitive=arguments.case_sensitive
        )
        mode = _output_mode(arguments.output_mode)
        glob = None if arguments.glob is None else PathGlob(arguments.glob)
        names_hidden = glob is not None and glob.names_hidden

        def search(root: SearchRoot, is_cancelled: IsCancelled) -> SearchReport:
            walk = Walk(
                root.path,
                include_hidden=arguments.include_hidden or names_hidden,
                is_cancelled=is_cancelled,
                use_global_excludes=self._use_global_excludes,
            )
            report = GrepReport(
                arguments.pattern,
                root,
                mode,
                max_results=clamp(arguments.max_results, MAX_RESULTS),
                max_per_file=clamp(arguments.max_per_file, MAX_PER_FILE),
                max_output_bytes=self._max_output_bytes,
                header=self._header,
            )
            return search_tree(walk, matcher, glob, report, self._sieve(arguments, root))

        return await search_plan("grep", arguments.path, context, search)

    def _sieve(self, arguments: GrepArguments, root: SearchRoot) -> RipgrepSieve | None:
        if self._ripgrep is None:
            return None
        return RipgrepSieve.create(
            self._ripgrep,
            arguments.pattern,
            root=root.path,
            literal=arguments.literal,
            case_sensitive=arguments.case_sensitive,
            max_file_bytes=MAX_FILE_BYTES,
        )


def _output_mode(value: str) -> OutputMode:
    try:
        return OutputMode(value)
    except ValueError:
        accepted = ", ".join(mode.value for mode in OutputMode)
        raise ToolError.execution(f"invalid output_mode; use one of: {accepted}") from None


def search_tree(
    walk: Walk,
    matcher: LineMatcher,
    glob: PathGlob | None,
    report: GrepReport,
    sieve: RipgrepSieve | None = None,
) -> SearchReport:
    """Walk, search and report. Blocking."""
    files = walk.files()
    if glob is not None:
        files = (file for file in files if glob.matches(file.relative))
    with contextlib.ExitStack() as on_end:
        if sieve is not None:
            # closed early, it ends what ripgrep still looks at
            sifted = sieve.sift(files, walk, by_folder=glob is None)
            files = on_end.enter_context(contextlib.closing(sifted))
        for file in files:
            content = _read_text(file, report)
            if content is None:
                continue
            hits = _search_file(walk, matcher, content, report)
            if hits.total and is_utf8(content):
                reason = report.add(file, content, hits)
                if reason is not None:
                    walk.stopped = reason
            if walk.stopped is not None:
                break
    return report.finish(walk)


def _search_file(walk: Walk, matcher: LineMatcher, content: bytes, report: GrepReport) -> FileHits:
    hits = FileHits()
    for match in matcher.matches(content):
        hits.total += 1
        if report.mode is OutputMode.FILES:
            break
        if len(hits.kept) < report.max_per_file:
            hits.kept.append(match)
        if hits.total % _POLL_LINES == 0 and not walk.may_continue():
            break
    return hits


def _read_text(file: WalkedFile, report: GrepReport) -> bytes | None:
    """The bytes of a file that may be text; never waits, follows no link (15.4, C1)."""
    try:
        descriptor = os.open(file.path, _OPEN_FLAGS)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > MAX_FILE_BYTES:
            report.oversized += 1
            return None
        # most files are small: one call reads them, one byte more says that they did not grow
        small = 0 < status.st_size <= _SMALL_BYTES
        head = os.read(descriptor, status.st_size + 1 if small else SNIFF_BYTES)
        if head.find(b"\0", 0, SNIFF_BYTES) >= 0:
            return None
        size = len(head)
        if small and size == status.st_size:
            return head
        parts = [head]
        while size <= MAX_FILE_BYTES and (part := os.read(descriptor, 1 << 20)):
            parts.append(part)
            size += len(part)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if size > MAX_FILE_BYTES:  # it grew, or lies about its size as files of /proc do
        report.oversized += 1
        return None
    return b"".join(parts)


def is_utf8(content: bytes) -> bool:
    """Whether the bytes are text; looked at only where something matched."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
