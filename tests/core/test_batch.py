"""Tool batches: overlap, order, authority, progress (D.5, K.6)."""

from __future__ import annotations

import asyncio
from pathlib import PurePath
from typing import Any

import pytest

from rho_core import events as ev
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.history.messages import ToolResult
from rho_core.runtime import Rho
from rho_core.testing import PlannedTool, ScriptedProvider, ScriptedTool, ScriptedTurn, tool_spec
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    PreparedToolInvocation,
    Tool,
    ToolContext,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.resources import ToolResourceAccess, WorkspacePath
from rho_core.tooling.values import (
    ToolFailed,
    ToolMetadata,
    ToolOperation,
    ToolOutput,
    ToolProgress,
    ToolSucceeded,
)
from tests.core.run_harness import (
    Gate,
    assert_calls_paired,
    call,
    collect,
    of,
    open_session,
    results,
    run_all,
    until,
    within,
)

EXCLUSIVE_A = ToolResourceAccess.exclusive(WorkspacePath(PurePath("/w/a")))


def started(events: list[ev.RunEvent]) -> list[str]:
    return [str(e.call_id) for e in of(events, ev.ToolStarted)]


def finished(events: list[ev.RunEvent]) -> list[str]:
    return [str(e.call_id) for e in of(events, ev.ToolFinished)]


def batch(*ids: str, name: str = "t") -> list[ScriptedTurn]:
    return [
        ScriptedTurn.calls(*(call(id, name) for id in ids)),
        ScriptedTurn.completed("end"),
    ]


@pytest.mark.clause("D25", "A6")
async def test_independent_calls_overlap_up_to_the_active_worker_bound() -> None:
    gate = Gate()
    session, _ = await open_session(
        batch("a", "b", "c", "d"), tools=[gate.tool("t")], max_parallel_tools=2
    )
    async with session.start("go") as run:
        await until(lambda: len(gate.running) == 2)
        for _ in range(20):
            await asyncio.sleep(0)
        assert gate.running == ["a", "b"]
        for key in "abcd":
            gate.open(key)
        await within(run.outcome())
    assert gate.peak == 2
    assert gate.running == ["a", "b", "c", "d"]


@pytest.mark.clause("D17", "D23")
async def test_writes_to_one_resource_serialise_in_model_order() -> None:
    gate = Gate()
    tool = gate.tool("t", accesses=(EXCLUSIVE_A,))
    session, _ = await open_session(batch("a", "b", "c"), tools=[tool], max_parallel_tools=3)
    async with session.start("go") as run:
        for at, key in enumerate("abc", start=1):
            await until(lambda at=at: len(gate.running) == at)
            gate.open(key)
        await within(run.outcome())
    assert gate.peak == 1
    assert gate.running == ["a", "b", "c"]


@pytest.mark.clause("D18", "D4", "D21")
async def test_an_exclusive_call_is_a_barrier_that_later_calls_cannot_overtake() -> None:
    gate = Gate()
    turns = [
        ScriptedTurn.calls(call("a", "t"), call("x", "alone"), call("b", "t")),
        ScriptedTurn.completed("end"),
    ]
    session, _ = await open_session(
        turns, tools=[gate.tool("t"), ScriptedTool("alone")], max_parallel_tools=3
    )
    async with session.start("go") as run:
        await until(lambda: gate.running == ["a"])
        gate.open("b")
        for _ in range(20):
            await asyncio.sleep(0)
        assert gate.running == ["a"]
        gate.open("a")
        events = await within(collect(run))
    assert started(events) == finished(events) == ["a", "x", "b"]


@pytest.mark.clause("D28")
async def test_out_of_order_completion_keeps_history_in_model_order() -> None:
    gate = Gate()
    session, provider = await open_session(
        batch("a", "b", "c"), tools=[gate.tool("t")], max_parallel_tools=3
    )
    async with session.start("go") as run:
        await until(lambda: len(gate.running) == 3)
        for count, key in enumerate("cab", start=1):
            gate.open(key)
            for _ in range(30):
                await asyncio.sleep(0)
            assert len(provider.requests) == (2 if count == 3 else 1)
        events = await within(collect(run))
    assert finished(events) == ["c", "a", "b"]
    assert [r.id for r in results(provider.requests[1].messages)] == ["a", "b", "c"]
    assert [r.id for r in results(session.snapshot().history)] == ["a", "b", "c"]


