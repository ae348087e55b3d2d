"""`skill`: load the instructions of a skill into the conversation (section 18)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityKind,
    CapabilityRequest,
    LoadSkill,
)
from rho_core.authority.workspace import ResolvedWorkspacePath, Workspace, WorkspaceError
from rho_core.errors import ToolError
from rho_core.text import truncate_utf8
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    InvocationSource,
    PreparedToolInvocation,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.resources import Opaque, ToolResourceAccess, WorkspacePath
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput
from rho_core.tools.files.display import display_path
from rho_core.tools.files.reading import read_regular
from rho_core.tools.skill_discovery import (
    MAX_SKILL_BYTES,
    SKILL_FILE,
    SKILLS_FOLDER,
    skill_file,
)
from rho_core.tools.skill_document import BrokenSkill, parse_header
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.tools.skill_arguments import SkillArguments

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DESCRIPTION = (
    "Load a skill by name: instructions for a kind of task, kept in .agents/skills of the "
    "workspace. Load one before doing a task that its description covers."
)


class SkillTool(StructuredTool["SkillArguments"]):
    """Loads `.agents/skills/<name>/SKILL.md` of the workspace, or an embedded skill.

    Skill authority implies no authority to read anything else (18.5).

    Args:
        embedded: Skills of the host by name, with their whole text. They come first.
    """

    name = "skill"
    description = _DESCRIPTION
    capabilities = (CapabilityKind.SKILL,)

    def __init__(
        self, *, embedded: Mapping[str, str] | None = None, max_output_bytes: int = 64_000
    ) -> None:
        self._embedded = dict(embedded or {})
        self._max_output_bytes = max_output_bytes

    @classmethod
    def arguments_model(cls) -> type[SkillArguments]:
        """The keys of `skill`."""
        from rho_core.tools.skill_arguments import SkillArguments

        return SkillArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Validate the name before any path is made of it; nothing is read yet (I4)."""
        name = self.parse(invocation, context).name
        if _NAME.fullmatch(name) is None:
            raise ToolError.invalid_arguments(
                "name must be 1 to 64 ASCII letters, digits, hyphens or underscores"
            )
        is_model = invocation.source is InvocationSource.MODEL
        if name in self._embedded:
            return self._embedded_plan(name, is_model)
        if context.workspace is None:
            raise ToolError.execution("loading a skill requires a configured workspace")
        return await self._file_plan(name, context.workspace, is_model)

    def _embedded_plan(self, name: str, is_model: bool) -> PreparedToolInvocation:
        text = self._embedded[name]

        async def execute(_context: AuthorizedToolContext) -> ToolOutput:
            return self._loaded(name, text.encode(), None, "built in to rho", is_model)

        return _plan(
            name, None, ToolResourceAccess.shared(Opaque("rho.skill.builtin", name)), execute
        )

    async def _file_plan(
        self, name: str, workspace: Workspace, is_model: bool
    ) -> PreparedToolInvocation:
        resolved = await asyncio.to_thread(_resolve, workspace, name)
        shown = display_path(resolved.path, workspace.root)

        def load() -> ToolOutput:
            try:
                workspace.revalidate(resolved)
            except WorkspaceError as error:
                raise ToolError.policy_denied(error.message) from None
            data = read_regular(resolved.path, shown, max_bytes=MAX_SKILL_BYTES)
            folder = display_path(resolved.path.parent, workspace.root)
            source = f"{shown}\nRelative references resolve against {folder}"
            return self._loaded(name, data, name, source, is_model)

        async def execute(_context: AuthorizedToolContext) -> ToolOutput:
            return await asyncio.to_thread(load)

        access = ToolResourceAccess.shared(WorkspacePath(resolved.path))
        return _plan(name, resolved.path, access, execute)

    def _loaded(
        self, name: str, data: bytes, folder_name: str | None, source: str, is_model: bool
    ) -> ToolOutput:
        try:
            header = parse_header(data, folder_name)
        except BrokenSkill as error:
            raise ToolError.execution(f"skill {name} is broken: {error}") from None
        if header.is_user_only and is_model:
            raise ToolError.policy_denied(f"skill {name} needs direct user invocation")
        text = f"Loaded skill: {name}\nSource: {source}\n\n{data.decode('utf-8')}"
        return ToolOutput.text(truncate_utf8(text, self._max_output_bytes), _metadata(name))


def _resolve(workspace: Workspace, name: str) -> ResolvedWorkspacePath:
    relative = SKILLS_FOLDER / name / SKILL_FILE
    try:
        (workspace.root / SKILLS_FOLDER / name).lstat()
    except OSError:
        raise ToolError.invalid_arguments(f"unknown skill: {name}") from None
    try:
        path = skill_file(workspace.root, name)
        resolved = workspace.resolve_for_read(workspace.root / relative)
    except BrokenSkill as error:
        raise ToolError.execution(f"skill {name} cannot be loaded: {error}") from None
    except WorkspaceError as error:
        raise ToolError.execution(error.message) from None
    if resolved.path != path:
        raise ToolError.execution(f"skill {name} cannot be loaded: its path changed")
    return resolved


def _plan(
    name: str, path: Path | None, access: ToolResourceAccess, execute: Any
) -> PreparedToolInvocation:
    return PreparedToolInvocation.resource_aware(
        (access,),
        (CapabilityRequest(LoadSkill(name, path), BuiltInTool("skill")),),
        _metadata(name),
        execute,
    )


def _metadata(name: str) -> ToolMetadata:
    return ToolMetadata(ToolOperation.OTHER).with_details(skill=name)
