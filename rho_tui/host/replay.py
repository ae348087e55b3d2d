"""A stored session as conversation events: the same facts in the same order as when it was live."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from rho_core.events import (
    AssistantTextDelta,
    CompactionCompleted,
    CompactionStarted,
    HostedToolUsed,
    ReasoningSummaryDelta,
    SteeringApplied,
    StepStarted,
    ToolCallUpdated,
    ToolFinished,
    ToolProposed,
    ToolStarted,
    ToolUpdated,
    WebSearch,
)
from rho_core.history.messages import (
    AbortedAssistant,
    AssistantMessage,
    ContentBlock,
    EnrichedAssistant,
    Image,
    UserMessage,
    text_of,
    tool_calls_of,
)
from rho_core.ids import ToolCallId
from rho_core.json_values import canonical_json
from rho_core.tooling.execution import interrupted
from rho_core.tooling.values import ToolProgress
from rho_tui.host import facts
from rho_tui.host.facts import ConversationEvent
from rho_tui.host.prompt_news import without_news
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.recovery import StoredSession

_Answer: TypeAlias = EnrichedAssistant | AssistantMessage | AbortedAssistant


def replay(stored: StoredSession) -> Iterator[ConversationEvent]:
    """The events that draw a stored session, `SessionOpened` first, warnings about the file last.

    Every call is finished before its turn's end; a turn that never ended is `INTERRUPTED`.
    """
    header = stored.header
    yield facts.SessionOpened(header.id, stored.folder, header.created, resumed=True)
    replaying = _Replay()
    for line in stored.lines:
        yield from replaying.events(line.record)
    yield from replaying.end_interrupted()
    yield from replaying.end_commands()
    for warning in stored.warnings:
        yield facts.Notice(warning, facts.Severity.WARNING)


def attachment_labels(content: tuple[ContentBlock, ...]) -> tuple[str, ...]:
    """One label an image, such as `[image 1: image/png]`."""
    images = (block for block in content if isinstance(block, Image))
    return tuple(f"[image {n}: {image.mime_type}]" for n, image in enumerate(images, start=1))


def prompt_accepted(message: UserMessage) -> facts.PromptAccepted:
    """How a prompt is shown."""
    content = without_news(message.content)
    return facts.PromptAccepted(text_of(content), attachment_labels(content))


class _Replay:
    """Where the replay stands in the turn."""

    def __init__(self) -> None:
        self._open = False
        self._step = 0
        self._answer = ""
        self._unfinished: dict[str, None] = {}
        self._commands: dict[str, None] = {}
        # the provider used these while it wrote the answer whose message follows
        self._hosted: list[ConversationEvent] = []

    def events(self, record: r.Record) -> Iterator[ConversationEvent]:
        """The events of one record."""
        match record:
            case r.MessageAppended():
                yield from self._message(record)
            case r.AnswerShown(text=text, reasoning_seconds=seconds):
                yield from self._answered(text, seconds)
            case r.SteeringEntered(id=id, message=message):
                labels = attachment_labels(message.content)
                yield SteeringApplied((id,))
                yield facts.PromptAccepted(text_of(message.content), labels, steering=True, id=id)
            case r.ToolCallStarted(call_id=call_id, name=name, metadata=metadata):
                yield ToolStarted(call_id, name, metadata)
            case r.ToolCallFinished():
                yield from self._finished(record)
            case r.HostedToolNoted(name=name, detail=detail):
                used = WebSearch(detail) if name is None else HostedToolUsed(name, detail)
                self._hosted.append(used)
            case r.CompactionNoted(trigger=trigger, outcome=outcome):
                yield CompactionStarted(trigger, outcome.previous_messages)
                yield CompactionCompleted(trigger, outcome)
            case r.CompactionStopped(trigger=trigger, messages=messages, reason=reason):
                yield CompactionStarted(trigger, messages)
                yield facts.CompactionStopped(trigger, reason)
            case r.HistoryReplaced(reason=r.ReplaceReason.RESET):
                yield facts.HistoryReset()
            case r.TurnCommitted():
                yield from self._committed(record)
            case r.UserCommandStarted(id=id, command=command, timeout_seconds=seconds):
                self._commands[id] = None
                yield facts.UserCommandStarted(id, command, seconds)
            case r.UserCommandEnded(id=id, completion=completion, output_tail=tail):
                self._commands.pop(id, None)
                if tail:
                    yield facts.UserCommandPrinted(id, tail)
                yield facts.UserCommandEnded(id, completion)
            case _:
                yield from _fact(record)

    def end_interrupted(self) -> Iterator[ConversationEvent]:
        """Close a turn that never ended."""
        if self._open:
            yield from self._close_calls()
            self._open = False
            yield facts.TurnEnded(facts.TurnEndKind.INTERRUPTED)

    def end_commands(self) -> Iterator[ConversationEvent]:
        """Close the commands of the user of which no end is known."""
        for id in self._commands:
            yield facts.UserCommandEnded(id, interrupted())
        self._commands.clear()

    def _message(self, record: r.MessageAppended) -> Iterator[ConversationEvent]:
        match record.message:
            case UserMessage() as message if record.origin is r.MessageOrigin.PROMPT:
                yield from self.end_interrupted()
                self._open, self._step, self._answer = True, 0, ""
                yield prompt_accepted(message)
            case EnrichedAssistant() | AssistantMessage() | AbortedAssistant() as message:
                if record.origin is r.MessageOrigin.RUN:
                    yield from self._turn(message, record.reasoning_seconds)
            case _:
                pass

    def _turn(
        self,
        message: EnrichedAssistant | AssistantMessage | AbortedAssistant,
        seconds: float | None,
    ) -> Iterator[ConversationEvent]:
        summary = None if isinstance(message, AssistantMessage) else message.reasoning_summary
        text = text_of(message.content)
        if isinstance(message, AbortedAssistant):
            yield from self._answered(text, seconds, summary, aborted=message)
            return
        self._answer = text
        yield from self._answered(text, seconds, summary)
        for call in tool_calls_of(message.content):
            self._unfinished[call.id] = None
            yield ToolProposed(call)

    def _answered(
        self,
        text: str,
        seconds: float | None,
        summary: str | None = None,
        aborted: AbortedAssistant | None = None,
    ) -> Iterator[ConversationEvent]:
        self._step += 1
        yield StepStarted(self._step, 0)
        if summary:
            yield ReasoningSummaryDelta(summary)
        if seconds is not None:
            yield facts.ReasoningClosed(seconds)
        yield from self._take_hosted()
        if text:
            yield AssistantTextDelta(text)
        if aborted is not None:
            yield from _fragments(aborted)
        yield facts.AssistantSettled(text, aborted is not None)

    def _finished(self, record: r.ToolCallFinished) -> Iterator[ConversationEvent]:
        self._unfinished.pop(record.call_id, None)
        if record.output_tail:
            progress = ToolProgress(output_delta=record.output_tail)
            yield ToolUpdated(record.call_id, progress)
        yield ToolFinished(record.call_id, record.completion)

    def _committed(self, record: r.TurnCommitted) -> Iterator[ConversationEvent]:
        yield from self._close_calls()
        self._open = False
        done = record.kind in (facts.TurnEndKind.COMPLETED, facts.TurnEndKind.MAX_STEPS)
        yield facts.UsageTotals(record.total_usage, record.context_tokens)
        yield facts.TurnEnded(
            record.kind,
            record.message,
            self._answer if done else "",
            record.turn_usage,
            record.seconds,
            record.error_kind,
            record.retryable,
        )

    def _take_hosted(self) -> Iterator[ConversationEvent]:
        yield from self._hosted
        self._hosted.clear()

    def _close_calls(self) -> Iterator[ConversationEvent]:
        yield from self._take_hosted()
        for call_id in self._unfinished:
            yield ToolFinished(ToolCallId(call_id), interrupted())
        self._unfinished.clear()


def _fragments(message: AbortedAssistant) -> Iterator[ConversationEvent]:
    """Calls that were being written when the answer was cut off."""
    index = 0
    for call in tool_calls_of(message.content):
        yield ToolCallUpdated(index, call.id, call.name, canonical_json(call.arguments))
        index += 1
    for partial in message.tool_calls:
        yield ToolCallUpdated(index, partial.id, partial.name, partial.arguments)
        index += 1


def _fact(record: r.Record) -> Iterator[ConversationEvent]:
    match record:
        case r.QuestionOpened(call_id=call_id, request=request):
            yield facts.QuestionAsked(call_id, request)
        case r.QuestionClosed():
            yield question_closed(record)
        case r.ApprovalDecided():
            yield approval_answered(record)
        case r.NoticeShown(text=text, severity=severity):
            yield facts.Notice(text, severity)
        case r.TitleSet(title=title):
            yield facts.TitleChanged(title)
        case r.SettingChanged(setting=setting, value=value):
            yield setting_changed(setting, value)
        case r.FolderChanged(cwd=cwd):
            yield facts.FolderChanged(cwd)
        case _:
            pass


def question_closed(record: r.QuestionClosed) -> ConversationEvent:
    """The event of a closed form."""
    match record.outcome:
        case r.QuestionOutcome.ANSWERED:
            return facts.QuestionAnswered(record.call_id, record.request_id, record.replies)
        case r.QuestionOutcome.TIMED_OUT:
            return facts.QuestionTimedOut(
                record.call_id, record.request_id, record.replies, record.reason
            )
        case outcome:
            by_user = outcome is r.QuestionOutcome.DISMISSED
            return facts.QuestionDismissed(record.call_id, record.request_id, by_user)


def approval_answered(record: r.ApprovalDecided) -> facts.ApprovalAnswered:
    """The event of a decided approval."""
    return facts.ApprovalAnswered(
        record.approval_id,
        record.call_id,
        record.tool,
        record.subject,
        record.verdict,
        record.feedback,
    )


def setting_changed(setting: r.Setting, value: str) -> ConversationEvent:
    """The event of a changed setting."""
    match setting:
        case r.Setting.MODEL:
            return facts.ModelChanged(value)
        case r.Setting.REASONING:
            return facts.ReasoningChanged(value)
        case r.Setting.PERMISSION_MODE:
            return facts.PermissionModeChanged(value)
        case r.Setting.EDIT_TOOL:
            return facts.EditToolChanged(value)
