"""Targets that must exist, and what is said when they don't (4.4, 2.8).

The names near a missing file are content of its directory: they are looked up only after read
authority for that directory was granted, so a missing target leads to a plan that reports it.
"""

from __future__ import annotations

import asyncio
import difflib
import os
from itertools import islice
from pathlib import Path

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityRequest,
    PrimaryWorkspace,
    ReadPath,
)
from rho_core.authority.workspace import (
    ResolvedWorkspacePath,
    Workspace,
    WorkspaceError,
    WorkspaceErrorKind,
)
from rho_core.errors import ToolError
from rho_core.tooling.contract import AuthorizedToolContext, PreparedToolInvocation
from rho_core.tooling.resources import DirectoryMembership, ToolResourceAccess
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput
from rho_core.tools.files.display import display_path, visible_name
from rho_core.tools.files.resolve import expand_home, path_error, revalidate

_MAX_NAMES = 2_000
_MAX_SUGGESTIONS = 3


async def existing_target(
    workspace: Workspace, path: str, *, tool: str, action: str
) -> ResolvedWorkspacePath | PreparedToolInvocation:
    """The resolved target, or a plan that reports it as missing with the nearest names.

    `action` begins the report: "could not read". Raises `ToolError` for other refusals.
    """
    path = expand_home(path)
    try:
        return await asyncio.to_thread(workspace.resolve_for_read, path)
    except WorkspaceError as error:
        if error.kind is not WorkspaceErrorKind.MISSING:
            raise path_error(error) from None
    shown = display_path(path, workspace.root)
    missing = ToolError.execution(f"{action} {shown}: it does not exist")
    directory = await asyncio.to_thread(_nearest_directory, workspace, path)
    if directory is None:
        raise missing

    async def report(context: AuthorizedToolContext) -> ToolOutput:
        hint = await asyncio.to_thread(_hint, workspace, directory, path)
        raise ToolError.execution(f"{missing.message}{hint}")

    return PreparedToolInvocation.resource_aware(
        [ToolResourceAccess.shared(DirectoryMembership(directory.path))],
        [CapabilityRequest(ReadPath(directory.path, directory.scope), BuiltInTool(tool))],
        ToolMetadata(operation=ToolOperation.READ, affected_paths=(visible_name(path),)),
        report,
    )


def _nearest_directory(workspace: Workspace, path: str) -> ResolvedWorkspacePath | None:
    """The nearest existing directory of the primary workspace above a missing path."""
    try:
        lexical = workspace.resolve(path)
        for parent in lexical.parents:
            if parent.is_dir():
                found = workspace.resolve_for_read(parent)
                return found if isinstance(found.scope, PrimaryWorkspace) else None
    except (WorkspaceError, OSError):
        return None
    return None


def _hint(workspace: Workspace, directory: ResolvedWorkspacePath, path: str) -> str:
    revalidate(workspace, directory)
    where = display_path(directory.path, workspace.root)
    lexical = workspace.resolve(path)
    try:
        parent = lexical.parent.resolve()
        inside = lexical.name if parent == directory.path else _first_missing(lexical)
        with os.scandir(directory.path) as entries:
            names = [entry.name for entry in islice(entries, _MAX_NAMES)]
    except OSError:
        return ""
    near = _nearest(inside, names)
    if parent != directory.path:
        where = f"{where} (the nearest directory that exists)"
    if not near:
        return f"; nothing in {where} has a similar name"
    return f"; nearest names in {where}: {', '.join(visible_name(name) for name in near)}"


def _first_missing(path: Path) -> str:
    """The name of the topmost component that does not exist."""
    for ancestor in reversed(path.parents):
        if not ancestor.exists():
            return ancestor.name
    return path.name


def _nearest(name: str, names: list[str]) -> list[str]:
    """Names like `name`, case differences first."""
    folded: dict[str, str] = {}
    for candidate in names:
        folded.setdefault(candidate.casefold(), candidate)
    close = difflib.get_close_matches(name.casefold(), folded, n=_MAX_SUGGESTIONS, cutoff=0.6)
    return [folded[key] for key in close]
