"""Several files changed together: all of them or none (10.21, 12.20–12.24).

All hashes are checked, the originals are kept on disk, then one file after another is put in
place. When a later one fails, the earlier ones are brought back in reverse order, except for what
somebody else has changed since: that is left alone and named.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rho_core.errors import ToolError
from rho_core.tools.files.commit import CommitStep, FileCommit, ignore_step, never
from rho_core.tools.files.display import visible_name
from rho_core.tools.files.in_place import NotRestored
from rho_core.tools.files.journal import Journal, JournalEntry
from rho_core.tools.files.ledger import StaleFile, stale_file
from rho_core.tools.files.reading import chunks, open_regular, os_error
from rho_core.tools.files.removal import bring_back, remove_file, set_aside
from rho_core.tools.files.replace import commit_file, remove_empty, temporary_name
from rho_core.tools.files.text import content_hash


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a change.

    Args:
        path: The canonical path; its last component is no link.
        shown: The display path for messages.
        before: The exact present bytes; None: there is no file.
        after: The exact new bytes; None: the file is removed.
        like: For a new file, an existing one whose mode, owner and attributes it takes.
    """

    path: Path
    shown: str
    before: bytes | None
    after: bytes | None
    like: Path | None = None


@dataclass(frozen=True, slots=True)
class TransactionOptions:
    """Where originals are kept meanwhile (None: beside the first file), and hooks.

    `should_stop` is asked until the first file changes. `on_step` is called before each step of
    each file; an `OSError` from it counts as that step's failure.
    """

    recovery_dir: Path | None = None
    should_stop: Callable[[], bool] = never
    on_step: Callable[[CommitStep], None] = ignore_step


def commit_changes(changes: Sequence[FileChange], options: TransactionOptions) -> list[str]:
    """Apply all changes in order, or none. Blocking. Raises `ToolError`.

    Returns notes on what could not be tidied up after the change was complete.
    """
    wanted = [change for change in changes if change.before != change.after]
    for change in wanted:
        _verify(change)
    if options.should_stop():
        raise ToolError.cancelled()
    if len(wanted) <= 1:  # each way of changing one file is whole in itself
        for change in wanted:
            _apply_alone(change, options)
        return []
    return _Transaction(wanted, options).run()


@dataclass(slots=True)
class _Applied:
    """A change that is in place, and what has to go with it."""

    change: FileChange
    made: tuple[Path, ...]
    hidden: Path


@dataclass(slots=True)
class _Failure:
    """What keeps a rollback from being complete."""

    paths: set[str] = field(default_factory=set)
    reasons: list[str] = field(default_factory=list)


