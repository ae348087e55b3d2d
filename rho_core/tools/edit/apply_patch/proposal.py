"""What a patch makes of its files: new contents, diff and report (12.18, 12.25)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rho_core.errors import ToolError
from rho_core.tools.edit.apply_patch.document import AddFile, UpdateFile
from rho_core.tools.edit.apply_patch.targets import PlannedOperation
from rho_core.tools.edit.apply_patch.update import update_text
from rho_core.tools.edit.file_text import decoded, encoded
from rho_core.tools.files.diff import OMITTED, FileDiff, diff_texts, joined_diffs
from rho_core.tools.files.group_mutation import GroupProposal, Target
from rho_core.tools.files.mutation import FileSnapshot
from rho_core.tools.files.numbered import (
    SNAPSHOT_HEAD,
    SNAPSHOT_TAIL,
    content_lines,
    snapshot_view,
)
from rho_core.tools.files.reading import MAX_FILE_BYTES, too_large
from rho_core.tools.files.text import NotText, TextFile
from rho_core.tools.files.transaction import FileChange
from rho_core.tools.files.view_header import HeaderStyle

SUCCESS = "Success. The patch was applied:"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One operation carried out in memory. `view_text` is None for a removed file."""

    letter: str
    shown: str
    changes: tuple[FileChange, ...]
    diff: FileDiff
    view_text: str | None = None
    focus: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def propose_patch(
    planned: Sequence[PlannedOperation],
    present: Mapping[Path, FileSnapshot | None],
    header: HeaderStyle,
) -> GroupProposal:
    """All operations against the present files. Raises `ToolError` when one does not apply."""
    outcomes = [_carry_out(item, present) for item in planned]
    return GroupProposal(
        tuple(change for outcome in outcomes for change in outcome.changes),
        joined_diffs([outcome.diff for outcome in outcomes], "\n\n"),
        lambda room: _report(outcomes, header, room),
    )


def _carry_out(item: PlannedOperation, present: Mapping[Path, FileSnapshot | None]) -> _Outcome:
    if item.source is None:
        return _add(item)
    current = present[item.source.resolved.path]
    if current is None:
        raise ToolError.execution(f"could not read {item.source.shown}: it does not exist")
    if item.written is None:
        return _delete(item.source, current)
    return _update(item, item.source, item.written, current)


def _add(item: PlannedOperation) -> _Outcome:
    if item.written is None or not isinstance(item.operation, AddFile):
        raise TypeError("a new file needs a place and a content")
    target, content = item.written, item.operation.content
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise ToolError.execution(
            f"could not add {target.shown}: its content cannot be written as UTF-8"
        ) from None
    return _Outcome(
        "A",
        target.shown,
        (FileChange(target.resolved.path, target.shown, None, data),),
        diff_texts(target.shown, None, content),
        content,
    )


def _delete(target: Target, current: FileSnapshot) -> _Outcome:
    if current.data is None:
        raise too_large(target.shown, current.size, MAX_FILE_BYTES)
    try:
        diff = diff_texts(target.shown, TextFile.decode(current.data).view_text, "")
    except NotText as error:
        header = f"--- a/{target.shown}\n+++ b/{target.shown}\n"
        diff = FileDiff(f"{header}{OMITTED} the removed file {error.reason}\n", 0, 0)
    change = FileChange(target.resolved.path, target.shown, current.data, None)
    return _Outcome("D", target.shown, (change,), diff)


def _update(
    item: PlannedOperation, source: Target, written: Target, current: FileSnapshot
) -> _Outcome:
    if not isinstance(item.operation, UpdateFile):
        raise TypeError("only an update has chunks")
    file = decoded(current, source.shown)
    update = update_text(
        file.text, item.operation.chunks, source.shown, marked=bool(file.encoding.mark)
    )
    edited = TextFile(update.text, file.encoding)
    data, view = encoded(edited, source.shown), edited.view_text
    changes: tuple[FileChange, ...]
    if written is source:
        changes = (FileChange(source.resolved.path, source.shown, current.data, data),)
    else:
        changes = (
            FileChange(written.resolved.path, written.shown, None, data, like=source.resolved.path),
            FileChange(source.resolved.path, source.shown, current.data, None),
        )
    diff = diff_texts(written.shown, file.view_text, view, old_path=source.shown)
    return _Outcome("M", written.shown, changes, diff, view, update.focus, update.notes)


def _report(outcomes: Sequence[_Outcome], header: HeaderStyle, room: int) -> str:
    rows = [SUCCESS, *(f"{outcome.letter} {outcome.shown}" for outcome in outcomes)]
    rows += [note for outcome in outcomes for note in outcome.notes]
    head = "\n".join(rows)
    shown = [outcome for outcome in outcomes if outcome.view_text is not None]
    share = (room - len(head.encode())) // max(1, len(shown))
    views = []
    for outcome in shown:
        lines = content_lines(outcome.view_text or "")
        is_short = len(lines) <= SNAPSHOT_HEAD + SNAPSHOT_TAIL
        view = snapshot_view(
            header(outcome.shown, outcome.view_text or ""),
            lines,
            () if is_short else outcome.focus,
            max_bytes=share,
        )
        views.append(view.text)
    return "\n\n".join([head, *views])
