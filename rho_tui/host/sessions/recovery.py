"""From a session file back to a session: damage is passed over, open ends are tied.

A process may die at any byte. What it had recorded of the turn in flight is kept: results of
finished calls are used, calls without a result get the interrupted text, and the history that
comes out is one that every provider accepts (C72, case G1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rho_core.history.compaction_state import CompactionState
from rho_core.history.messages import (
    History,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    completed_assistant_content,
    tool_calls_of,
    tool_image_supplement,
)
from rho_core.history.snapshot import SessionSnapshot
from rho_core.ids import Revision
from rho_core.running.candidate import tool_result
from rho_core.tooling.values import ToolCompletion, ToolFailed, ToolSucceeded
from rho_core.usage import ModelUsage
from rho_tui.host.facts import INTERRUPTED_RESULT
from rho_tui.host.sessions.file import Damage, Passed, UnreadableSession, read_lines
from rho_tui.host.sessions.records import (
    CompactionNoted,
    FolderChanged,
    Header,
    HistoryReplaced,
    ImagesAppended,
    Line,
    MessageAppended,
    MessageOrigin,
    ResultAppended,
    SteeringEntered,
    TitleSet,
    ToolCallFinished,
    TornLine,
    TurnCommitted,
)


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A loaded session.

    Attributes:
        snapshot: For `SessionOptions.from_snapshot`; its history is safe to send.
        lines: Every readable record in order, for `replay`.
        placed: The history as the file has it, message by message with its sequence number. It
            differs from the snapshot's where an interrupted turn had to be tied up.
        moved_to: The folder where it works, if not the one where it was started.
        interrupted: The last turn never ended.
        warnings: What a person should be told about the state of the file.
        next_seq: The sequence number that follows.
    """

    path: Path
    header: Header
    snapshot: SessionSnapshot
    lines: tuple[Line, ...]
    placed: tuple[tuple[int, Message], ...]
    title: str = ""
    total_usage: ModelUsage = field(default_factory=ModelUsage)
    context_tokens: int | None = None
    moved_to: str = ""
    interrupted: bool = False
    warnings: tuple[str, ...] = ()
    next_seq: int = 1

    @property
    def folder(self) -> str:
        """Where it works."""
        return self.moved_to or self.header.cwd


def load(path: Path) -> StoredSession:
    """Read a whole session file; time and memory grow with its size only.

    Raises:
        OSError: It cannot be read.
        UnreadableSession: It holds no session, or one of a newer version.
    """
    folding = _Folding()
    damage = _DamageReport()
    seen: set[int] = set()
    lines: list[Line] = []
    next_seq = 1
    for item in read_lines(path):
        if isinstance(item, Damage):
            damage.found(item)
            continue
        next_seq = max(next_seq, item.seq + 1)
        if isinstance(item, Passed):
            continue
        if isinstance(item.record, TornLine):
            damage.known()
        # a batch whose first writing was not confirmed stands in the file twice
        if item.seq == 0 or item.seq in seen:
            continue
        seen.add(item.seq)
        lines.append(item)
        folding.fold(item)
    if folding.header is None:
        raise UnreadableSession("the file does not begin with a session header")
    return folding.finish(path, tuple(lines), damage.warnings(), next_seq)


def text_for_model(completion: ToolCompletion) -> str | None:
    """What the model reads of a completion; None where that depends on more than the completion."""
    match completion:
        case ToolSucceeded(output=output):
            return output.content
        case ToolFailed(message=message):
            return message
        case _:
            return None


def replay_safe(history: Iterable[Message], finished: dict[str, ToolCallFinished]) -> History:
    """The history with one result for every call of a completed answer, and none without a call.

    A missing result is made from `finished` where that call is known to have ended, else it says
    that the call was interrupted. It stands right behind the results that are there.
    """
    kept: list[Message] = []
    open_calls: dict[str, int] = {}  # by id, where the answer stands that made the call
    lost: set[tuple[int, str]] = set()
    for message in history:
        if isinstance(message, ToolResult) and open_calls.pop(message.id, None) is None:
            continue
        for call in _calls_of(message):
            if call.id in open_calls:  # the id is used again, its first call never got a result
                lost.add((open_calls[call.id], call.id))
            open_calls[call.id] = len(kept)
        kept.append(message)
    safe: list[Message] = []
    due: list[Message] = []
    for place, message in enumerate(kept):
        if due and not isinstance(message, ToolResult):
            safe += due
            due = []
        safe.append(message)
        for call in _calls_of(message):
            if open_calls.get(call.id) == place:
                due += _recovered(call, finished.get(call.id))
            elif (place, call.id) in lost:
                due += _recovered(call, None)
    return tuple(safe + due)


def _calls_of(message: Message) -> tuple[ToolCall, ...]:
    return tool_calls_of(completed_assistant_content(message) or ())


