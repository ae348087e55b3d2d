"""What `glob` and `grep` share: one read grant for a tree, searched off the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rho_core.authority.capabilities import BuiltInTool, CapabilityRequest, ReadPath
from rho_core.authority.workspace import ResolvedWorkspacePath, Workspace
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    PreparedToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.resources import DirectoryTree, ToolResourceAccess
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput
from rho_core.tools.files.display import display_path
from rho_core.tools.files.resolve import require_workspace, resolve_for_read, revalidate
from rho_core.tools.search.walk import StopReason, Walk

SUMMARY_RESERVE = 512
IsCancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class SearchRoot:
    """Where a search begins: the canonical path, and how paths below it are written."""

    path: Path
    workspace: Path

    @property
    def shown(self) -> str:
        """The root as the model writes it."""
        return display_path(self.path, self.workspace)

    def shown_file(self, path: str) -> str:
        """A file below the root, relative to the workspace: fit for the other tools (30.3)."""
        return display_path(path, self.workspace)


@dataclass(frozen=True, slots=True)
class SearchReport:
    """The text of a finished search and its card facts."""

    text: str
    files: int
    matches: int


async def search_plan(
    name: str,
    path: str,
    context: ToolPreparationContext,
    search: Callable[[SearchRoot, IsCancelled], SearchReport],
) -> PreparedToolInvocation:
    """A plan that reads the tree at `path`; `search` runs in a thread (14.6, 15.12)."""
    workspace = require_workspace(context)
    resolved = await resolve_for_read(workspace, path)
    root = SearchRoot(resolved.path, workspace.root)

    async def execute(tool_context: AuthorizedToolContext) -> ToolOutput:
        dropped = threading.Event()

        def is_cancelled() -> bool:
            return dropped.is_set() or tool_context.cancellation.is_cancelled

        try:
            report = await asyncio.to_thread(_search, workspace, resolved, search, is_cancelled)
        finally:
            dropped.set()  # a thread cannot be cancelled: it looks at this for every entry
        metadata = _metadata(root).with_details(files=report.files, matches=report.matches)
        return ToolOutput.text(report.text, metadata)

    def _search(
        workspace: Workspace,
        resolved: ResolvedWorkspacePath,
        search: Callable[[SearchRoot, IsCancelled], SearchReport],
        is_cancelled: IsCancelled,
    ) -> SearchReport:
        revalidate(workspace, resolved)
        return search(root, is_cancelled)

    return PreparedToolInvocation.resource_aware(
        (ToolResourceAccess.shared(DirectoryTree(resolved.path)),),
        (CapabilityRequest(ReadPath(resolved.path, resolved.scope), BuiltInTool(name)),),
        _metadata(root),
        execute,
    )


def _metadata(root: SearchRoot) -> ToolMetadata:
    return ToolMetadata(ToolOperation.READ, affected_paths=(root.shown,))


def stop_notes(walk: Walk, narrow: str) -> list[str]:
    """Why the search is incomplete, in words; `narrow` names what can be narrowed (14.5)."""
    if walk.stopped is None:
        return []
    if walk.stopped in (StopReason.DEADLINE, StopReason.CANCELLED):
        return [walk.stopped.value]
    return [f"{walk.stopped.value}; narrow {narrow}"]


def skipped_notes(walk: Walk) -> list[str]:
    """What a search without results passed over, so that it is not taken as absent (C11)."""
    counts = []
    if walk.skipped_hidden:
        counts.append(f"{walk.skipped_hidden} hidden (include_hidden searches them)")
    if walk.skipped_ignored:
        counts.append(f"{walk.skipped_ignored} ignored (name one as path to search it)")
    return [f"entries skipped: {', '.join(counts)}"] if counts else []


def with_notes(text: str, notes: Sequence[str]) -> str:
    """`text (note; note)`."""
    return f"{text} ({'; '.join(notes)})" if notes else text


class OutputBudget:
    """Counts the bytes of rows; the summary always has room."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max(0, max_bytes - SUMMARY_RESERVE)

    def take(self, row: str) -> bool:
        """Whether the row still fits; if so its bytes are spent."""
        size = len(row.encode()) + 1
        if size > self._left:
            return False
        self._left -= size
        return True