@pytest.mark.clause("D22", "D18")
async def test_an_unavailable_call_does_not_block_independent_work() -> None:
    turns = [
        ScriptedTurn.calls(call("u", "missing"), call("a", "t")),
        ScriptedTurn.completed("end"),
    ]
    session, _ = await open_session(turns, tools=[ScriptedTool("t")])
    events, _ = await run_all(session)
    assert [r.ok for r in results(session.history)] == [False, True]
    assert started(events) == ["a"]


@pytest.mark.clause("D27")
async def test_one_failure_does_not_cancel_a_sibling() -> None:
    async def body(invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        if invocation.id == "a":
            raise ToolError.execution("broken")
        await asyncio.sleep(0)
        return ToolOutput.text("fine")

    session, _ = await open_session(
        batch("a", "b"), tools=[PlannedTool("t", body)], max_parallel_tools=2
    )
    events, _ = await run_all(session)
    assert results(session.history) == [
        ToolResult("a", False, "broken"),
        ToolResult("b", True, "fine"),
    ]
    assert_calls_paired(events)


@pytest.mark.clause("D27")
async def test_a_cancelled_error_of_a_tool_alone_is_an_ordinary_failure() -> None:
    session, _ = await open_session(batch("a"), tools=[ScriptedTool("t", ToolError.cancelled())])
    events, outcome = await run_all(session)
    assert outcome.text == "end"
    completion = of(events, ev.ToolFinished)[0].completion
    assert isinstance(completion, ToolFailed)
    assert completion.kind is ToolErrorKind.CANCELLED


@pytest.mark.clause("D5")
async def test_a_tool_implementing_neither_call_nor_prepare_reports_the_mistake() -> None:
    class Empty(Tool):
        def spec(self) -> Any:
            return tool_spec("t")

    session, _ = await open_session(batch("a"), tools=[Empty()])
    events, _ = await run_all(session)
    assert "implements neither call nor prepare" in results(session.history)[0].content
    assert_calls_paired(events)


@pytest.mark.clause("D22")
async def test_a_preparation_error_starts_and_finishes_with_empty_metadata() -> None:
    class Refusing(PlannedTool):
        async def prepare(
            self, invocation: ToolInvocation, context: ToolPreparationContext
        ) -> PreparedToolInvocation:
            raise ToolError.invalid_arguments("unknown key 'x'")

    tool = Refusing("t", Gate().body)
    session, _ = await open_session(batch("a"), tools=[tool])
    events, _ = await run_all(session)
    assert of(events, ev.ToolStarted)[0].metadata == ToolMetadata()
    assert results(session.history)[0].content == "invalid arguments: unknown key 'x'"


@pytest.mark.clause("D9", "D10", "D20")
async def test_contexts_offer_exactly_what_their_stage_may_use() -> None:
    seen: dict[str, Any] = {}

    class Looking(Tool):
        def spec(self) -> Any:
            return tool_spec("t")

        async def prepare(
            self, invocation: ToolInvocation, context: ToolPreparationContext
        ) -> PreparedToolInvocation:
            seen["prepare"] = set(dir(context))

            async def execute(call_context: AuthorizedToolContext) -> ToolOutput:
                seen["execute"] = set(dir(call_context))
                return ToolOutput.text("")

            metadata = ToolMetadata(ToolOperation.READ, ("a.txt",))
            return PreparedToolInvocation.resource_aware((), (), metadata, execute)

    session, _ = await open_session(batch("a"), tools=[Looking()])
    events, _ = await run_all(session)
    assert of(events, ev.ToolStarted)[0].metadata.affected_paths == ("a.txt",)
    assert not {"progress", "request_host_input", "authorize"} & seen["prepare"]
    assert not {"authorize", "child_approval_session"} & seen["execute"]
    assert {"progress", "request_host_input", "workspace", "cancellation"} <= seen["execute"]


@pytest.mark.clause("D36", "C21")
async def test_progress_sent_just_before_returning_precedes_the_finish() -> None:
    async def body(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        await context.progress.send(ToolProgress("last words"))
        return ToolOutput.text("ok")

    session, _ = await open_session(batch("a"), tools=[PlannedTool("t", body)], event_capacity=1)
    events, _ = await run_all(session)
    kinds = [type(e).__name__ for e in events if getattr(e, "call_id", None) == "a"]
    assert kinds == ["ToolStarted", "ToolUpdated", "ToolFinished"]


@pytest.mark.clause("D38", "D34")
async def test_a_flooding_tool_is_held_back_by_an_unread_channel() -> None:
    sent = 0

    async def flood(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        nonlocal sent
        while sent < 200:
            await context.progress.send(ToolProgress(str(sent)))
            sent += 1
        return ToolOutput.text("done")

    session, _ = await open_session(batch("a"), tools=[PlannedTool("t", flood)], event_capacity=1)
    async with session.start("go") as run:
        while not isinstance(await within(run.next_event()), ev.ToolStarted):
            pass
        for _ in range(300):
            await asyncio.sleep(0)
        assert 0 < sent <= 18
        events = await within(collect(run))
    assert len(of(events, ev.ToolUpdated)) == 200


@pytest.mark.clause("L12", "D7")
async def test_a_tool_that_changes_its_arguments_does_not_change_history() -> None:
    class Mutating(ScriptedTool):
        async def call(self, invocation: ToolInvocation, context: ToolContext) -> ToolOutput:
            invocation.arguments["added"] = 1
            invocation.arguments["list"].append(2)
            return await super().call(invocation, context)

    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t", list=[1])), ScriptedTurn.completed("end")],
        tools=[Mutating("t")],
    )
    events, _ = await run_all(session)
    assert of(events, ev.ToolProposed)[0].call == call("a", "t", list=[1])
    assert session.history[1].content == (call("a", "t", list=[1]),)  # type: ignore[union-attr]


@pytest.mark.clause("C19", "D19")
async def test_all_proposals_come_before_any_start() -> None:
    session, _ = await open_session(batch("a", "b", "c"), tools=[ScriptedTool("t")])
    events, _ = await run_all(session)
    kinds = [type(e).__name__ for e in events]
    assert kinds.index("ToolStarted") > max(i for i, k in enumerate(kinds) if k == "ToolProposed")
    assert [e.call.id for e in of(events, ev.ToolProposed)] == ["a", "b", "c"]


async def test_a_tool_whose_own_task_is_cancelled_fails_alone() -> None:
    async def body(_invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        inner = asyncio.create_task(asyncio.sleep(60))
        inner.cancel()
        await inner
        return ToolOutput.text("unreachable")

    session, _ = await open_session(batch("a"), tools=[PlannedTool("t", body)])
    _, outcome = await run_all(session)
    assert outcome.text == "end"
    assert results(session.history)[0].ok is False


async def test_a_tool_that_returns_nonsense_fails_alone() -> None:
    async def body(_invocation: ToolInvocation, _context: AuthorizedToolContext) -> Any:
        return "text"

    session, _ = await open_session(batch("a"), tools=[PlannedTool("t", body)])
    await run_all(session)
    assert results(session.history)[0] == ToolResult("a", False, "tool returned no output")


@pytest.mark.clause("D27", "D41", "C22")
async def test_success_carries_the_whole_output_in_its_event() -> None:
    output = ToolOutput.text("text", ToolMetadata(diff="--- a"))
    provider = ScriptedProvider(batch("a"))
    session = await Rho(provider, tools=[ScriptedTool("t", output)]).session()
    events, _ = await run_all(session)
    assert of(events, ev.ToolFinished)[0].completion == ToolSucceeded(output)
    assert "--- a" not in repr(session.history)
