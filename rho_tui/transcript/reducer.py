"""Folds conversation events into transcript blocks; live, resumed and exported alike.

The reducer holds what is needed to place the next event and nothing else: what is shown belongs
to the sink.
"""

from __future__ import annotations

from collections import Counter

from rho_core import events as run
from rho_core.history.messages import ToolCall
from rho_core.tooling.values import ToolProgress
from rho_tui.host import facts
from rho_tui.transcript.blocks import (
    CardHeader,
    CardStatus,
    ErrorBlock,
    Fact,
    NoticeBlock,
    Tone,
    ToolCard,
    UserBlock,
)
from rho_tui.transcript.calls import CallCards
from rho_tui.transcript.sink import TranscriptSink
from rho_tui.transcript.step_text import StepText


class TranscriptReducer:
    """Feed it every event of one conversation, in order."""

    def __init__(self, sink: TranscriptSink, *, show_reasoning: bool = True) -> None:
        self._sink = sink
        self._ids: Counter[str] = Counter()
        self._text = StepText(sink, self._next_id, show_reasoning=show_reasoning)
        self._calls = CallCards(sink, self._next_id)
        self._commands = CallCards(sink, self._next_id)
        self._compaction: str | None = None
        self._newest = ""
        #: the first block of what is drawn before it is recorded: a stored session has it later
        self._live: str | None = None

    def fold(self, event: facts.ConversationEvent) -> None:
        """Draw what one event means. Events without a picture are passed over."""
        before = self._newest
        match event:
            case run.AssistantTextDelta(text=text):
                self._text.answer(text)
            case run.ReasoningDelta(text=text):
                self._text.reasoning(text, summary=False)
            case run.ReasoningSummaryDelta(text=text):
                self._text.reasoning(text, summary=True)
            case run.ToolCallUpdated():
                self._text.close()
                self._calls.streamed(event.index, event.id, event.name, event.arguments_delta)
            case run.ToolUpdated(call_id=call_id, progress=progress):
                self._calls.updated(call_id, progress)
            case run.StepStarted():
                self._live = None
                self._text.begin()
                return
            case run.ProviderStreamReset():
                self._live = None
                self._text.discard()
                self._calls.discard_previews()
                return
            case _:
                if isinstance(event, _SETTLING):
                    self._live = None
                self._fold_settled(event)
                if not isinstance(event, _LIVE):
                    return
        if self._live is None and self._newest != before:
            self._live = self._newest

    def _fold_settled(self, event: facts.ConversationEvent) -> None:
        match event:
            case facts.PromptAccepted(text=text, attachments=attachments):
                self._text.begin()
                self._sink.append(self._next_id("user"), UserBlock(text, attachments))
            case facts.ReasoningClosed(seconds=seconds):
                self._text.reasoning_closed(seconds)
            case facts.AssistantSettled(text=text):
                self._text.settle(text)
            case run.ToolProposed(call=call):
                self._text.close()
                self._calls.proposed(call)
            case run.ToolStarted(call_id=call_id, name=name, metadata=metadata):
                self._text.close()
                self._calls.started(call_id, name, metadata)
            case run.ToolFinished(call_id=call_id, completion=completion):
                self._calls.finished(call_id, completion)
            case run.WebSearch(detail=detail):
                self._hosted("web_search", detail)
            case run.HostedToolUsed(name=name, detail=detail):
                self._hosted(name, detail)
            case run.ProviderServiceTierFallback(requested=requested, used=used):
                self._notice(f"the provider used service tier {used} instead of {requested}")
            case run.CompactionStarted():
                self._text.close()
                self._compact(CardStatus.RUNNING, "shrinking context…")
            case run.CompactionCompleted(outcome=outcome):
                self._compact(
                    CardStatus.OK,
                    f"{outcome.previous_tokens} → {outcome.current_tokens} tokens",
                    f"{outcome.previous_messages} → {outcome.current_messages} messages",
                )
                self._compaction = None
            case facts.CompactionStopped(reason=reason):
                self._compaction_stopped(reason)
            case facts.TurnEnded():
                self._turn_ended(event)
            case _:
                self._fold_host_fact(event)

    def _fold_host_fact(self, event: facts.ConversationEvent) -> None:
        match event:
            case facts.ApprovalAsked(call=call, preview=preview) if call is not None:
                self._calls.awaiting(call.id, preview)
            case facts.ApprovalAnswered(call_id=call_id) if call_id is not None:
                self._calls.decided(call_id)
            case facts.QuestionAnswered(call_id=call_id, replies=replies):
                self._calls.replied(call_id, replies, timeout_reason=None)
            case facts.QuestionTimedOut(call_id=call_id, replies=replies, reason=reason):
                self._calls.replied(call_id, replies, timeout_reason=reason)
            case facts.UserCommandStarted(id=id, command=command, timeout_seconds=seconds):
                arguments = {"command": command, "timeout_seconds": int(seconds)}
                # in front of the live stream (APP1.15), which is where a stored session has it
                self._commands.proposed(ToolCall.of(id, "bash", arguments), before=self._live)
            case facts.UserCommandPrinted(id=id, text=text):
                self._commands.updated(id, ToolProgress(output_delta=text))
            case facts.UserCommandEnded(id=id, completion=completion):
                self._commands.finished(id, completion)
            case facts.Notice(text=text, severity=severity):
                self._remark(text, severity)
            case facts.ModelChanged(name=name):
                self._notice(f"model: {name}")
            case facts.ReasoningChanged(level=level):
                self._notice(f"reasoning: {level}")
            case facts.PermissionModeChanged(mode=mode):
                self._notice(f"permission mode: {mode}")
            case facts.EditToolChanged(name=name):
                self._notice(f"edit tool: {name}")
            case facts.HistoryReset():
                self._notice("the model's history was cleared")
            case facts.FolderChanged(cwd=cwd):
                self._notice(f"this session works in {cwd} from here on")
            case facts.SessionOpened(problem=problem) if problem:
                self._remark(problem, facts.Severity.WARNING)
            case _:
                pass

    def _turn_ended(self, event: facts.TurnEnded) -> None:
        self._text.close()
        self._calls.interrupt_all()
        self._compaction_stopped()
        match event.kind:
            case facts.TurnEndKind.FAILED:
                self._sink.append(self._next_id("error"), ErrorBlock(event.message))
            case facts.TurnEndKind.CANCELLED:
                self._notice("model interrupted")
            case facts.TurnEndKind.INTERRUPTED:
                self._notice("Rho stopped before this turn had ended")
            case facts.TurnEndKind.MAX_STEPS:
                self._notice("the step limit is reached; say “go on” to continue")
            case facts.TurnEndKind.COMPLETED:
                pass

    def _hosted(self, name: str, detail: str) -> None:
        self._text.close()
        header = CardHeader(name, detail, "web" if name == "web_search" else "default")
        self._sink.append(self._next_id("hosted"), ToolCard(header, CardStatus.OK))

    def _compaction_stopped(self, reason: str = "") -> None:
        if self._compaction is not None:
            status = CardStatus.ERROR if reason else CardStatus.INTERRUPTED
            self._compact(status, *([reason] if reason else []))
            self._compaction = None

    def _compact(self, status: CardStatus, *lines: str) -> None:
        tone: Tone = "error" if status is CardStatus.ERROR else "meta"
        card = ToolCard(CardHeader("compact"), status, tuple(Fact(line, tone) for line in lines))
        if self._compaction is None:
            self._compaction = self._next_id("compact")
            self._sink.append(self._compaction, card)
        else:
            self._sink.set_block(self._compaction, card)

    def _notice(self, text: str) -> None:
        self._remark(text, facts.Severity.INFO)

    def _remark(self, text: str, severity: facts.Severity) -> None:
        if severity is facts.Severity.ERROR:
            self._sink.append(self._next_id("error"), ErrorBlock(text))
        else:
            warning = severity is facts.Severity.WARNING
            block = NoticeBlock(text, "warning" if warning else "info")
            self._sink.append(self._next_id("notice"), block)

    def _next_id(self, kind: str) -> str:
        self._ids[kind] += 1
        self._newest = f"{kind}-{self._ids[kind]}"
        return self._newest


#: their blocks are drawn before anything of them is recorded
_LIVE = (run.CompactionStarted, run.WebSearch, run.HostedToolUsed)
#: after one of them, everything that is drawn is recorded
_SETTLING = (
    run.ToolProposed,
    run.CompactionCompleted,
    facts.AssistantSettled,
    facts.CompactionStopped,
    facts.PromptAccepted,
    facts.TurnEnded,
)
