"""The `edit` tool: changes addressed by line numbers that a tag vouches for (section 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
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
from rho_core.tools.edit.file_text import decoded
from rho_core.tools.edit.hashline.document import Section
from rho_core.tools.edit.hashline.grammar import (
    DocumentError,
    parse_document,
    parse_leniently,
)
from rho_core.tools.edit.hashline.section_edit import SectionEdit, edit_section, refused
from rho_core.tools.files.diff import joined_diffs
from rho_core.tools.files.display import display_path, visible_name
from rho_core.tools.files.group_mutation import (
    GroupMutation,
    GroupProposal,
    Snapshots,
    Target,
    failing_plan,
    snapshots,
)
from rho_core.tools.files.ledger import StaleFile
from rho_core.tools.files.mutation import MutationSettings, take_snapshot
from rho_core.tools.files.resolve import require_workspace
from rho_core.tools.files.targets import existing_target
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.tools.edit.arguments import EditArguments

MAX_SECTIONS = 200


_DESCRIPTION = """\
Change existing files by line number. A view of a file begins with a header [path#TAG]; copy it \
from a fresh read_file, grep or write result, from the result of an edit before, or from a failed \
edit. Never invent a tag. Below the header write operations:
PUT 3: replaces line 3, PUT 3.=5: lines 3 to 5, PUT <3: inserts before line 3, PUT >3: after it, \
PUT >$: at the end of the file. The new rows follow, each with a leading + (a lone + is an empty \
row). CUT 3 or CUT 3.=5 deletes lines.
Example:
[src/app.py#1A2B]
PUT 2.=3:
+def main() -> None:
+    run()
CUT 9
All line numbers are those of the view, whatever the operations before them do. One section per \
file; several files change together or not at all. Line endings are kept. Use write to create a \
file."""


class EditTool(StructuredTool["EditArguments"]):
    """Edits lines of one or more files. The plan's metadata already holds the diff."""

    name = "edit"
    description = _DESCRIPTION
    capabilities = (CapabilityKind.READ, CapabilityKind.WRITE)
    stands_for = ("str_replace", "apply_patch")

    def __init__(self, settings: MutationSettings) -> None:
        self._settings = settings

    def start_metadata(self, arguments: dict[str, Any]) -> ToolMetadata:
        """The paths of the document as far as it can be read (10.5)."""
        text = arguments.get("input")
        sections = parse_leniently(text) if isinstance(text, str) else ()
        paths = tuple(visible_name(section.path) for section in sections)
        return ToolMetadata(operation=ToolOperation.WRITE, affected_paths=paths)

    @classmethod
    def arguments_model(cls) -> type[EditArguments]:
        """The keys of `edit`."""
        from rho_core.tools.edit.arguments import EditArguments

        return EditArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Read the document, resolve every file and propose the edit.

        An edit that cannot apply becomes a plan that only asks to read.
        """
        arguments = self.parse(invocation, context)
        sections = _sections(arguments.input)
        workspace = require_workspace(context)
        targets: list[Target] = []
        for section in sections:
            found = await existing_target(
                workspace, section.path, tool="edit", action="could not read"
            )
            if isinstance(found, PreparedToolInvocation):
                return found
            targets.append(Target(found, display_path(found.path, workspace.root)))
        _require_distinct(sections, targets)
        return await asyncio.to_thread(self._build, workspace, sections, tuple(targets))

    def _build(
        self, workspace: Workspace, sections: tuple[Section, ...], targets: tuple[Target, ...]
    ) -> PreparedToolInvocation:
        shown = tuple(target.shown for target in targets)

        def propose(now: Snapshots, base: Snapshots) -> GroupProposal:
            return self._propose(sections, targets, now, base)

        base = snapshots(targets)
        try:
            proposal = propose(base, base)
        except ToolError:
            return failing_plan(
                "edit",
                workspace,
                targets,
                shown,
                lambda now: propose(now, now),
                # what the error shows is as good as a read: the next edit may build on it
                lambda now: self._remember(targets, now),
            )

        def explain(target: Target, stale: StaleFile) -> ToolError:
            return self._drift(sections[targets.index(target)], target, stale)

        return GroupMutation(
            "edit",
            f"applying edit ({len(targets)} path(s))",
            "",
            len(targets),
            workspace,
            targets,
            shown,
            base,
            proposal,
            propose,
            self._settings,
            explain,
        ).plan()

    def _propose(
        self,
        sections: Sequence[Section],
        targets: Sequence[Target],
        now: Snapshots,
        base: Snapshots,
    ) -> GroupProposal:
        edits: list[SectionEdit] = []
        for section, target, current, before in zip(sections, targets, now, base, strict=True):
            if current is None or before is None:
                raise ToolError.execution(f"could not read {target.shown}: it does not exist")
            edits.append(edit_section(section, target, current, before, self._settings.ledger))
        return GroupProposal(
            tuple(edit.change for edit in edits),
            joined_diffs([edit.diff for edit in edits], "\n"),
            lambda room: "\n\n".join(edit.report(room // len(edits)) for edit in edits),
        )

    def _drift(self, section: Section, target: Target, stale: StaleFile) -> ToolError:
        """The file changed after the edit was shown (10.19). Blocking."""
        why = "path changed after validation" if stale.swapped else "changed during edit"
        try:
            now = take_snapshot(target.resolved.path, target.shown)
            file = decoded(now, target.shown)
        except ToolError:
            return ToolError.execution(f"{target.shown}: {why}. {stale.message}")
        self._settings.ledger.record_read(target.resolved.path, now.digest)
        return refused(
            section, target.shown, file, f"{why}: it changed on disk since the edit was prepared"
        )

    def _remember(self, targets: Sequence[Target], now: Snapshots) -> None:
        for target, current in zip(targets, now, strict=True):
            if current is not None:
                self._settings.ledger.record_read(target.resolved.path, current.digest)


def _sections(text: str) -> tuple[Section, ...]:
    try:
        sections = parse_document(text)
    except DocumentError as error:
        raise ToolError.invalid_arguments(str(error)) from None
    if len(sections) > MAX_SECTIONS:
        raise ToolError.invalid_arguments(f"more than {MAX_SECTIONS} sections; split the edit")
    return sections


def _require_distinct(sections: Sequence[Section], targets: Sequence[Target]) -> None:
    seen: dict[str, str] = {}
    for section, target in zip(sections, targets, strict=True):
        key = str(target.resolved.path)
        spelled = visible_name(section.path)
        if key in seen:
            names = spelled if seen[key] == spelled else f"{seen[key]} and {spelled}"
            raise ToolError.invalid_arguments(
                f"the same file is edited more than once: {names}; put all its operations into "
                "one section"
            )
        seen[key] = spelled
