"""One section of an edit document against its file: the new content, or why it does not fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rho_core.errors import ToolError
from rho_core.tools.edit.file_text import decoded, encoded
from rho_core.tools.edit.hashline.apply import (
    AppliedEdit,
    EditRefused,
    apply_operations,
    rebase,
)
from rho_core.tools.edit.hashline.document import (
    InsertBefore,
    Operation,
    Replace,
    Section,
    summary,
)
from rho_core.tools.files.diff import FileDiff, diff_texts
from rho_core.tools.files.group_mutation import Target
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.files.mutation import FileSnapshot
from rho_core.tools.files.numbered import content_lines, snapshot_view
from rho_core.tools.files.text import BOM, TextFile
from rho_core.tools.files.transaction import FileChange
from rho_core.tools.files.view_header import file_tag, tagged_header

PREVIEW_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class SectionEdit:
    """What a section makes of its file."""

    section: Section
    change: FileChange
    diff: FileDiff
    view_text: str
    applied: AppliedEdit

    def report(self, max_bytes: int) -> str:
        """What was done, and a view that further edits can be based on (10.24–10.27)."""
        done = "; ".join(summary(operation) for operation in self.section.operations)
        header = tagged_header(self.change.shown, self.view_text)
        lines = content_lines(self.view_text)
        if self.applied.is_structural:
            note = (
                f"structural edit: the file has {len(lines)} line(s) now; no chainable body lines "
                "are shown, read it again before the next edit"
            )
            return f"{done}\n{header}\n\n[{note}]"
        room = max_bytes - len(done.encode())
        view = snapshot_view(
            header, lines, self.applied.focus, max_bytes=room, context=PREVIEW_CONTEXT
        )
        return f"{done}\n{view.text}"


def edit_section(
    section: Section,
    target: Target,
    current: FileSnapshot,
    base: FileSnapshot,
    ledger: FileLedger,
) -> SectionEdit:
    """The section applied to `current`. Raises `ToolError` with a live view of the file.

    `base` is what the file was when the call was prepared: the tag and the line numbers are about
    that. Where this session itself made `current` of it, the numbers are carried over.
    """
    shown = target.shown
    file, before = decoded(current, shown), decoded(base, shown)
    operations = section.operations
    if file.encoding.mark:
        operations = tuple(map(_without_mark, operations))
    try:
        _require_tag(section, before)
        if not ledger.is_fresh(target.resolved.path, current.digest):
            raise EditRefused(
                "the file changed on disk since it was last read in this session, in white space "
                "only, which the tag leaves out"
            )
        if current.digest != base.digest:
            operations = rebase(operations, before.text, file.text)
        applied = apply_operations(file.text, operations)
    except EditRefused as error:
        raise refused(section, shown, file, str(error)) from None
    edited = TextFile(applied.text, file.encoding)
    change = FileChange(target.resolved.path, shown, current.data, encoded(edited, shown))
    diff = diff_texts(shown, file.view_text, edited.view_text)
    return SectionEdit(section, change, diff, edited.view_text, applied)


def refused(section: Section, shown: str, file: TextFile, why: str) -> ToolError:
    """The failure with a view of the file as it is, tagged for the next try (10.22)."""
    view = snapshot_view(
        tagged_header(shown, file.view_text), content_lines(file.view_text), section.anchors()
    )
    return ToolError.execution(
        f"{shown}: {why}; nothing was changed\n\n"
        f"Live snapshot to base the next edit on:\n{view.text}"
    )


def _require_tag(section: Section, file: TextFile) -> None:
    live = file_tag(file.view_text)
    if live != section.tag:
        raise EditRefused(
            f"tag mismatch: the edit was made for #{section.tag}, but the file is #{live} now, so "
            "its line numbers may mean other lines"
        )


def _without_mark(operation: Operation) -> Operation:
    """What comes to stand first may repeat the mark that views show there; it is no text."""
    match operation:
        case Replace(start=1, rows=(first, *others)) | InsertBefore(line=1, rows=(first, *others)):
            return replace(operation, rows=(first.removeprefix(BOM), *others))
        case _:
            return operation
