"""The `str_replace` tool: replace a piece of text that is named exactly (section 11)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rho_core.authority.capabilities import CapabilityKind
from rho_core.errors import ToolError
from rho_core.tooling.contract import (
    PreparedToolInvocation,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tools.edit.file_text import decoded, encoded
from rho_core.tools.edit.matching import normalize_newlines, replace_text
from rho_core.tools.files.diff import diff_texts
from rho_core.tools.files.display import display_path
from rho_core.tools.files.group_mutation import Target, failing_plan
from rho_core.tools.files.mutation import (
    FileMutation,
    FileSnapshot,
    MutationSettings,
    Proposal,
    take_snapshot,
)
from rho_core.tools.files.resolve import require_workspace
from rho_core.tools.files.targets import existing_target
from rho_core.tools.files.text import TextFile
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.tools.edit.arguments import StrReplaceArguments

_DESCRIPTION = (
    "Replace text in an existing file. old_string must match the file exactly, indentation "
    "included, and must occur once unless replace_all is true: give enough surrounding lines to "
    "make it unique. Line endings need not be matched, the file's own are kept. A file that "
    "changed on disk since you last read or wrote it is refused: read it again first. Use write to "
    "create a file."
)


class StrReplaceTool(StructuredTool["StrReplaceArguments"]):
    """Replaces exact text. The plan's metadata already holds the diff."""

    name = "str_replace"
    description = _DESCRIPTION
    capabilities = (CapabilityKind.READ, CapabilityKind.WRITE)
    stands_for = ("edit", "apply_patch")

    def __init__(self, settings: MutationSettings) -> None:
        self._settings = settings

    @classmethod
    def arguments_model(cls) -> type[StrReplaceArguments]:
        """The keys of `str_replace`."""
        from rho_core.tools.edit.arguments import StrReplaceArguments

        return StrReplaceArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Resolve the file and propose the edit.

        An edit that cannot apply becomes a plan that only asks to read: nobody is asked to approve
        it, and what it says of the content reaches the model only with that authority.
        """
        arguments = self.parse(invocation, context)
        _require_change(arguments)
        workspace = require_workspace(context)
        target = await existing_target(
            workspace, arguments.path, tool="str_replace", action="could not open"
        )
        if isinstance(target, PreparedToolInvocation):
            return target
        shown = display_path(target.path, workspace.root)

        def propose(current: FileSnapshot | None) -> Proposal:
            return propose_replacement(arguments, shown, current)

        def build() -> PreparedToolInvocation:
            base = take_snapshot(target.path, shown)
            self._settings.ledger.check_fresh(target.path, base.digest, shown)
            try:
                proposal = propose(base)
            except ToolError:
                return failing_plan(
                    "str_replace",
                    workspace,
                    (Target(target, shown),),
                    (shown,),
                    lambda now: propose(now[0]),
                )
            mutation = FileMutation(
                "str_replace",
                "editing",
                workspace,
                target,
                shown,
                base,
                proposal,
                propose,
                self._settings,
            )
            return mutation.plan()

        return await asyncio.to_thread(build)


def propose_replacement(
    arguments: StrReplaceArguments, shown: str, current: FileSnapshot | None
) -> Proposal:
    """The edited file as a proposal. Raises `ToolError` that says why it does not apply."""
    if current is None:
        raise ToolError.execution(f"could not open {shown}: it does not exist")
    file = decoded(current, shown)
    marks = 1 if file.encoding.mark else 0  # a view shows it, so old_string may begin with it
    result = replace_text(
        file.view_text,
        arguments.old_string,
        arguments.new_string,
        replace_all=arguments.replace_all,
        shown=shown,
        fixed=marks,
    )
    edited = TextFile(result.text[marks:], file.encoding)
    return Proposal(
        encoded(edited, shown),
        edited.view_text,
        diff_texts(shown, file.view_text, edited.view_text),
        f"edited {shown}; replaced {result.count} occurrence(s)",
        focus=result.lines,
    )


def _require_change(arguments: StrReplaceArguments) -> None:
    if not arguments.old_string:
        raise ToolError.invalid_arguments(
            "old_string is empty, which matches nothing in particular; use write to create a file "
            "or to replace all of it, or name the text next to the place"
        )
    if normalize_newlines(arguments.old_string) == normalize_newlines(arguments.new_string):
        raise ToolError.invalid_arguments("old_string and new_string are the same")
