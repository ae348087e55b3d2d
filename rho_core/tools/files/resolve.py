"""Paths of a call, resolved once, with refusals as tool errors (2.8–2.11, 2.26–2.28)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from rho_core.authority.workspace import (
    ResolvedWorkspacePath,
    Workspace,
    WorkspaceError,
    WorkspaceErrorKind,
)
from rho_core.errors import ToolError
from rho_core.tooling.contract import ToolPreparationContext

_DENIALS = frozenset(
    {
        WorkspaceErrorKind.PARENT_TRAVERSAL,
        WorkspaceErrorKind.OUTSIDE_GRANTED_ROOTS,
        WorkspaceErrorKind.INVALID_PLATFORM_PATH,
        WorkspaceErrorKind.CHANGED_AFTER_AUTHORIZATION,
    }
)


def require_workspace(context: ToolPreparationContext) -> Workspace:
    """The workspace of a preparation that is not cancelled yet (2.9, 2.10)."""
    if context.cancellation.is_cancelled:
        raise ToolError.cancelled()
    if context.workspace is None:
        raise ToolError.execution("a workspace is required to use files")
    return context.workspace


def path_error(error: WorkspaceError) -> ToolError:
    """How a path refusal reaches the model (2.8)."""
    if error.kind in _DENIALS:
        return ToolError.policy_denied(error.message)
    return ToolError.execution(error.message)


def expand_home(path: str) -> str:
    """`~` and `~/…` as a shell reads them, any other path as it is. Raises `ToolError`.

    Taken literally they would name a folder `~` of the workspace: not what was meant, and whoever
    removed it by that name in a shell would remove the home.
    """
    if path != "~" and not path.startswith(("~/", f"~{os.sep}")):
        return path
    try:
        return str(Path(path).expanduser())
    except RuntimeError:
        raise ToolError.execution("the home is not known; name the whole path") from None


async def resolve_for_read(workspace: Workspace, path: str) -> ResolvedWorkspacePath:
    """The existing target of `path`. Raises `ToolError`."""
    return await _off_loop(lambda: workspace.resolve_for_read(expand_home(path)))


async def resolve_for_write(workspace: Workspace, path: str) -> ResolvedWorkspacePath:
    """The existing or missing target of `path`. Raises `ToolError`."""
    return await _off_loop(lambda: workspace.resolve_for_write(expand_home(path)))


def revalidate(workspace: Workspace, resolved: ResolvedWorkspacePath) -> None:
    """Check the same object again, just before I/O. Blocking. Raises `ToolError` (2.28)."""
    try:
        workspace.revalidate(resolved)
    except WorkspaceError as error:
        raise path_error(error) from None


async def _off_loop(
    resolve: Callable[[], ResolvedWorkspacePath],
) -> ResolvedWorkspacePath:
    try:
        return await asyncio.to_thread(resolve)
    except WorkspaceError as error:
        raise path_error(error) from None
