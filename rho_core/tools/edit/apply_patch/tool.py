"""The `apply_patch` tool: one patch over any number of files, applied whole or not at all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rho_core.authority.capabilities import CapabilityKind
from rho_core.authority.workspace import Workspace
from rho_core.errors import ToolError
from rho_core.tooling.contract import (
    PreparedToolInvocation,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.values import ToolMetadata, ToolOperation
from rho_core.tools.edit.apply_patch.document import FileOperation, named_paths
from rho_core.tools.edit.apply_patch.grammar import (
    PatchError,
    parse_partial_patch,
    parse_patch,
)
from rho_core.tools.edit.apply_patch.proposal import propose_patch
from rho_core.tools.edit.apply_patch.targets import PlannedOperation, plan_operations
from rho_core.tools.files.display import visible_name
from rho_core.tools.files.group_mutation import (
    GroupMutation,
    GroupProposal,
    Snapshots,
    Target,
    failing_plan,
    snapshots,
)
from rho_core.tools.files.ledger import StaleFile
from rho_core.tools.files.mutation import MutationSettings
from rho_core.tools.files.resolve import require_workspace
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.tools.edit.arguments import ApplyPatchArguments

MAX_OPERATIONS = 200


_DESCRIPTION = """\
Add, change, move and delete files with one patch; all of it applies or nothing does. The format:
*** Begin Patch
*** Add File: new.txt
+every line of a new file begins with +
*** Update File: src/app.py
*** Move to: src/main.py
@@ def main():
 a line of context, with one space before it
-a line to remove
+a line to add
*** Delete File: old.txt
*** End Patch
Move to is optional. A chunk begins with @@ or @@ and an earlier line of the file (never a range \
of line numbers); give about 3 lines of context, enough to be unique, and the chunks in the order \
of the file. A chunk with added lines only goes below its @@ line; without one it goes to the \
start of the file, or with *** End of File below it to the end. Context and removed lines must be \
lines of the file. Paths are relative to the workspace, without '..'. Line endings are kept. A \
file that changed on disk since you last read or wrote it is refused: read it again first."""


class ApplyPatchTool(StructuredTool["ApplyPatchArguments"]):
    """Applies patches. The plan's metadata already holds the diff of all files."""

    name = "apply_patch"
    description = _DESCRIPTION
    capabilities = (CapabilityKind.READ, CapabilityKind.WRITE)
    stands_for = ("edit", "str_replace")

    def __init__(self, settings: MutationSettings) -> None:
        self._settings = settings

    def start_metadata(self, arguments: dict[str, Any]) -> ToolMetadata:
        """The paths of the patch as far as it can be read."""
        text = arguments.get("input")
        operations = parse_partial_patch(text) if isinstance(text, str) else ()
        return ToolMetadata(operation=ToolOperation.WRITE, affected_paths=_affected(operations))

    @classmethod
    def arguments_model(cls) -> type[ApplyPatchArguments]:
        """The keys of `apply_patch`."""
        from rho_core.tools.edit.arguments import ApplyPatchArguments

        return ApplyPatchArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Read the patch, resolve every path and propose all new contents.

        A patch that cannot apply becomes a plan that only asks to read.
        """
        arguments = self.parse(invocation, context)
        operations = _operations(arguments.input)
        workspace = require_workspace(context)
        planned = await plan_operations(workspace, operations)
        if isinstance(planned, PreparedToolInvocation):
            return planned
        return await asyncio.to_thread(self._build, workspace, planned)

    def _build(
        self, workspace: Workspace, planned: list[PlannedOperation]
    ) -> PreparedToolInvocation:
        targets = tuple(target for item in planned for target in item.targets())
        affected = tuple(target.shown for target in targets)
        paths = [target.resolved.path for target in targets]

        def propose(now: Snapshots, _base: Snapshots) -> GroupProposal:
            return propose_patch(planned, dict(zip(paths, now, strict=True)), self._settings.header)

        base = snapshots(targets)
        for target, current in zip(targets, base, strict=True):
            if current is not None:
                self._settings.ledger.check_fresh(
                    target.resolved.path, current.digest, target.shown
                )
        try:
            proposal = propose(base, base)
        except ToolError:
            return failing_plan(
                "apply_patch", workspace, targets, affected, lambda now: propose(now, now)
            )
        return GroupMutation(
            "apply_patch",
            f"applying patch ({len(planned)} file op(s))",
            f"updated {len(planned)} file(s)",
            len(planned),
            workspace,
            targets,
            affected,
            base,
            proposal,
            propose,
            self._settings,
            _drift,
        ).plan()


def _operations(text: str) -> tuple[FileOperation, ...]:
    try:
        operations = parse_patch(text)
    except PatchError as error:
        raise ToolError.invalid_arguments(str(error)) from None
    if len(operations) > MAX_OPERATIONS:
        raise ToolError.invalid_arguments(
            f"invalid patch: more than {MAX_OPERATIONS} file operations; split it"
        )
    return operations


def _affected(operations: tuple[FileOperation, ...]) -> tuple[str, ...]:
    return tuple(visible_name(path) for item in operations for path in named_paths(item))


def _drift(target: Target, stale: StaleFile) -> ToolError:
    """A file is not what the patch was made for (12.20)."""
    return ToolError.execution(
        f"{target.shown} changed while the patch was being validated; nothing was changed. "
        f"{stale.message}"
    )