def _recovered(call: ToolCall, finished: ToolCallFinished | None) -> list[Message]:
    if finished is None:
        return [ToolResult(call.id, False, INTERRUPTED_RESULT)]
    recovered: list[Message] = [tool_result(call, finished.completion)]
    if isinstance(finished.completion, ToolSucceeded):
        images = tool_image_supplement(call.name, call.id, finished.completion.output.images)
        if images is not None:
            recovered.append(images)
    return recovered


class _Folding:
    """What the records read so far add up to."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self._messages: dict[int, Message] = {}
        self._history: list[int | None] = []
        self._finished: dict[str, ToolCallFinished] = {}
        self._steering: list[UserMessage] = []
        self._commit: TurnCommitted | None = None
        self._revision = Revision(0)
        self._compaction = CompactionState()
        self._title = ""
        self._moved_to = ""
        self._open = False

    def fold(self, line: Line) -> None:
        """Apply one record."""
        match line.record:
            case Header() as header:
                self.header = self.header or header
            case MessageAppended(message=message, index=index, origin=origin):
                self._open = self._open or origin is MessageOrigin.PROMPT
                if isinstance(message, UserMessage) and message in self._steering:
                    self._steering.remove(message)
                for call in _calls_of(message):
                    self._finished.pop(call.id, None)  # the id is used again
                self._place(line.seq, message, index)
            case ResultAppended(call_id=call_id, ok=ok, index=index):
                finished = self._finished.get(call_id)
                text = text_for_model(finished.completion) if finished else None
                if text is None:
                    text, ok = INTERRUPTED_RESULT, False
                self._place(line.seq, ToolResult(call_id, ok, text), index)
            case ImagesAppended() as images:
                self._place_images(line.seq, images)
            case HistoryReplaced(messages=messages):
                self._history = list(messages)
            case SteeringEntered(message=message):
                self._steering.append(message)
            case ToolCallFinished() as finished:
                self._finished[finished.call_id] = finished
            case TitleSet(title=title):
                self._title = title
            case FolderChanged(cwd=cwd):
                self._moved_to = cwd
            case CompactionNoted(outcome=outcome):
                self._compaction = self._compaction.after(outcome)
                self._revision = outcome.revision
            case TurnCommitted() as commit:
                self._commit = commit
                self._revision, self._compaction = commit.revision, commit.compaction
                self._open = False
                self._steering.clear()
            case _:
                pass

    def finish(
        self, path: Path, lines: tuple[Line, ...], warnings: tuple[str, ...], next_seq: int
    ) -> StoredSession:
        """The session as it is to be resumed."""
        assert self.header is not None
        placed = tuple(
            (seq, self._messages[seq])
            for seq in self._history
            if seq is not None and seq in self._messages
        )
        history = replay_safe((message for _, message in placed), self._finished)
        if self._open:
            history = (*history, *self._steering)
        commit = self._commit
        return StoredSession(
            path=path,
            header=self.header,
            snapshot=self._snapshot(self.header, history),
            lines=lines,
            placed=placed,
            title=self._title,
            total_usage=commit.total_usage if commit else ModelUsage(),
            context_tokens=commit.context_tokens if commit else None,
            moved_to=self._moved_to,
            interrupted=self._open,
            warnings=warnings,
            next_seq=next_seq,
        )

    def _snapshot(self, header: Header, history: History) -> SessionSnapshot:
        revision = self._revision
        if self._open:
            revision = revision.checked_next() or revision
        return SessionSnapshot(
            session_id=header.id,
            revision=revision,
            history=history,
            provider=self._commit.provider if self._commit else header.provider,
            compaction=self._compaction,
            prompt_cache_key=str(header.id),
        )

    def _place_images(self, seq: int, record: ImagesAppended) -> None:
        finished = self._finished.get(record.call_id)
        if finished is None or not isinstance(finished.completion, ToolSucceeded):
            return
        images = finished.completion.output.images
        message = tool_image_supplement(record.tool, record.call_id, images)
        if message is not None:
            self._place(seq, message, record.index)

    def _place(self, seq: int, message: Message, index: int | None) -> None:
        self._messages[seq] = message
        if index is None:
            return
        del self._history[index:]
        # a damaged line leaves a gap, so that the places of the others stay true
        self._history += [None] * (index - len(self._history))
        self._history.append(seq)


class _DamageReport:
    """Counts what could not be read, and what was said about it before."""

    def __init__(self) -> None:
        self._skipped = 0
        self._torn = False

    def found(self, damage: Damage) -> None:
        if damage.last:
            self._torn = True
        else:
            self._skipped += 1

    def known(self) -> None:
        self._skipped = max(0, self._skipped - 1)

    def warnings(self) -> tuple[str, ...]:
        told: list[str] = []
        if self._skipped:
            records = "record" if self._skipped == 1 else "records"
            told.append(f"{self._skipped} damaged {records} of this session could not be read")
        if self._torn:
            told.append("the last record of this session was cut off while it was written")
        return tuple(told)
