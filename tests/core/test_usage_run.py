"""What a usage recorder learns of a run (J.1, K.11 usage_tests)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core import events as ev
from rho_core.authority.workspace import Workspace
from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind
from rho_core.ids import SessionId
from rho_core.providers.contract import OutputDelta, RequestAttemptFailed, UsageReported
from rho_core.testing import SCRIPTED_IDENTITY, FakeClock, ScriptedTool, ScriptedTurn
from rho_core.usage import ModelUsage
from rho_core.usage_recording import (
    AttemptCancelled,
    AttemptCompleted,
    AttemptFailed,
    AttemptInvalidResponse,
    ProviderRequestUsageRecorder,
    UsageEvent,
)
from tests.core.run_harness import (
    call,
    collect,
    of,
    open_session,
    read_until,
    run_all,
    until,
    within,
)


class Ledger(ProviderRequestUsageRecorder):
    def __init__(self, failure: str | None = None) -> None:
        self.events: list[UsageEvent] = []
        self.failure = failure

    async def record(self, event: UsageEvent) -> None:
        self.events.append(event)
        if self.failure is not None:
            raise RuntimeError(self.failure)


def used(tokens: int) -> UsageReported:
    return UsageReported(ModelUsage(output_tokens=tokens))


@pytest.mark.clause("J1", "J2", "A17")
async def test_each_attempt_is_recorded_with_its_request_context(tmp_path: Path) -> None:
    ledger = Ledger()
    workspace = Workspace(tmp_path)
    session, _ = await open_session(
        [
            ScriptedTurn.streaming([used(3)], call("", "t")),
            ScriptedTurn.streaming([used(4)], call("c", "t")),
            ScriptedTurn.streaming([used(5)], "end"),
        ],
        tools=[ScriptedTool("t")],
        usage_recorder=ledger,
        usage_purpose="review",
        usage_parent_session_id=SessionId("parent"),
        workspace=workspace,
    )
    await run_all(session)
    assert [e.outcome for e in ledger.events] == [
        AttemptInvalidResponse(),
        AttemptCompleted(),
        AttemptCompleted(),
    ]
    assert [e.usage.output_tokens for e in ledger.events] == [3, 4, 5]
    contexts = [e.context for e in ledger.events]
    assert [(c.step_index, c.attempt_index) for c in contexts] == [(1, 1), (1, 2), (2, 1)]
    assert {c.run_id for c in contexts} == {contexts[0].run_id}
    first = contexts[0]
    assert (first.identity, first.session_id) == (SCRIPTED_IDENTITY, session.id)
    assert (first.purpose, first.parent_session_id) == ("review", "parent")
    assert first.workspace_path == workspace.root


@pytest.mark.clause("J3", "C82")
async def test_provider_internal_retries_are_distinct_physical_attempts() -> None:
    ledger = Ledger()
    stream = [
        used(9),
        RequestAttemptFailed(ProviderErrorKind.UNAVAILABLE),
        OutputDelta("x"),
        used(1),
    ]
    session, _ = await open_session([ScriptedTurn.streaming(stream)], usage_recorder=ledger)
    await run_all(session)
    assert [(e.outcome, e.usage.output_tokens) for e in ledger.events] == [
        (AttemptFailed(ProviderErrorKind.UNAVAILABLE), 9),
        (AttemptCompleted(), 1),
    ]
    assert [e.context.attempt_index for e in ledger.events] == [1, 2]


@pytest.mark.clause("J1", "C91")
async def test_a_failed_streams_usage_is_recorded_but_not_part_of_the_outcome() -> None:
    ledger = Ledger()
    error = ProviderError(ProviderErrorKind.RATE_LIMIT, "slow down", retryable=True)
    session, _ = await open_session(
        [ScriptedTurn.streaming_failed([used(7)], error), ScriptedTurn.streaming([used(2)], "ok")],
        usage_recorder=ledger,
        clock=FakeClock(),
    )
    _, outcome = await run_all(session)
    assert outcome.usage.output_tokens == 2
    assert [(e.outcome, e.usage.output_tokens) for e in ledger.events] == [
        (AttemptFailed(ProviderErrorKind.RATE_LIMIT), 7),
        (AttemptCompleted(), 2),
    ]


@pytest.mark.clause("J3", "C71")
async def test_cancellation_records_queued_usage_that_was_never_shown() -> None:
    ledger = Ledger()
    turn = ScriptedTurn.hanging(OutputDelta("a"), OutputDelta("b"), used(6))
    session, provider = await open_session([turn], usage_recorder=ledger, event_capacity=1)
    async with session.start("go") as run:
        while not isinstance(await within(run.next_event()), ev.StepStarted):
            pass
        await until(lambda: provider.requests and run._events._channel._on_room is not None)
        run.cancel()
        await until(lambda: ledger.events)
        events = await within(collect(run))
        with pytest.raises(Cancelled):
            await run.outcome()
    assert not of(events, ev.UsageUpdated)
    assert [(e.outcome, e.usage.output_tokens) for e in ledger.events] == [(AttemptCancelled(), 6)]


@pytest.mark.clause("J3")
async def test_cancellation_records_usage_seen_before_it() -> None:
    ledger = Ledger()
    session, _ = await open_session([ScriptedTurn.hanging(used(6))], usage_recorder=ledger)
    async with session.start("go") as run:
        await read_until(run, ev.UsageUpdated)
        run.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())
    assert [(e.outcome, e.usage.output_tokens) for e in ledger.events] == [(AttemptCancelled(), 6)]


@pytest.mark.clause("J4", "J5")
async def test_a_failing_recorder_never_fails_the_run_and_shows_in_diagnostics() -> None:
    session, _ = await open_session(
        [ScriptedTurn.completed("fine")], usage_recorder=Ledger(failure="x" * 2000)
    )
    _, outcome = await run_all(session)
    assert outcome.text == "fine"
    diagnostics = session.diagnostics().usage_recorder_diagnostics
    assert [len(text) for text in diagnostics] == [1024]
