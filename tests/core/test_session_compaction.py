"""Compaction of a session, by hand and by itself (B.6, J.2)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core import events as ev
from rho_core.cancellation import CancellationToken
from rho_core.errors import (
    Cancelled,
    Interrupted,
    InvalidConfiguration,
    InvalidHostResponse,
)
from rho_core.history.compaction import CompactionOutput, CompactionPolicy, CompactionRequest
from rho_core.history.messages import (
    UserMessage,
)
from rho_core.history.tokens import estimate_request_tokens
from rho_core.session import SessionState
from rho_core.testing import (
    ScriptedCompactor,
    ScriptedTool,
    ScriptedTurn,
)
from tests.core.run_harness import (
    call,
    names,
    of,
    open_session,
    read_until,
    run_all,
    run_failing,
    until,
    within,
)

SUMMARY = (UserMessage.of_text("summary"),)


@pytest.mark.clause("B21", "A12", "B26")
async def test_compaction_settings_are_checked() -> None:
    session, _ = await open_session([])
    with pytest.raises(InvalidConfiguration, match="requires a compactor"):
        session.set_compaction(None, CompactionPolicy.after_messages(1))
    with pytest.raises(InvalidConfiguration, match="no compactor is configured"):
        await session.compact()
    session.set_compaction(ScriptedCompactor(), CompactionPolicy.after_messages(9))
    assert session.diagnostics().compaction_trigger_messages == 9


@pytest.mark.clause("B9", "B27", "B29", "J12", "J13")
async def test_manual_compaction_commits_or_leaves_everything_as_it_was() -> None:
    compactor = ScriptedCompactor([SUMMARY])
    session, _ = await open_session([ScriptedTurn.completed("x")], compactor=compactor)
    await session.complete("a")
    outcome = await session.compact()
    assert (outcome.previous_messages, outcome.current_messages, outcome.revision) == (2, 1, 2)
    assert outcome.committed_snapshot is None
    assert session.history == SUMMARY
    assert session.state is SessionState.COMPLETED
    assert session.snapshot().compaction.completed_compactions == 1
    request = compactor.requests[0]
    assert (request.step_index, request.session_id) == (None, session.id)
    with pytest.raises(InvalidHostResponse):
        await session.compact()
    assert session.state is SessionState.IDLE
    assert (session.history, session.revision) == (SUMMARY, 2)


@pytest.mark.clause("J9", "B13", "C29", "C30", "X5")
async def test_automatic_compaction_counts_the_message_in_flight_and_commits_at_once() -> None:
    compactor = ScriptedCompactor([SUMMARY])
    session, provider = await open_session(
        [ScriptedTurn.completed("x"), ScriptedTurn.completed("y")],
        compactor=compactor,
        compaction_policy=CompactionPolicy.after_messages(3),
    )
    await session.complete("a")
    events, outcome = await run_all(session, "b")
    assert names(events)[:4] == [
        "Started",
        "CompactionStarted",
        "CompactionCompleted",
        "StepStarted",
    ]
    completed = events[2]
    assert isinstance(completed, ev.CompactionCompleted)
    assert completed.outcome.committed_snapshot is not None
    assert completed.outcome.committed_snapshot.revision == completed.outcome.revision == 2
    assert compactor.requests[0].messages[-1] == UserMessage.of_text("b")
    assert compactor.requests[0].step_index == 1
    assert provider.requests[1].messages == SUMMARY
    assert outcome.revision == 3
    assert session.snapshot().compaction.last_revision == 2


@pytest.mark.clause("C69", "J10")
async def test_a_failing_compactor_fails_the_run_with_the_uncompacted_history() -> None:
    session, provider = await open_session(
        [],
        compactor=ScriptedCompactor.failing("no room"),
        compaction_policy=CompactionPolicy.after_messages(1),
    )
    events, error = await run_failing(session)
    assert "no room" in str(error)
    assert names(events)[-1] == "Failed"
    assert session.history == (UserMessage.of_text("go"),)
    assert session.snapshot().compaction.completed_compactions == 0
    assert provider.requests == []


@pytest.mark.clause("B28", "B29", "B9")
async def test_the_hosts_own_token_reaches_the_compactor_and_nothing_is_committed() -> None:
    seen: list[CancellationToken] = []

    class Waiting(ScriptedCompactor):
        async def compact(self, request: CompactionRequest) -> CompactionOutput:
            seen.append(request.cancellation)
            await request.cancellation.cancelled()
            raise Cancelled

    session, _ = await open_session([ScriptedTurn.completed("x")], compactor=Waiting())
    await session.complete("a")
    before = session.snapshot()
    token = CancellationToken()
    compacting = asyncio.ensure_future(session.compact(token))
    await until(lambda: bool(seen))
    assert session.is_running
    token.cancel()
    with pytest.raises(Cancelled):
        await within(compacting)
    assert session.snapshot() == before
    assert (session.is_running, session.state) == (False, SessionState.IDLE)
    # a token that was set before is seen as well, and one that outlives the work holds nothing
    with pytest.raises(Cancelled):
        await within(session.compact(token))
    session.set_compaction(ScriptedCompactor([SUMMARY]), None)
    later = CancellationToken()
    await session.compact(later)
    later.cancel()
    assert seen[-1] is not later


class CrashingCompactor(ScriptedCompactor):
    async def compact(self, request: object) -> CompactionOutput:  # type: ignore[override]
        raise RuntimeError("boom")


@pytest.mark.clause("L9")
async def test_a_crashing_compactor_is_a_typed_failure() -> None:
    session, _ = await open_session([], compactor=CrashingCompactor())
    with pytest.raises(Interrupted, match="RuntimeError"):
        await session.compact()
    assert not session.is_running


@pytest.mark.clause("C9", "J9")
async def test_a_compaction_stays_committed_when_the_consumer_is_lost_later() -> None:
    session, _ = await open_session(
        [ScriptedTurn.completed("x")],
        compactor=ScriptedCompactor([SUMMARY]),
        compaction_policy=CompactionPolicy.after_messages(1),
        event_capacity=1,
    )
    async with session.start("go") as run:
        await read_until(run, ev.CompactionStarted)
        await until(lambda: session.revision == 1)
        run._events.drop()
        with pytest.raises(Interrupted, match="consumer was dropped"):
            await within(run.outcome())
    assert (session.history, session.revision) == (SUMMARY, 1)


@pytest.mark.clause("C63", "J9", "B13")
async def test_cancelling_after_a_compaction_commits_on_top_of_it() -> None:
    session, provider = await open_session(
        [ScriptedTurn.hanging()],
        compactor=ScriptedCompactor([SUMMARY]),
        compaction_policy=CompactionPolicy.after_messages(1),
    )
    async with session.start("go") as run:
        await until(lambda: provider.requests)
        run.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())
    assert (session.history, session.revision) == (SUMMARY, 2)


@pytest.mark.clause("J15", "J9", "B13")
async def test_each_step_tells_the_estimate_of_its_very_request() -> None:
    """The sum is carried along, through tool results and a compaction in between."""
    session, provider = await open_session(
        [
            *(ScriptedTurn.calls(call(id, "t", at=id)) for id in ("a", "b", "c")),
            ScriptedTurn.completed("end"),
        ],
        tools=[ScriptedTool("t", "a result")],
        compactor=ScriptedCompactor([(UserMessage.of_text("what happened so far"),)]),
        compaction_policy=CompactionPolicy.after_messages(4),
    )
    events, _ = await run_all(session)
    assert "CompactionCompleted" in names(events)
    told = [step.estimated_context_tokens for step in of(events, ev.StepStarted)]
    assert told == [
        estimate_request_tokens(request.messages, request.tools) for request in provider.requests
    ]
    assert len(set(told)) == len(told) == 4
