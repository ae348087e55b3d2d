"""`glob`: find files by the pattern of their path (section 14)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rho_core.authority.capabilities import CapabilityKind
from rho_core.tooling.contract import (
    PreparedToolInvocation,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.values import ToolMetadata, ToolOperation
from rho_core.tools.search.globs import PathGlob
from rho_core.tools.search.tree_tool import (
    IsCancelled,
    OutputBudget,
    SearchReport,
    SearchRoot,
    search_plan,
    skipped_notes,
    stop_notes,
    with_notes,
)
from rho_core.tools.search.walk import StopReason, Walk
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.tools.search.arguments import GlobArguments

_DESCRIPTION = (
    "Find files by glob pattern. Results are sorted, relative to the workspace and fit for the "
    "other tools. Hidden files need include_hidden or a pattern that names the dot; .git and files "
    "that .gitignore or .ignore exclude are skipped; symlinks are not followed."
)
_NARROW = "the pattern or path"


class GlobTool(StructuredTool["GlobArguments"]):
    """Lists the regular files whose path matches. Asks to read the tree."""

    name = "glob"
    description = _DESCRIPTION
    capabilities = (CapabilityKind.READ,)

    def __init__(self, *, max_output_bytes: int = 64_000, use_global_excludes: bool = True) -> None:
        self._max_output_bytes = max_output_bytes
        self._use_global_excludes = use_global_excludes

    def start_metadata(self, arguments: dict[str, Any]) -> ToolMetadata:
        """Nothing but the operation is known before the path is resolved."""
        return ToolMetadata(ToolOperation.READ)

    @classmethod
    def arguments_model(cls) -> type[GlobArguments]:
        """`pattern`, and optionally where and how far to look."""
        from rho_core.tools.search.arguments import GlobArguments

        return GlobArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Parse the pattern before any authority is asked for (14.2)."""
        from rho_core.tools.search.arguments import MAX_RESULTS, clamp

        arguments = self.parse(invocation, context)
        pattern = PathGlob(arguments.pattern)
        limit = clamp(arguments.max_results, MAX_RESULTS)

        def search(root: SearchRoot, is_cancelled: IsCancelled) -> SearchReport:
            walk = Walk(
                root.path,
                include_hidden=arguments.include_hidden or pattern.names_hidden,
                is_cancelled=is_cancelled,
                use_global_excludes=self._use_global_excludes,
            )
            return find_files(walk, pattern, root, limit, self._max_output_bytes)

        return await search_plan("glob", arguments.path, context, search)


def find_files(
    walk: Walk, pattern: PathGlob, root: SearchRoot, limit: int, max_output_bytes: int
) -> SearchReport:
    """Walk and list what matches, at most `limit` paths. Blocking."""
    budget = OutputBudget(max_output_bytes)
    rows: list[str] = []
    for path in _matching(walk, pattern, root.path):
        row = root.shown_file(path)
        if not budget.take(row):
            walk.stopped = StopReason.OUTPUT_LIMIT
            break
        rows.append(row)
        if len(rows) >= limit:
            walk.stopped = StopReason.RESULT_LIMIT
            break
    notes = stop_notes(walk, _NARROW)
    if not rows:
        text = f"no files matching '{pattern.pattern}' under {root.shown}"
        return SearchReport(with_notes(text, [*notes, *skipped_notes(walk)]), 0, 0)
    summary = with_notes(f"{len(rows)} files", notes)
    return SearchReport("\n".join([*rows, "", summary]), len(rows), len(rows))


def _matching(walk: Walk, pattern: PathGlob, root: Path) -> Iterator[str]:
    named = _named_file(pattern, root)
    if named is not None:
        yield named  # asked for by its exact path: hidden or ignored does not matter (C11)
    for file in walk.files():
        if pattern.matches(file.relative) and file.path != named:
            yield file.path


def _named_file(pattern: PathGlob, root: Path) -> str | None:
    """The file that a pattern without wildcards names, unless a link leads to it."""
    literal = pattern.literal
    if literal is None or "/" not in literal or "\0" in literal or literal.startswith("/"):
        return None
    if ".." in literal.split("/") or ".git" in literal.split("/"):
        return None
    path = os.path.normpath(root / literal)
    try:
        is_plain = os.path.realpath(path, strict=True) == path and Path(path).is_file()
    except (OSError, ValueError):
        return None
    return path if is_plain else None
