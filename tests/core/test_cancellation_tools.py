"""Cancelling a run while its tools work (D.5, X4, X7)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core import events as ev
from rho_core.errors import Cancelled, RhoError
from rho_core.history.messages import (
    ASYNC_TOOL_CALL_KIND,
    ToolResult,
)
from rho_core.providers.contract import (
    ProviderContext,
)
from rho_core.testing import (
    FakeClock,
    PlannedTool,
    ScriptedTool,
    ScriptedTurn,
)
from rho_core.tooling.contract import AuthorizedToolContext, ToolExecutionMode, ToolInvocation
from rho_core.tooling.values import ToolOutput, ToolProgress, ToolSucceeded
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
    read_until,
    results,
    until,
    within,
)

INTERRUPTED = "tool call interrupted before completion"


async def cancelled_events(run: object) -> list[ev.RunEvent]:
    """Cancel, see the run end as Cancelled, return the events that were left."""
    run.cancel()  # type: ignore[attr-defined]
    events = await within(collect(run))  # type: ignore[arg-type]
    with pytest.raises(Cancelled):
        await within(run.outcome())  # type: ignore[attr-defined]
    return events


@pytest.mark.clause("C62", "D19")
async def test_cancelling_while_a_proposal_is_blocked_interrupts_every_call() -> None:
    tool = ScriptedTool("t")
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"), call("b", "t")), ScriptedTurn.completed("next")],
        tools=[tool],
        event_capacity=1,
    )
    async with session.start("go") as run:
        while not isinstance(await within(run.next_event()), ev.ModelCallCompleted):
            pass
        await until(lambda: run._events._channel._on_room is not None)
        events = await cancelled_events(run)
    assert tool.calls == []
    assert not of(events, ev.ToolStarted, ev.ToolFinished)
    assert [r.content for r in results(session.history)] == [INTERRUPTED, INTERRUPTED]
    assert_replay_safe(session.history)
    assert (await session.complete("again")).text == "next"


@pytest.mark.clause("D29", "D30", "X4", "D32")
async def test_cancelling_a_running_tool_drops_it_and_finishes_its_call() -> None:
    gate = Gate()
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("next")],
        tools=[gate.tool("t")],
    )
    async with session.start("go") as run:
        await until(lambda: gate.running)
        events = await cancelled_events(run)
    assert gate.dropped == ["a"]
    assert names(events)[-2:] == ["ToolFinished", "Cancelled"]
    assert results(session.history) == [ToolResult("a", False, INTERRUPTED)]
    assert (await session.complete("again")).text == "next"
    assert not leaked_tasks()


@pytest.mark.clause("D29", "X4")
async def test_cancelling_between_tools_keeps_what_completed() -> None:
    gate = Gate()
    gate.open("a")
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"), call("b", "t"), call("c", "t"))],
        tools=[gate.tool("t")],
    )
    async with session.start("go") as run:
        await until(lambda: gate.running == ["a", "b"])
        events = await cancelled_events(run)
    assert [(r.id, r.ok) for r in results(session.history)] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]
    assert gate.running == ["a", "b"]
    assert_calls_paired(events)


@pytest.mark.clause("D26", "D29", "X4")
async def test_a_tool_that_finished_during_blocked_progress_keeps_its_output() -> None:
    ready = asyncio.Event()

    async def body(invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        if invocation.id == "slow":
            await asyncio.Event().wait()
        for n in range(2):
            await context.progress.send(ToolProgress(str(n)))
        ready.set()
        return ToolOutput.text("kept")

    session, _ = await open_session(
        [ScriptedTurn.calls(call("slow", "t"), call("quick", "t"))],
        tools=[PlannedTool("t", body)],
        event_capacity=1,
        max_parallel_tools=2,
    )
    async with session.start("go") as run:
        seen: list[str] = []
        while seen.count("ToolStarted") < 2:
            seen.append(type(await within(run.next_event())).__name__)
        await within(ready.wait())
        for _ in range(20):
            await asyncio.sleep(0)
        events = await cancelled_events(run)
    assert [(r.id, r.content) for r in results(session.history)] == [
        ("slow", INTERRUPTED),
        ("quick", "kept"),
    ]
    finished = {str(e.call_id): e.completion for e in of(events, ev.ToolFinished)}
    assert isinstance(finished["quick"], ToolSucceeded)


@pytest.mark.clause("X7", "D29")
async def test_a_tool_may_complete_after_cancellation_within_its_time() -> None:
    async def body(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        await context.cancellation.cancelled()
        await asyncio.sleep(0)
        return ToolOutput.text("cleaned up")

    clock = FakeClock(auto=False)
    tool = PlannedTool("t", body, cleanup_timeout=5.0)
    session, _ = await open_session([ScriptedTurn.calls(call("a", "t"))], tools=[tool], clock=clock)
    async with session.start("go") as run:
        await read_until(run, ev.ToolStarted)
        for _ in range(20):
            await asyncio.sleep(0)
        await cancelled_events(run)
    assert results(session.history) == [ToolResult("a", True, "cleaned up")]
    assert not leaked_tasks()


@pytest.mark.clause("X7")
async def test_a_tool_that_overstays_its_cleanup_time_is_dropped() -> None:
    clock = FakeClock(auto=False)
    gate = Gate()
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"))],
        tools=[gate.tool("t", cleanup_timeout=5.0)],
        clock=clock,
    )
    async with session.start("go") as run:
        await until(lambda: gate.running)
        run.cancel()
        await until(lambda: clock.sleeping)
        assert not run.is_finished
        clock.advance(5.0)
        with pytest.raises(Cancelled):
            await within(run.outcome())
    assert gate.dropped == ["a"]
    assert results(session.history) == [ToolResult("a", False, INTERRUPTED)]


@pytest.mark.clause("D20")
async def test_pending_preparations_start_together_and_cancel_into_every_slot() -> None:
    preparing: list[str] = []

    class Slow(PlannedTool):
        async def prepare(self, invocation, context):  # type: ignore[no-untyped-def]
            preparing.append(str(invocation.id))
            if invocation.id != "b":
                await asyncio.Event().wait()
            return await super().prepare(invocation, context)

    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"), call("b", "t"), call("c", "t"))],
        tools=[Slow("t", Gate().body)],
    )
    async with session.start("go") as run:
        await until(lambda: len(preparing) == 3)
        events = await cancelled_events(run)
    assert [(r.id, r.content) for r in results(session.history)] == [
        ("a", INTERRUPTED),
        ("b", INTERRUPTED),
        ("c", INTERRUPTED),
    ]
    assert not of(events, ev.ToolStarted, ev.ToolFinished)
    assert not leaked_tasks()


@pytest.mark.clause("D25", "D29")
async def test_cancellation_ends_running_workers_and_never_starts_queued_ones() -> None:
    gate = Gate()
    session, _ = await open_session(
        [ScriptedTurn.calls(*(call(k, "t") for k in "abcd"))],
        tools=[gate.tool("t")],
        max_parallel_tools=2,
    )
    async with session.start("go") as run:
        await until(lambda: len(gate.running) == 2)
        events = await cancelled_events(run)
    assert sorted(gate.dropped) == gate.running == ["a", "b"]
    assert len(results(session.history)) == 4
    assert_calls_paired(events)


@pytest.mark.clause("D31", "C9")
async def test_dropping_the_consumer_cleans_up_all_active_workers() -> None:
    gate = Gate()
    session, _ = await open_session(
        [ScriptedTurn.calls(*(call(k, "t") for k in "abc"))],
        tools=[gate.tool("t")],
        max_parallel_tools=3,
    )
    async with session.start("go") as run:
        await until(lambda: len(gate.running) == 3)
        run._events.drop()
        gate.open("a")  # its ToolFinished meets the closed channel
        with pytest.raises(RhoError):
            await within(run.outcome())
    assert sorted(gate.dropped) == ["b", "c"]
    assert session.history == ()
    assert not leaked_tasks()


@pytest.mark.clause("D35", "D30", "C5")
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("mode", [ToolExecutionMode.SYNC, ToolExecutionMode.ASYNC])
async def test_cleanup_that_reports_and_asks_cannot_hang_the_end(
    drop: bool, mode: ToolExecutionMode
) -> None:
    running = asyncio.Event()
    refused: list[bool] = []

    async def body(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(100):
                refused.append(await context.progress.send(ToolProgress("cleaning")))
        return ToolOutput.text("")

    mark = ProviderContext(ASYNC_TOOL_CALL_KIND, "a")
    session, _ = await open_session(
        [ScriptedTurn.streaming([mark], call("a", "t")), ScriptedTurn.hanging()],
        tools=[PlannedTool("t", body, execution_mode=mode)],
    )
    async with session.start("go") as run:
        await within(running.wait())
        if not drop:
            await cancelled_events(run)
        await within(run.aclose())
    assert refused[-1] is False
    assert not leaked_tasks()
