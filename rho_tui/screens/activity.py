"""What a run is doing, read from its events (APP1.18, 2.38)."""

from __future__ import annotations

from rho_core import events as run
from rho_core.errors import ProviderErrorKind, format_retry_after
from rho_tui.host import facts
from rho_tui.widgets.activity_line import Activity, Phase


def activity_after(event: facts.ConversationEvent, now: Activity | None) -> Activity | None:
    """The activity once `event` has happened; None when nothing runs."""
    match event:
        case run.AssistantTextDelta():
            return _phase(Phase.RESPONDING, now)
        case run.ReasoningDelta() | run.ReasoningSummaryDelta():
            return _phase(Phase.THINKING, now)
        case run.ToolCallUpdated():
            return _phase(Phase.PREPARING_TOOL, now)
        case facts.PromptAccepted(steering=False):
            return Activity(Phase.STARTING)
        case run.StepStarted():
            return Activity(Phase.WAITING_FOR_PROVIDER)
        case run.ToolStarted() | facts.ApprovalAnswered() | facts.QuestionAnswered():
            return Activity(Phase.RUNNING_TOOL)
        case facts.ApprovalAsked():
            return Activity(Phase.WAITING_FOR_APPROVAL)
        case facts.QuestionAsked():
            return Activity(Phase.WAITING_FOR_INPUT, hint="")  # Esc belongs to the form
        case run.CompactionStarted():
            return Activity(Phase.COMPACTING)
        case run.ProviderStreamReset():
            return Activity(Phase.RETRYING, _retry_label(event))
        case facts.TurnEnded():
            return None
        case (
            run.CompactionCompleted(trigger=run.CompactionTrigger.MANUAL)
            | facts.CompactionStopped(trigger=run.CompactionTrigger.MANUAL)
        ):
            return None
        case _:
            return now


def _phase(phase: Phase, now: Activity | None) -> Activity:
    """The same object while the phase lasts: a delta must cost nothing."""
    return now if now is not None and now.phase is phase else Activity(phase)


def _retry_label(event: run.ProviderStreamReset) -> str:
    wait = format_retry_after(event.delay) if event.delay > 0 else ""
    match event.reason:
        case run.RetryableFailureReset(kind=ProviderErrorKind.RATE_LIMIT):
            return f"rate limited · retry in {wait}" if wait else "rate limited · retrying"
        case run.RetryableFailureReset():
            return f"retrying provider · in {wait}" if wait else "retrying provider"
        case _:
            return "retrying provider response"