class _Transaction:
    def __init__(self, changes: Sequence[FileChange], options: TransactionOptions) -> None:
        self._changes = changes
        self._options = options
        self._hidden = [temporary_name(change.path) for change in changes]
        self._applied: list[_Applied] = []

    def run(self) -> list[str]:
        journal = self._begin()
        try:
            for change, hidden in zip(self._changes, self._hidden, strict=True):
                made = self._apply(change, hidden)
                self._applied.append(_Applied(change, made, hidden))
            try:
                journal.commit()
            except OSError as error:
                raise os_error("finish the change of", self._changes[0].shown, error) from None
        except BaseException as error:  # noqa: BLE001 — no half change stays
            raise self._rolled_back(error, journal) from None
        notes = self._drop_asides()
        journal.discard()
        return notes

    def _begin(self) -> Journal:
        parent = self._options.recovery_dir or _existing_parent(self._changes[0].path)
        entries = [
            JournalEntry(
                change.path,
                _digest(change.before),
                _digest(change.after),
                hidden,
                _missing_parents(change.path),
                change.before if change.after is not None else None,
            )
            for change, hidden in zip(self._changes, self._hidden, strict=True)
        ]
        try:
            return Journal.begin(parent, entries, self._options.on_step)
        except ImportError:
            raise ToolError.execution(
                "changing several files together needs file locks, which this platform lacks; "
                "change one file at a time"
            ) from None
        except OSError as error:
            raise os_error("keep recoverable copies of", self._changes[0].shown, error) from None

    def _apply(self, change: FileChange, hidden: Path) -> tuple[Path, ...]:
        if change.after is None:
            set_aside(_removal(change, self._options), hidden)
            return ()
        return commit_file(replace(_writing(change, self._options), temporary=hidden))

    def _drop_asides(self) -> list[str]:
        """Remove what was set aside; the change is complete whether or not that works."""
        notes = []
        for change, hidden in zip(self._changes, self._hidden, strict=True):
            if change.after is not None:
                continue
            try:
                self._options.on_step(CommitStep.REMOVE)
                hidden.unlink()
            except OSError as error:
                reason = visible_name(error.strerror or type(error).__name__)
                notes.append(f"note: could not remove {visible_name(str(hidden))}: {reason}")
        return notes

    def _rolled_back(self, error: BaseException, journal: Journal) -> BaseException:
        """Undo what was applied; the error to raise then."""
        failure = _Failure()
        if isinstance(error, NotRestored):
            failure.paths.add(self._changes[len(self._applied)].shown)
        for applied in reversed(self._applied):
            self._undo(applied, failure)
        if failure.paths:
            kept = self._kept(journal)
        else:
            journal.discard()
        if not isinstance(error, ToolError):
            return error
        if failure.paths:
            reasons = "".join(f"; {reason}" for reason in dict.fromkeys(failure.reasons))
            listed = ", ".join(sorted(failure.paths))
            said = f"{reasons}; rollback incomplete; unrecovered paths: {listed}{kept}"
            return ToolError(error.tool_kind, error.message.removesuffix(".") + said)
        if self._applied:
            said = "; applied changes were rolled back"
            return ToolError(error.tool_kind, error.message.removesuffix(".") + said)
        return error

    def _kept(self, journal: Journal) -> str:
        folder = visible_name(str(journal.folder))
        try:
            journal.keep()
        except OSError:
            return ""
        return f". The original contents are kept in {folder}"

    def _undo(self, applied: _Applied, failure: _Failure) -> None:
        change = applied.change
        try:
            if change.after is None:
                bring_back(_removal(change, self._options), applied.hidden)
            elif change.before is None:
                remove_file(_undoing(change, self._options))
            else:
                commit_file(_undoing(change, self._options))
        except StaleFile:
            failure.paths.add(change.shown)
            failure.reasons.append(
                f"{change.shown} was left as it is for concurrent writers that changed it since"
            )
        except ToolError as error:
            failure.paths.add(change.shown)
            failure.reasons.append(f"rollback also failed: {error.message}")
        for directory in remove_empty(applied.made):
            failure.paths.add(visible_name(str(directory)))
            failure.reasons.append("a new directory was kept for what concurrent writers put in it")


def _apply_alone(change: FileChange, options: TransactionOptions) -> None:
    if change.after is None:
        remove_file(_removal(change, options))
    else:
        commit_file(_writing(change, options))


def _writing(change: FileChange, options: TransactionOptions) -> FileCommit:
    return FileCommit(
        change.path,
        change.shown,
        change.after or b"",
        _digest(change.before),
        recovery_dir=options.recovery_dir,
        on_step=options.on_step,
        like=change.like,
    )


def _removal(change: FileChange, options: TransactionOptions) -> FileCommit:
    return FileCommit(
        change.path, change.shown, b"", _digest(change.before), on_step=options.on_step
    )


def _undoing(change: FileChange, options: TransactionOptions) -> FileCommit:
    return FileCommit(
        change.path,
        change.shown,
        change.before or b"",
        _digest(change.after),
        recovery_dir=options.recovery_dir,
        on_step=options.on_step,
    )


def _verify(change: FileChange) -> None:
    """Raise `StaleFile` unless the file is there, or missing, exactly as planned (12.20)."""
    if change.before is None:
        if os.path.lexists(change.path):
            raise stale_file(change.shown)
        return
    digest = hashlib.sha256()
    with open_regular(change.path, change.shown) as descriptor:
        for chunk in chunks(descriptor, change.shown):
            digest.update(chunk)
    if digest.hexdigest() != content_hash(change.before):
        raise stale_file(change.shown)


def _digest(content: bytes | None) -> str | None:
    return None if content is None else content_hash(content)


def _missing_parents(path: Path) -> tuple[Path, ...]:
    """The directories that have to be made for `path`, from the top down."""
    missing: list[Path] = []
    for parent in path.parents:
        if parent.is_dir():
            break
        missing.append(parent)
    return tuple(reversed(missing))


def _existing_parent(path: Path) -> Path:
    return next(parent for parent in path.parents if parent.is_dir())
