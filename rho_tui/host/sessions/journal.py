"""Keeps a session file in step with a session: what history gained, in as few bytes as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rho_core.history.messages import (
    AbortedAssistant,
    EnrichedAssistant,
    History,
    Message,
    SystemMessage,
    ToolImageSupplement,
    ToolResult,
    as_tool_image_supplement,
    completed_assistant_content,
    text_of,
    tool_calls_of,
)
from rho_core.ids import ToolCallId
from rho_core.tooling.values import ToolSucceeded
from rho_tui.host.sessions.records import (
    HistoryReplaced,
    ImagesAppended,
    MessageAppended,
    MessageOrigin,
    Record,
    ReplaceReason,
    ResultAppended,
    ToolCallFinished,
)
from rho_tui.host.sessions.recovery import replay_safe, text_for_model


class HistoryJournal:
    """Stages the records that turn the history in the file into the one it is given.

    `stage` queues a record and returns its sequence number. `placed` is the history that the file
    has, each message with its sequence number.
    """

    def __init__(
        self, stage: Callable[[Record], int], placed: Iterable[tuple[int, Message]] = ()
    ) -> None:
        self._stage = stage
        self._placed = list(placed)
        self._finished: dict[str, ToolCallFinished] = {}
        self._shown: list[str] = []

    @property
    def size(self) -> int:
        """How many messages the file's history has."""
        return len(self._placed)

    def call_finished(self, record: ToolCallFinished) -> None:
        """The file holds this completion; a result that says the same need not be kept twice."""
        self._finished[record.call_id] = record

    def tied_up(self) -> History:
        """The file's history made safe to send, for a run that ended without a commit."""
        return replay_safe((message for _, message in self._placed), self._finished)

    def answer_shown(self, text: str) -> None:
        """An `AnswerShown` with this text is staged: its message must not be shown again."""
        self._shown.append(text)

    @property
    def shown_ahead(self) -> int:
        """How many answers were shown that the file's history does not have yet."""
        return len(self._shown)

    def append(
        self,
        message: Message,
        origin: MessageOrigin = MessageOrigin.RUN,
        reasoning_seconds: float | None = None,
    ) -> None:
        """Stage one more message at the end."""
        self._place(message, len(self._placed), origin, reasoning_seconds)

    def sync(
        self,
        history: History,
        *,
        reason: ReplaceReason = ReplaceReason.HOST,
        reasoning_seconds: float | None = None,
    ) -> None:
        """Stage what is missing. `reasoning_seconds` belongs to the first answer that is new."""
        if reason is not ReplaceReason.HOST:
            self._shown.clear()  # those answers are in the new history, or gone
        same = self._common_prefix(history)
        news = history[same:]
        if not news and same == len(self._placed):
            return
        known = {id(message): seq for seq, message in self._placed[same:]}
        if news and not any(id(message) in known for message in news):
            for index, message in enumerate(news, start=same):
                takes_time = reasoning_seconds is not None and _is_answer(message)
                self._place(
                    message, index, self._origin(message), reasoning_seconds if takes_time else None
                )
                reasoning_seconds = None if takes_time else reasoning_seconds
            return
        self._replace(history, same, known, reason)

    def _replace(
        self, history: History, same: int, known: dict[int, int], reason: ReplaceReason
    ) -> None:
        placed = self._placed[:same]
        for message in history[same:]:
            seq = known.get(id(message))
            if seq is None:
                seq = self._stage(MessageAppended(message, None, MessageOrigin.SEED))
            placed.append((seq, message))
        self._stage(HistoryReplaced(tuple(seq for seq, _ in placed), reason))
        self._placed = placed

    def _common_prefix(self, history: History) -> int:
        same = 0
        for (_, ours), theirs in zip(self._placed, history, strict=False):
            if ours is not theirs and ours != theirs:
                break
            same += 1
        return same

    def _place(
        self, message: Message, index: int, origin: MessageOrigin, reasoning_seconds: float | None
    ) -> None:
        record: Record | None = self._reference(message, index)
        if record is None:
            record = MessageAppended(message, index, origin, reasoning_seconds)
        for call in tool_calls_of(completed_assistant_content(message) or ()):
            self._finished.pop(call.id, None)  # the id is used again; the reader does the same
        seq = self._stage(record)
        del self._placed[index:]
        self._placed.append((seq, message))

    def _origin(self, message: Message) -> MessageOrigin:
        if isinstance(message, SystemMessage):
            return MessageOrigin.SEED
        if isinstance(message, EnrichedAssistant):
            shown, self._shown = self._shown, []
            for place, text in enumerate(shown):
                if text == text_of(message.content):
                    self._shown = shown[place + 1 :]
                    return MessageOrigin.SHOWN
            self._shown = shown
        return MessageOrigin.RUN

    def _reference(self, message: Message, index: int) -> ResultAppended | ImagesAppended | None:
        """A record that points at the completion in the file, where it says exactly the same."""
        if isinstance(message, ToolResult):
            finished = self._finished.get(message.id)
            if finished is not None and text_for_model(finished.completion) == message.content:
                return ResultAppended(finished.call_id, message.ok, index)
            return None
        match as_tool_image_supplement(message):
            case ToolImageSupplement(tool_name=tool, tool_call_id=call_id, images=images):
                finished = self._finished.get(call_id)
                if (
                    finished is not None
                    and isinstance(finished.completion, ToolSucceeded)
                    and finished.completion.output.images == images
                ):
                    return ImagesAppended(ToolCallId(call_id), tool, index)
        return None


def _is_answer(message: Message) -> bool:
    return isinstance(message, EnrichedAssistant | AbortedAssistant)
