"""The files that a patch names, resolved once and free of contradictions (12.7–12.11)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from rho_core.authority.workspace import Workspace, WorkspaceError
from rho_core.errors import ToolError
from rho_core.tooling.contract import PreparedToolInvocation
from rho_core.tools.edit.apply_patch.document import (
    AddFile,
    DeleteFile,
    FileOperation,
    UpdateFile,
    named_paths,
)
from rho_core.tools.files.display import display_path, visible_name
from rho_core.tools.files.group_mutation import Target
from rho_core.tools.files.resolve import expand_home, path_error, resolve_for_write
from rho_core.tools.files.targets import existing_target


@dataclass(frozen=True, slots=True)
class PlannedOperation:
    """An operation with its files.

    `source` is what exists now (not for a new file), `written` what has content afterwards (not
    for a removed file); an update in place has both, and they are the same.
    """

    operation: FileOperation
    source: Target | None
    written: Target | None

    def targets(self) -> Iterator[Target]:
        """Each file once, the source first."""
        if self.source is not None:
            yield self.source
        if self.written is not None and self.written is not self.source:
            yield self.written


async def plan_operations(
    workspace: Workspace, operations: Sequence[FileOperation]
) -> list[PlannedOperation] | PreparedToolInvocation:
    """Resolve every path. Raises `ToolError`; a missing source is a plan that reports it."""
    for operation in operations:
        for path in named_paths(operation):
            _require_relative(path)
    planned: list[PlannedOperation] = []
    for operation in operations:
        item = await _plan(workspace, operation)
        if isinstance(item, PreparedToolInvocation):
            return item
        planned.append(item)
    _require_distinct(planned)
    for item in planned:
        if item.written is not None and item.written is not item.source:
            _require_missing(item.written)
    return planned


async def _plan(
    workspace: Workspace, operation: FileOperation
) -> PlannedOperation | PreparedToolInvocation:
    if isinstance(operation, AddFile):
        return PlannedOperation(operation, None, await _new_file(workspace, operation.path))
    removes = isinstance(operation, DeleteFile) or operation.move_to is not None
    if removes:
        await asyncio.to_thread(_refuse_link, workspace, operation.path)
    found = await existing_target(
        workspace, operation.path, tool="apply_patch", action="could not read"
    )
    if isinstance(found, PreparedToolInvocation):
        return found
    source = Target(found, display_path(found.path, workspace.root), removed=removes)
    if isinstance(operation, UpdateFile):
        if operation.move_to is None:
            return PlannedOperation(operation, source, source)
        return PlannedOperation(operation, source, await _new_file(workspace, operation.move_to))
    return PlannedOperation(operation, source, None)


async def _new_file(workspace: Workspace, path: str) -> Target:
    if await asyncio.to_thread(_is_dangling, workspace, path):
        raise _already_exists(visible_name(path))
    resolved = await resolve_for_write(workspace, path)
    return Target(resolved, display_path(resolved.path, workspace.root))


def _require_relative(path: str) -> None:
    shown = visible_name(path)
    pure = PurePath(path)
    if pure.is_absolute() or pure.drive or pure.root or expand_home(path) != path:
        raise ToolError.invalid_arguments(f"the path {shown} must be relative to the workspace")
    if ".." in pure.parts:
        raise ToolError.invalid_arguments(f"the path {shown} must not contain '..'")


def _refuse_link(workspace: Workspace, path: str) -> None:
    """Removing through a link would remove what it points to, or the link: nobody said which."""
    if _lexical(workspace, path).is_symlink():
        raise ToolError.invalid_arguments(
            f"{visible_name(path)} is a symlink, which apply_patch neither deletes nor moves; name "
            "the file itself"
        )


def _is_dangling(workspace: Workspace, path: str) -> bool:
    lexical = _lexical(workspace, path)
    return lexical.is_symlink() and not lexical.exists()


def _lexical(workspace: Workspace, path: str) -> Path:
    try:
        return workspace.resolve(path)
    except WorkspaceError as error:
        raise path_error(error) from None


def _require_missing(target: Target) -> None:
    if target.resolved.exists:
        raise _already_exists(target.shown)


def _already_exists(shown: str) -> ToolError:
    return ToolError.execution(
        f"{shown} already exists; update it, or choose another path. Nothing was changed"
    )


def _require_distinct(planned: Sequence[PlannedOperation]) -> None:
    """Each path is written once or deleted once (12.11)."""
    written: set[str] = set()
    deleted: set[str] = set()
    for item in planned:
        for target in item.targets():
            key = os.fspath(target.resolved.path)
            mine = deleted if target.removed else written
            if key in mine:
                verb = "deletes" if target.removed else "writes"
                raise ToolError.execution(
                    f"the patch {verb} {target.shown} more than once; put all its changes into "
                    "one section. Nothing was changed"
                )
            mine.add(key)
            if key in written and key in deleted:
                raise ToolError.execution(
                    f"the patch both writes and deletes {target.shown}. Nothing was changed"
                )
