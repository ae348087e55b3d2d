"""Folds the events of one run into records and facts: what is kept, and what is shown.

`handle` never waits. It stages records and says which events follow and whether they may only be
shown once everything staged is on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from rho_core import events as run
from rho_core.history.messages import (
    AbortedAssistant,
    EnrichedAssistant,
    History,
    ToolCall,
    UserMessage,
    completed_assistant_content,
    text_of,
    tool_calls_of,
)
from rho_core.ids import HostInputId, SteeringId, ToolCallId
from rho_core.providers.contract import OutputLimit
from rho_core.questions import HostInputRequest, HostInputResponse, HostInputSource
from rho_core.tooling.execution import interrupted
from rho_core.tooling.values import ToolMetadata, ToolSucceeded
from rho_core.usage import ModelUsage
from rho_tui.host import facts
from rho_tui.host.facts import ConversationEvent
from rho_tui.host.live_output import LOOK_BACK, MAX_OUTPUT_TAIL, output_tail
from rho_tui.host.replay import attachment_labels, question_closed
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.journal import HistoryJournal

_CUT_OFF = {
    OutputLimit.OUTPUT_TOKENS: (
        'the answer was cut off at the model\'s output limit; say "go on" to continue'
    ),
    OutputLimit.CONTEXT_WINDOW: (
        "the answer was cut off because the model's context is full; compact it to go on"
    ),
}
_KEPT_OUTPUT = MAX_OUTPUT_TAIL + LOOK_BACK


class Histories(Protocol):
    """The part of a session that is read here."""

    @property
    def live_history(self) -> History:
        """What is published of the turn in flight, else the committed history."""

    @property
    def history(self) -> History:
        """The committed history."""


@dataclass(slots=True)
class Recorded:
    """What became of one event: what to show, and whether the disk comes first."""

    events: list[ConversationEvent]
    durable: bool = False


@dataclass(slots=True)
class _Call:
    started: float
    metadata: ToolMetadata
    tail: str = ""


@dataclass(slots=True)
class _Question:
    call_id: ToolCallId
    request: HostInputRequest


@dataclass(slots=True)
class _Step:
    """What streamed in the model step in progress."""

    text: list[str] = field(default_factory=list)
    reasoning_since: float | None = None
    reasoning_seconds: float | None = None
    answered: bool = False
    """The model call ended, its answer is not settled yet."""
    cut_off: OutputLimit | None = None
    """The limit at which the answer stops short."""


class TurnRecorder:
    """One turn, from its first run event to its commit."""

    def __init__(
        self,
        stage: Callable[[r.Record], int],
        journal: HistoryJournal,
        session: Histories,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stage = stage
        self._journal = journal
        self._session = session
        self._clock = clock
        self._began = clock()
        self._step = _Step()
        self._proposed: dict[str, ToolCall] = {}
        self._calls: dict[str, _Call] = {}
        self._questions: dict[HostInputId, _Question] = {}
        self._steering: dict[SteeringId, UserMessage] = {}
        self._compaction: run.CompactionStarted | None = None
        self.usage = ModelUsage()
        self.context_tokens: int | None = None

    # -- steering and questions, driven by the host -----------------------------------------

    def steering_accepted(self, id: SteeringId, message: UserMessage) -> None:
        """The run has staged this input; `SteeringApplied` will name it."""
        self._steering[id] = message

    def steering_retracted(self, id: SteeringId) -> None:
        """The input was taken back."""
        self._steering.pop(id, None)

    @property
    def unapplied_steering(self) -> tuple[str, ...]:
        """Texts of accepted input that never reached the model, oldest first."""
        return tuple(text_of(message.content) for message in self._steering.values())

    def take_question(
        self, request_id: HostInputId, response: HostInputResponse
    ) -> r.QuestionClosed | None:
        """Decide a form, once; the record of it, to be given to `question_closed` in its turn.

        None when no form waits under this id. Raises `InvalidHostResponse` for an answer that
        does not fit; the form waits on then.
        """
        question = self._questions.get(request_id)
        if question is None:
            return None
        question.request.validate(response)
        del self._questions[request_id]
        return _closed(question, response)

    def question_closed(self, record: r.QuestionClosed) -> Recorded:
        """A decided form is to be shown now."""
        self._stage(record)
        return Recorded([question_closed(record)], durable=True)

    def proposal(self, call_id: ToolCallId | None) -> tuple[ToolCall | None, ToolMetadata | None]:
        """What is known of a call: the model's wish, and the facts it started with."""
        started = self._calls.get(call_id or "")
        return self._proposed.get(call_id or ""), started.metadata if started else None

    # -- events of the run --------------------------------------------------------------------

    def handle(self, event: run.RunEvent) -> Recorded:
        """Stage what `event` means and say what to show for it."""
        match event:
            case run.ReasoningDelta() | run.ReasoningSummaryDelta():
                if self._step.reasoning_since is None:
                    self._step.reasoning_since = self._clock()
                return Recorded([event])
            case run.AssistantTextDelta(text=text):
                self._step.text.append(text)
                return Recorded([*self._close_reasoning(), event])
            case run.ToolUpdated(call_id=call_id, progress=progress):
                if progress.output_delta and (call := self._calls.get(call_id)):
                    call.tail = (call.tail + progress.output_delta)[-_KEPT_OUTPUT:]
                return Recorded([event])
            case run.ToolCallUpdated():
                return Recorded([*self._close_reasoning(), event])
            case run.UsageUpdated(usage=usage):
                self.usage = usage
                return Recorded([event])
            case _:
                return self._handle_step(event)

    def _handle_step(self, event: run.RunEvent) -> Recorded:
        match event:
            case run.StepStarted(estimated_context_tokens=tokens):
                self.context_tokens = tokens
                return Recorded([*self._settle_unstored(), event])
            case run.ModelCallCompleted():
                self._step.answered = True
                return Recorded([*self._close_reasoning(), event])
            case run.ProviderStreamReset():
                self._step = _Step()
                return Recorded([event, *self._reset_explained(event)])
            case run.ProviderImagesWithheld(count=count, reason=reason):
                what, them = ("an image", "it") if count == 1 else (f"{count} images", "them")
                text = f"the provider refused {what}, so it is asked without {them}: {reason}"
                return Recorded(self._warn(text))
            case run.ProviderAnswerCutOff(limit=limit):
                self._step.cut_off = limit
                return Recorded([])  # told by a notice, behind the settled answer
            case run.ToolProposed(call=call):
                self._proposed[call.id] = call
                return Recorded([*self._settle_answer_of(call), event], durable=True)
            case run.SteeringApplied(ids=ids):
                return self._steered(event, ids)
            case run.CompactionStarted():
                self._compaction = event
                return Recorded([*self._settle_unstored(), event])
            case run.CompactionCompleted(trigger=trigger, outcome=outcome):
                self._compaction = None
                committed = outcome.committed_snapshot
                history = self._session.history if committed is None else committed.history
                self._journal.sync(history, reason=r.ReplaceReason.COMPACTION)
                self._stage(r.CompactionNoted(trigger, outcome))
                return Recorded([event], durable=True)
            case run.WebSearch(detail=detail):
                self._stage(r.HostedToolNoted(None, detail))
                return Recorded([*self._close_reasoning(), event])
            case run.HostedToolUsed(name=name, detail=detail):
                self._stage(r.HostedToolNoted(name, detail))
                return Recorded([*self._close_reasoning(), event])
            case _:
                return self._handle_call(event)

    def _reset_explained(self, event: run.ProviderStreamReset) -> list[ConversationEvent]:
        """Why an answer that could not be used vanished. A failing provider waits and shows it."""
        if not isinstance(event.reason, run.InvalidResponseReset):
            return []
        return self._warn(f"{event.detail}; it is asked again")

    def _handle_call(self, event: run.RunEvent) -> Recorded:
        match event:
            case run.ToolStarted(call_id=call_id, name=name, metadata=metadata):
                self._calls[call_id] = _Call(self._clock(), metadata)
                self._stage(r.ToolCallStarted(call_id, name, metadata))
                return Recorded([event])
            case run.ToolFinished():
                return self._call_finished(event)
            case run.ToolHostInputRequested(call_id=call_id, request=request):
                self._questions[request.id] = _Question(call_id, request)
                self._stage(r.QuestionOpened(call_id, request))
                return Recorded([facts.QuestionAsked(call_id, request)], durable=True)
            case run.Completed() | run.Cancelled() | run.Failed():
                return Recorded([])  # the turn's end is told once it is committed: `finish`
            case _:
                return Recorded([event])

    def _call_finished(self, event: run.ToolFinished) -> Recorded:
        shown: list[ConversationEvent] = self._void_questions(event.call_id)
        self._proposed.pop(event.call_id, None)
        call = self._calls.pop(event.call_id, None)
        seconds = self._clock() - call.started if call else 0.0
        succeeded = isinstance(event.completion, ToolSucceeded)
        tail = "" if call is None or succeeded else output_tail(call.tail)
        record = r.ToolCallFinished(event.call_id, event.completion, seconds, tail)
        self._stage(record)
        self._journal.call_finished(record)
        return Recorded([*shown, event], durable=True)

    def _steered(self, event: run.SteeringApplied, ids: Iterable[SteeringId]) -> Recorded:
        shown: list[ConversationEvent] = [*self._settle_unstored(), event]
        for id in ids:
            message = self._steering.pop(id, None)
            if message is None:
                continue
            self._stage(r.SteeringEntered(id, message))
            labels = attachment_labels(message.content)
            text = text_of(message.content)
            shown.append(facts.PromptAccepted(text, labels, steering=True, id=id))
        return Recorded(shown, durable=True)

    # -- the end ------------------------------------------------------------------------------

    def finish(self, history: History, failure: str = "") -> list[ConversationEvent]:
        """Stage the committed `history`; the events that come before the turn's end.

        Among them is the end of every call, and of a compaction, that the run left without one.
        `failure` says why the run failed, if it did.
        """
        shown: list[ConversationEvent] = self._void_questions(None)
        if (started := self._compaction) is not None:
            self._compaction, trigger = None, started.trigger
            self._stage(r.CompactionStopped(trigger, started.message_count, failure))
            shown.append(facts.CompactionStopped(trigger, failure))
        shown += self._close_reasoning()
        shown += self._settle_from(history)
        shown += (run.ToolFinished(ToolCallId(id), interrupted()) for id in self._proposed)
        self._proposed.clear()
        return shown

    @property
    def seconds(self) -> float:
        """Wall time of the turn so far."""
        return round(self._clock() - self._began, 3)

    # -- parts --------------------------------------------------------------------------------

    def _close_reasoning(self) -> list[ConversationEvent]:
        step = self._step
        if step.reasoning_since is None:
            return []
        seconds = round(self._clock() - step.reasoning_since, 3)
        step.reasoning_since = None
        step.reasoning_seconds = round((step.reasoning_seconds or 0.0) + seconds, 3)
        return [facts.ReasoningClosed(seconds)]

    def _settle_answer_of(self, call: ToolCall) -> list[ConversationEvent]:
        """Bring the file up to the answer that makes `call`, unless it is there already.

        The run may be ahead of us, so live history can tell more than was shown: what follows the
        answer waits for its own events.
        """
        live = self._session.live_history
        for place in range(self._journal.size, len(live)):
            if call in tool_calls_of(completed_assistant_content(live[place]) or ()):
                return self._settle_from(live[: place + 1])
        return []

    def _settle_unstored(self) -> list[ConversationEvent]:
        """An answer without tool calls did not end the run: history tells of it later."""
        step, self._step = self._step, _Step()
        if not step.answered:
            return []
        text = "".join(step.text)
        self._stage(r.AnswerShown(text, step.reasoning_seconds))
        self._journal.answer_shown(text)
        return [facts.AssistantSettled(text), *self._cut_off_notice(step)]

    def _settle_from(self, history: History) -> list[ConversationEvent]:
        news = history[self._journal.size :]
        answers = [m for m in news if isinstance(m, EnrichedAssistant | AbortedAssistant)]
        settled = self._journal.shown_ahead
        step, self._step = self._step, _Step()
        self._journal.sync(history, reasoning_seconds=step.reasoning_seconds)
        if len(answers) <= settled:
            return []
        last = answers[-1]
        if isinstance(last, AbortedAssistant):
            return [facts.AssistantSettled(text_of(last.content), aborted=True)]
        # after tool calls the model goes on by itself
        notice = [] if tool_calls_of(last.content) else self._cut_off_notice(step)
        return [facts.AssistantSettled(text_of(last.content)), *notice]

    def _cut_off_notice(self, step: _Step) -> list[ConversationEvent]:
        return [] if step.cut_off is None else self._warn(_CUT_OFF[step.cut_off])

    def _warn(self, text: str) -> list[ConversationEvent]:
        self._stage(r.NoticeShown(text, facts.Severity.WARNING))
        return [facts.Notice(text, facts.Severity.WARNING)]

    def _void_questions(self, call_id: ToolCallId | None) -> list[ConversationEvent]:
        """Close the forms of a call that has ended, or of all calls."""
        shown: list[ConversationEvent] = []
        for request_id, question in tuple(self._questions.items()):
            if call_id is None or question.call_id == call_id:
                del self._questions[request_id]
                void = r.QuestionOutcome.VOID
                record = r.QuestionClosed(question.call_id, request_id, void)
                self._stage(record)
                shown.append(question_closed(record))
        return shown


def _closed(question: _Question, response: HostInputResponse) -> r.QuestionClosed:
    request, call_id = question.request, question.call_id
    if response.source is HostInputSource.DISMISSED:
        return r.QuestionClosed(call_id, request.id, r.QuestionOutcome.DISMISSED)
    replies = _replies(request, response)
    if response.source is HostInputSource.TIMEOUT_FALLBACK:
        reason = request.timeout_reason or ""
        return r.QuestionClosed(call_id, request.id, r.QuestionOutcome.TIMED_OUT, replies, reason)
    return r.QuestionClosed(call_id, request.id, r.QuestionOutcome.ANSWERED, replies)


def _replies(
    request: HostInputRequest, response: HostInputResponse
) -> tuple[facts.QuestionReply, ...]:
    """The answers in the order of the questions, as labels where a choice was picked."""
    replies = []
    for question in request.questions:
        labels = {choice.value: choice.label for choice in question.choices}
        values = response.answers.get(question.id, ())
        answers = tuple(labels.get(value, value) for value in values)
        replies.append(facts.QuestionReply(question.prompt, answers))
    return tuple(replies)
