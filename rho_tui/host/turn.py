"""One turn of a conversation: the run, its recorder, and how it ended."""

from __future__ import annotations

from rho_core import events as core
from rho_core.errors import (
    Cancelled,
    Interrupted,
    InvalidHostResponse,
    ProviderError,
    RhoError,
)
from rho_core.events import RunOutcome, StopReason
from rho_core.history.messages import UserMessage
from rho_core.ids import SteeringId
from rho_core.inputs import UserInput
from rho_core.run import Run
from rho_core.running.commands import Receipt, RetractionOutcome
from rho_core.session import Session
from rho_tui.host import facts
from rho_tui.host.facts import ConversationEvent, TurnEndKind
from rho_tui.host.recording import SessionRecording
from rho_tui.host.sessions.records import TurnCommitted
from rho_tui.host.turn_recorder import Recorded, TurnRecorder


class Turn:
    """A run under way. Its events go through `handle`, then `end` is called once."""

    def __init__(self, session: Session, run: Run, recording: SessionRecording) -> None:
        self.run = run
        self._session = session
        self._recording = recording
        self.recorder = TurnRecorder(recording.stage, recording.journal, session)
        self._accepting: list[tuple[Receipt[SteeringId], UserMessage]] = []
        self._committed = False

    async def steer(self, prompt: UserInput) -> SteeringId:
        """Stage input. Raises `InvalidHostResponse` when the run takes no more."""
        receipt = self.run.request_steer_retractable(prompt)
        self._accepting.append((receipt, prompt.message()))
        try:
            return await receipt
        finally:
            await self._note_accepted()

    async def retract(self, id: SteeringId) -> RetractionOutcome:
        """Take staged input back. Raises `InvalidHostResponse` after the run."""
        outcome = await self.run.retract_steering(id)
        if outcome is RetractionOutcome.RETRACTED:
            self.recorder.steering_retracted(id)
        return outcome

    async def handle(self, event: core.RunEvent) -> Recorded:
        """Record one event of the run."""
        if isinstance(event, core.SteeringApplied):
            await self._note_accepted()  # the run may apply input before `steer` returns
        if isinstance(event, core.Completed | core.Cancelled | core.Failed):
            self._committed = True
        return self.recorder.handle(event)

    async def end(self) -> list[ConversationEvent]:
        """All events are handled: stage the commit; the events that end the turn."""
        error: RhoError | None = None
        outcome: RunOutcome | None = None
        try:
            outcome = await self.run.outcome()
        except RhoError as failure:
            error = failure
        await self._note_accepted()
        if not self._committed:
            # dropped or crashed: what was recorded of the turn is all there is, and it stays
            self._session.replace_history(self._recording.journal.tied_up())
        ended = self._ended(outcome, error)
        shown = self.recorder.finish(self._session.history, ended.message)
        recording = self._recording
        recording.total_usage = recording.total_usage.merge(ended.usage)
        recording.stage(self._commit(ended))
        totals = facts.UsageTotals(recording.total_usage, self.recorder.context_tokens)
        return [*shown, totals, ended]

    def _ended(self, outcome: RunOutcome | None, error: RhoError | None) -> facts.TurnEnded:
        return facts.TurnEnded(
            kind=_kind(outcome, error, self._committed),
            message="" if error is None or isinstance(error, Cancelled) else str(error),
            text=outcome.text if outcome else "",
            usage=outcome.usage if outcome else self.recorder.usage,
            seconds=self.recorder.seconds,
            error_kind=_error_kind(error),
            retryable=error.retryable if error else False,
            unapplied_steering=self.recorder.unapplied_steering,
        )

    def _commit(self, ended: facts.TurnEnded) -> TurnCommitted:
        snapshot = self._session.snapshot()
        return TurnCommitted(
            kind=ended.kind,
            revision=snapshot.revision,
            messages=len(snapshot.history),
            provider=snapshot.provider,
            message=ended.message,
            error_kind=ended.error_kind,
            retryable=ended.retryable,
            seconds=ended.seconds,
            title=self._recording.title,
            turn_usage=ended.usage,
            total_usage=self._recording.total_usage,
            context_tokens=self.recorder.context_tokens,
            compaction=snapshot.compaction,
            cwd=self._recording.moved_to,
        )

    async def _note_accepted(self) -> None:
        """Tell the recorder of input that the run has accepted by now."""
        waiting = []
        for receipt, message in self._accepting:
            if not receipt.done:
                waiting.append((receipt, message))
                continue
            try:
                self.recorder.steering_accepted(await receipt, message)
            except InvalidHostResponse:
                pass  # refused; whoever steered is told
        self._accepting = waiting


def _kind(outcome: RunOutcome | None, error: RhoError | None, committed: bool) -> TurnEndKind:
    if outcome is not None:
        steps = outcome.stop_reason is StopReason.MAX_STEPS
        return TurnEndKind.MAX_STEPS if steps else TurnEndKind.COMPLETED
    if isinstance(error, Cancelled):
        return TurnEndKind.CANCELLED
    if isinstance(error, Interrupted) and not committed:
        return TurnEndKind.INTERRUPTED
    return TurnEndKind.FAILED


def _error_kind(error: RhoError | None) -> str:
    if error is None or isinstance(error, Cancelled):
        return ""
    if isinstance(error, ProviderError):
        return f"provider.{error.provider_kind.value}"
    return error.kind.value
