"""The `list_dir` tool: the names in one directory (section 4)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityKind,
    CapabilityRequest,
    ReadPath,
)
from rho_core.errors import ToolError
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    PreparedToolInvocation,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.resources import DirectoryMembership, DirectoryTree, ToolResourceAccess
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput
from rho_core.tools.files.display import display_path, visible_name
from rho_core.tools.files.reading import os_error
from rho_core.tools.files.resolve import require_workspace, revalidate
from rho_core.tools.files.targets import existing_target
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.tools.file_arguments import ListDirArguments

_DESCRIPTION = (
    "List the names in one directory, hidden ones included, one per line and sorted; a directory "
    "ends with `/`. Not recursive: use glob to search a tree."
)


class ListDirTool(StructuredTool["ListDirArguments"]):
    """Lists one directory. An empty one gives an empty text."""

    name = "list_dir"
    description = _DESCRIPTION
    capabilities = (CapabilityKind.READ,)

    def __init__(self, *, max_output_bytes: int = 64_000) -> None:
        self._max_output_bytes = max(1, max_output_bytes)

    @classmethod
    def arguments_model(cls) -> type[ListDirArguments]:
        """The keys of `list_dir`."""
        from rho_core.tools.file_arguments import ListDirArguments

        return ListDirArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Resolve the directory; it is shared with everyone who only reads (4.5)."""
        arguments = self.parse(invocation, context)
        workspace = require_workspace(context)
        target = await existing_target(
            workspace, arguments.path, tool="list_dir", action="could not list"
        )
        if isinstance(target, PreparedToolInvocation):
            return target
        shown = display_path(target.path, workspace.root)

        async def execute(tool_context: AuthorizedToolContext) -> ToolOutput:
            def run() -> list[str]:
                revalidate(workspace, target)
                return list_names(target.path, shown)

            names = await asyncio.to_thread(run)
            metadata = ToolMetadata(operation=ToolOperation.READ, affected_paths=(shown,))
            text = fit_names(names, self._max_output_bytes)
            return ToolOutput.text(text, metadata.with_details(entries=len(names)))

        return PreparedToolInvocation.resource_aware(
            [
                ToolResourceAccess.shared(DirectoryTree(target.path)),
                ToolResourceAccess.shared(DirectoryMembership(target.path)),
            ],
            [CapabilityRequest(ReadPath(target.path, target.scope), BuiltInTool("list_dir"))],
            ToolMetadata(
                operation=ToolOperation.READ, affected_paths=(visible_name(arguments.path),)
            ),
            execute,
        )


def list_names(path: Path, shown: str) -> list[str]:
    """The rendered names, sorted by their UTF-8 bytes; links have no suffix (4.2, 4.3)."""
    try:
        with os.scandir(path) as entries:
            names = [
                visible_name(entry.name) + ("/" if entry.is_dir(follow_symlinks=False) else "")
                for entry in entries
            ]
    except NotADirectoryError:
        raise ToolError.execution(
            f"could not list {shown}: it is a file, not a directory; read_file shows it"
        ) from None
    except OSError as error:
        raise os_error("list", shown, error) from None
    return sorted(names, key=lambda name: name.encode())


def fit_names(names: list[str], max_bytes: int) -> str:
    """Whole lines within the budget; a cut listing says how many names are missing (2.19)."""
    text = "\n".join(names)
    if len(text.encode()) <= max_bytes:
        return text
    kept: list[str] = []
    room = max_bytes
    for name in names:
        room -= len(name.encode()) + 1
        if room < 0:
            break
        kept.append(name)
    missing = len(names) - len(kept)
    return "\n".join([*kept, f"[truncated: {missing:,} of {len(names):,} entries not shown]"])
