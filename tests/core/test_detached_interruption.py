"""Detached jobs when the run is cancelled, fails, ends or is dropped (D57, D58)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rho_core import events as ev
from rho_core.authority.approvals import AllowOnce
from rho_core.authority.capabilities import (
    CapabilityRequest,
    HostProvidedTool,
    PrimaryWorkspace,
    ReadPath,
)
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind, ToolErrorKind
from rho_core.events import StopReason
from rho_core.history.messages import (
    ASYNC_TOOL_CALL_KIND,
    ToolCall,
    ToolResult,
)
from rho_core.providers.contract import OutputDelta, ProviderContext
from rho_core.testing import (
    FakeClock,
    ScriptedTool,
    ScriptedTurn,
)
from rho_core.tooling.contract import (
    ToolExecutionMode,
)
from rho_core.tooling.values import ToolFailed
from tests.core.authorization import ScriptedHandler
from tests.core.run_harness import (
    Gate,
    assert_calls_paired,
    assert_replay_safe,
    call,
    collect,
    leaked_tasks,
    names,
    of,
    open_session,
    results,
    run_all,
    until,
    within,
)

INTERRUPTED = "tool call interrupted before completion"


ASYNC = {"execution_mode": ToolExecutionMode.ASYNC}


def marked(*calls: ToolCall, only: tuple[str, ...] | None = None) -> ScriptedTurn:
    """An answer whose calls (or only those ids) the provider marks as async."""
    ids = [c.id for c in calls] if only is None else list(only)
    return ScriptedTurn.streaming([ProviderContext(ASYNC_TOOL_CALL_KIND, id) for id in ids], *calls)


@pytest.mark.clause("D57", "D58", "X4")
async def test_cancelling_while_awaiting_jobs_interrupts_them() -> None:
    gate = Gate()
    session, provider = await open_session(
        [marked(call("a", "t")), ScriptedTurn.completed("waiting")],
        tools=[gate.tool("t", **ASYNC)],
    )
    async with session.start("go") as run:
        await until(lambda: len(provider.requests) == 2)
        for _ in range(30):
            await asyncio.sleep(0)
        run.cancel()
        events = await within(collect(run))
        with pytest.raises(Cancelled):
            await run.outcome()
    assert gate.dropped == ["a"]
    finish = of(events, ev.ToolFinished)
    assert len(finish) == 1
    assert finish[0].completion == ToolFailed(ToolErrorKind.CANCELLED, INTERRUPTED)
    assert names(events)[-1] == "Cancelled"
    assert results(session.history) == [ToolResult("a", False, INTERRUPTED)]
    assert_replay_safe(session.history)
    assert not leaked_tasks()


READ = CapabilityRequest(ReadPath(Path("/w/x"), PrimaryWorkspace()), HostProvidedTool("asks"))


@pytest.mark.clause("D57", "D47")
async def test_cancelling_while_an_async_call_awaits_approval_pairs_the_whole_response() -> None:
    gate = Gate()
    handler = ScriptedHandler(AllowOnce())
    handler.hold = asyncio.Event()
    session, _ = await open_session(
        [
            marked(
                call("running", "t"),
                call("asking", "asks"),
                call("unstarted", "t"),
                call("sync", "sync"),
                only=("running", "asking", "unstarted"),
            )
        ],
        tools=[
            gate.tool("t", **ASYNC),
            gate.tool("asks", capabilities=(READ,), **ASYNC),
            ScriptedTool("sync"),
        ],
        policy=ScopedWorkspacePolicy().allow_read_paths().require_read_approval(),
        approvals=handler,
        max_parallel_tools=4,
    )
    async with session.start("go") as run:
        await until(lambda: handler.requests)
        run.cancel()
        events = await within(collect(run))
        with pytest.raises(Cancelled):
            await run.outcome()
    assert gate.running == ["running"]
    assert sorted(r.id for r in results(session.history)) == [
        "asking",
        "running",
        "sync",
        "unstarted",
    ]
    assert {r.content for r in results(session.history)} == {INTERRUPTED}
    assert_replay_safe(session.history)
    assert_calls_paired(events)
    assert not leaked_tasks()


@pytest.mark.clause("D57", "D58")
async def test_max_steps_with_a_pending_job_interrupts_it_before_the_commit() -> None:
    gate = Gate()
    session, _ = await open_session(
        [marked(call("a", "t"))], tools=[gate.tool("t", **ASYNC)], max_steps=1
    )
    events, outcome = await run_all(session)
    assert outcome.stop_reason is StopReason.MAX_STEPS
    assert names(events)[-2:] == ["ToolFinished", "Completed"]
    assert results(session.history) == [ToolResult("a", False, INTERRUPTED)]
    assert_replay_safe(session.history)


@pytest.mark.clause("D49", "E26")
async def test_a_denied_async_call_fails_before_it_detaches() -> None:
    session, _ = await open_session(
        [marked(call("a", "t")), ScriptedTurn.completed("ok")],
        tools=[Gate().tool("t", capabilities=(READ,), **ASYNC)],
    )
    events, _ = await run_all(session)
    assert not of(events, ev.ToolDetached)
    assert results(session.history)[0].content.startswith("read capability denied")
    assert_calls_paired(events)


@pytest.mark.clause("D57")
async def test_a_provider_failure_settles_jobs_and_keeps_finished_results() -> None:
    gate = Gate()
    error = ProviderError(ProviderErrorKind.OTHER, "down")
    session, _ = await open_session(
        [
            marked(call("a", "t"), call("b", "t")),
            ScriptedTurn.streaming_failed([OutputDelta("x")], error),
        ],
        tools=[gate.tool("t", **ASYNC)],
        max_parallel_tools=2,
    )
    gate.open("a")
    async with session.start("go") as run:
        events = await within(collect(run))
        with pytest.raises(ProviderError):
            await run.outcome()
    assert {r.id: r.ok for r in results(session.history)} == {"a": True, "b": False}
    assert names(events)[-1] == "Failed"
    assert_calls_paired(events)
    assert_replay_safe(session.history)


@pytest.mark.clause("D57", "X7")
async def test_a_job_that_overstays_its_completion_time_is_aborted_and_awaited() -> None:
    gate = Gate()
    clock = FakeClock(auto=False)
    session, provider = await open_session(
        [marked(call("a", "t")), ScriptedTurn.completed("waiting")],
        tools=[gate.tool("t", cleanup_timeout=3.0, **ASYNC)],
        clock=clock,
    )
    async with session.start("go") as run:
        await until(lambda: len(provider.requests) == 2)
        run.cancel()
        await until(lambda: clock.sleeping)
        assert not gate.dropped
        clock.advance(3.0)
        with pytest.raises(Cancelled):
            await within(run.outcome())
    assert gate.dropped == ["a"]
    assert not leaked_tasks()


@pytest.mark.clause("D54", "D57", "L5")
async def test_a_cancelled_delivery_keeps_all_ready_results() -> None:
    gate = Gate()
    session, provider = await open_session(
        [marked(call("a", "t"), call("b", "t")), ScriptedTurn.hanging()],
        tools=[gate.tool("t", **ASYNC)],
        max_parallel_tools=2,
        event_capacity=1,
    )
    async with session.start("go") as run:
        while len(provider.requests) < 2:
            await within(run.next_event())
        gate.open("a")
        gate.open("b")
        for _ in range(30):
            await asyncio.sleep(0)
        run.cancel()
        events = await within(collect(run))
        with pytest.raises(Cancelled):
            await run.outcome()
    assert {r.id: r.content for r in results(session.history)} == {"a": "done a", "b": "done b"}
    assert len(of(events, ev.ToolFinished)) == 2


@pytest.mark.clause("C5", "D57")
async def test_dropping_the_run_drops_its_jobs() -> None:
    gate = Gate()
    session, provider = await open_session(
        [marked(call("a", "t")), ScriptedTurn.hanging()], tools=[gate.tool("t", **ASYNC)]
    )
    async with session.start("go"):
        await until(lambda: len(provider.requests) == 2)
    assert gate.dropped == ["a"]
    assert session.history == ()
    assert not leaked_tasks()


@pytest.mark.clause("D52", "D57", "D58")
@pytest.mark.parametrize("later", [False, True])
async def test_cancelling_before_a_sync_batch_pairs_its_calls_for_the_next_prompt(
    later: bool,
) -> None:
    gate = Gate()
    job, sync = call("job", "t"), call("sync", "s")
    turns = [marked(job), ScriptedTurn.calls(sync)] if later else [marked(job, sync, only=("job",))]
    session, provider = await open_session(
        [*turns, ScriptedTurn.completed("next")],
        tools=[gate.tool("t", **ASYNC), ScriptedTool("s")],
    )
    async with session.start("go") as run:
        await until(lambda: gate.running and len(provider.requests) == len(turns))
        for _ in range(30):
            await asyncio.sleep(0)
        run.cancel()
        events = await within(collect(run))
    assert "sync" not in {e.call.id for e in of(events, ev.ToolProposed)}
    assert {r.id: r.content for r in results(session.history)} == {
        "job": INTERRUPTED,
        "sync": INTERRUPTED,
    }
    assert_replay_safe(session.history)
    assert (await within(session.complete("again"))).text == "next"
