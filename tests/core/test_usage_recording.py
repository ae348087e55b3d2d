"""The usage recorder: events, context, bounded diagnostics (J1–J5)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core.errors import InvalidConfiguration, ProviderErrorKind
from rho_core.history.messages import ModelIdentity
from rho_core.ids import RunId, SessionId
from rho_core.usage import ModelUsage
from rho_core.usage_recording import (
    AttemptCompleted,
    AttemptFailed,
    ProviderRequestUsageRecorder,
    UsageContext,
    UsageEvent,
    UsageRecording,
)

IDENTITY = ModelIdentity("p", "a", "m")
CONTEXT = UsageContext(IDENTITY, "agent", SessionId("s"), None, RunId("r"), 1, 1)


class Ledger(ProviderRequestUsageRecorder):
    def __init__(self, error: BaseException | None = None) -> None:
        self.events: list[UsageEvent] = []
        self.error = error

    async def record(self, event: UsageEvent) -> None:
        self.events.append(event)
        if self.error is not None:
            raise self.error


@pytest.mark.clause("J1", "J2")
async def test_every_attempt_is_one_event_with_its_own_id() -> None:
    ledger = Ledger()
    recording = UsageRecording(ledger, clock=lambda: 12.3456)
    usage = ModelUsage(input_tokens=3)
    await recording.record(CONTEXT, usage, AttemptFailed(ProviderErrorKind.TIMEOUT))
    await recording.record(CONTEXT, usage, AttemptCompleted())
    first, second = ledger.events
    assert first.event_id != second.event_id
    assert first.timestamp_utc_ms == 12345
    assert (first.context, first.usage) == (CONTEXT, usage)
    assert first.outcome == AttemptFailed(ProviderErrorKind.TIMEOUT)
    assert recording.is_enabled


@pytest.mark.clause("A15")
async def test_without_a_recorder_nothing_happens() -> None:
    recording = UsageRecording()
    await recording.record(CONTEXT, ModelUsage(), AttemptCompleted())
    assert not recording.is_enabled
    assert recording.diagnostics == ()


@pytest.mark.clause("J4", "J5")
async def test_a_recorder_failure_is_not_fatal_and_becomes_a_bounded_diagnostic() -> None:
    recording = UsageRecording(Ledger(RuntimeError("ä" * 1000)))
    await recording.record(CONTEXT, ModelUsage(), AttemptCompleted())
    [text] = recording.diagnostics
    assert text == "ä" * 512
    silent = UsageRecording(Ledger(ValueError()))
    await silent.record(CONTEXT, ModelUsage(), AttemptCompleted())
    assert silent.diagnostics == ("ValueError",)


@pytest.mark.clause("J4")
async def test_diagnostics_drop_the_oldest_at_the_bound() -> None:
    ledger = Ledger()
    recording = UsageRecording(ledger)
    for index in range(20):
        ledger.error = RuntimeError(str(index))
        await recording.record(CONTEXT, ModelUsage(), AttemptCompleted())
    assert recording.diagnostics == tuple(str(index) for index in range(4, 20))


@pytest.mark.clause("J4")
async def test_a_dropped_task_stays_dropped() -> None:
    recording = UsageRecording(Ledger(asyncio.CancelledError()))
    with pytest.raises(asyncio.CancelledError):
        await recording.record(CONTEXT, ModelUsage(), AttemptCompleted())


@pytest.mark.clause("J2", "A16")
def test_a_purpose_is_never_blank() -> None:
    assert UsageContext.for_purpose(IDENTITY, "title").session_id is None
    assert UsageRecording().purpose == "agent"
    for build in (
        lambda: UsageContext.for_purpose(IDENTITY, " "),
        lambda: UsageRecording(purpose="\t"),
    ):
        with pytest.raises(InvalidConfiguration, match="usage purpose must not be empty"):
            build()
