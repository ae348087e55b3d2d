"""The `write` tool: create a file or replace its whole content (section 8)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rho_core.authority.capabilities import CapabilityKind
from rho_core.authority.workspace import ResolvedWorkspacePath
from rho_core.tooling.contract import (
    PreparedToolInvocation,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tools.files.diff import NO_CHANGES, FileDiff, diff_texts, omitted_diff
from rho_core.tools.files.display import display_path
from rho_core.tools.files.mutation import (
    FileMutation,
    FileSnapshot,
    MutationSettings,
    Proposal,
    take_snapshot,
)
from rho_core.tools.files.numbered import content_lines
from rho_core.tools.files.resolve import require_workspace, resolve_for_write
from rho_core.tools.files.text import BOM, Encoding, NotText, TextFile, dominant_newline
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.tools.file_arguments import WriteArguments

_NEWLINE_NAMES = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


_DESCRIPTION = (
    "Create a file, or replace the whole content of an existing one. Missing parent directories "
    "are created. The content is written byte for byte as UTF-8. A file that changed on disk since "
    "you last read or wrote it is refused: read it again first. To change a part of a file use the "
    "edit tool instead."
)


class WriteTool(StructuredTool["WriteArguments"]):
    """Writes whole files, atomically. The plan's metadata already holds the diff."""

    name = "write"
    description = _DESCRIPTION
    capabilities = (CapabilityKind.READ, CapabilityKind.WRITE)

    def __init__(self, settings: MutationSettings) -> None:
        self._settings = settings

    @classmethod
    def arguments_model(cls) -> type[WriteArguments]:
        """The keys of `write`."""
        from rho_core.tools.file_arguments import WriteArguments

        return WriteArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Resolve the target and propose its new content."""
        arguments = self.parse(invocation, context)
        workspace = require_workspace(context)
        resolved = await resolve_for_write(workspace, arguments.path)
        shown = display_path(resolved.path, workspace.root)

        def propose(current: FileSnapshot | None) -> Proposal:
            return propose_content(arguments.content, shown, current)

        def build() -> PreparedToolInvocation:
            base = self._base(resolved, shown)
            mutation = FileMutation(
                "write",
                "writing",
                workspace,
                resolved,
                shown,
                base,
                propose(base),
                propose,
                self._settings,
            )
            return mutation.plan()

        return await asyncio.to_thread(build)

    def _base(self, resolved: ResolvedWorkspacePath, shown: str) -> FileSnapshot | None:
        if not resolved.exists:
            return None
        base = take_snapshot(resolved.path, shown)
        self._settings.ledger.check_fresh(resolved.path, base.digest, shown)
        return base


def propose_content(content: str, shown: str, current: FileSnapshot | None) -> Proposal:
    """The whole new content as a proposal against the present file."""
    if current is None:
        diff = diff_texts(shown, None, content)
        return Proposal(content.encode(), content, diff, f"created {shown}")
    before = _decoded(current)
    if isinstance(before, str):
        diff = omitted_diff(before, added=len(content_lines(content)))
        notes: tuple[str, ...] = (diff.text,)
    else:
        diff = diff_texts(shown, before.view_text, content)
        notes = tuple(_changed_format(before, content))
        diff = _with_notes(diff, before, content)
    return Proposal(content.encode(), content, diff, f"wrote {shown}", notes)


def _decoded(current: FileSnapshot) -> TextFile | str:
    """The present text, or why there is none to compare with (8.6)."""
    if current.data is None:
        return f"the present content is too large to compare ({current.size:,} bytes)"
    try:
        return TextFile.decode(current.data)
    except NotText as error:
        return f"the present content {error.reason}"


def _changed_format(before: TextFile, content: str) -> list[str]:
    """Notes on what a whole-file write changes besides the words."""
    notes = []
    now = Encoding.UTF_8_BOM if content.startswith(BOM) else Encoding.UTF_8
    if before.text and before.encoding is not now:
        notes.append(f"note: the encoding changed from {before.encoding} to {now}")
    old, new = before.newline, dominant_newline(content)
    if "\n" in content and before.text.count(old) and old != new:
        names = f"from {_NEWLINE_NAMES[old]} to {_NEWLINE_NAMES[new]}"
        notes.append(f"note: the line endings changed {names}")
    return notes


def _with_notes(diff: FileDiff, before: TextFile, content: str) -> FileDiff:
    """A change of encoding alone is a change, although the texts are equal."""
    if diff.text == NO_CHANGES and before.encode() != content.encode():
        now = Encoding.UTF_8_BOM if content.startswith(BOM) else Encoding.UTF_8
        return omitted_diff(f"only the encoding changes, from {before.encoding} to {now}")
    return diff
