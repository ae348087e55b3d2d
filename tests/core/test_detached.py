"""Async tools that run on while the model continues (D.9, K.12)."""

from __future__ import annotations

import asyncio
from pathlib import PurePath

import pytest

from rho_core import events as ev
from rho_core.history.compaction import CompactionPolicy
from rho_core.history.handoff import report_message_omissions
from rho_core.history.messages import (
    ASYNC_TOOL_CALL_KIND,
    EnrichedAssistant,
    ModelIdentity,
    ToolCall,
    ToolResult,
    UserMessage,
)
from rho_core.providers.contract import OutputDelta, ProviderContext
from rho_core.questions import HostChoice, HostInputRequest, HostQuestion
from rho_core.testing import (
    PlannedTool,
    ScriptedCompactor,
    ScriptedTool,
    ScriptedTurn,
)
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    ToolExecutionMode,
    ToolInvocation,
)
from rho_core.tooling.resources import ToolResourceAccess, WorkspacePath
from rho_core.tooling.values import ToolOutput, ToolProgress
from tests.core.run_harness import (
    Gate,
    assert_calls_paired,
    assert_replay_safe,
    call,
    collect,
    names,
    of,
    open_session,
    read_until,
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


def of_call(events: list[ev.RunEvent], id: str) -> list[str]:
    return [type(e).__name__ for e in events if getattr(e, "call_id", None) == id]


@pytest.mark.clause("D45", "D53", "D54", "D55", "C38")
async def test_a_pending_job_then_an_end_turn_continues_with_the_result() -> None:
    gate = Gate()
    session, provider = await open_session(
        [
            marked(call("a", "t")),
            ScriptedTurn.completed("waiting"),
            ScriptedTurn.completed("got it"),
        ],
        tools=[gate.tool("t", **ASYNC)],
    )
    async with session.start("go") as run:
        await until(lambda: len(provider.requests) == 2)
        gate.open("a")
        events = await within(collect(run))
        outcome = await run.outcome()
    assert of_call(events, "a") == ["ToolStarted", "ToolDetached", "ToolFinished"]
    order = names(events)
    assert order.index("ToolDetached") < order.index("AssistantTextDelta")
    assert provider.requests[1].messages[-1] == session.history[1]  # no result yet
    assert provider.requests[2].messages[-1] == ToolResult("a", True, "done a")
    assert outcome.text == "got it"
    assert_replay_safe(session.history)
    assert_calls_paired(events)


@pytest.mark.clause("D54")
async def test_results_enter_history_in_completion_order() -> None:
    gate = Gate()
    session, provider = await open_session(
        [
            marked(call("a", "t"), call("b", "t")),
            ScriptedTurn.completed("waiting"),
            ScriptedTurn.completed("still"),
            ScriptedTurn.completed("end"),
        ],
        tools=[gate.tool("t", **ASYNC)],
        max_parallel_tools=2,
    )
    async with session.start("go") as run:
        await until(lambda: len(gate.running) == 2 and len(provider.requests) == 2)
        gate.open("b")
        await until(lambda: len(provider.requests) == 3)
        gate.open("a")
        events = await within(collect(run))
    assert [r.id for r in results(session.history)] == ["b", "a"]
    assert_replay_safe(session.history)
    assert_calls_paired(events)


@pytest.mark.clause("D47", "D50")
async def test_detached_jobs_respect_the_slots_and_drain_progress_while_queued() -> None:
    gate = Gate()

    async def chatty(invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        for n in range(30):
            await context.progress.send(ToolProgress(str(n)))
        return await gate.body(invocation, context)

    session, _ = await open_session(
        [marked(call("a", "t"), call("b", "t")), *[ScriptedTurn.completed("x")] * 3],
        tools=[PlannedTool("t", chatty, execution_mode=ToolExecutionMode.ASYNC)],
        event_capacity=2,
    )
    async with session.start("go") as run:
        pump = asyncio.create_task(collect(run))
        await until(lambda: gate.running == ["a"])
        for _ in range(50):
            await asyncio.sleep(0)
        assert gate.running == ["a"]
        gate.open("a")
        await until(lambda: gate.running == ["a", "b"])
        gate.open("b")
        events = await within(pump)
    assert gate.peak == 1
    assert len(of(events, ev.ToolUpdated)) == 60
    assert_calls_paired(events)


@pytest.mark.clause("D52", "D47")
async def test_a_sync_batch_waits_for_detached_jobs_of_the_same_response() -> None:
    gate = Gate()
    session, provider = await open_session(
        [
            marked(call("s", "sync"), call("a", "t"), only=("a",)),
            ScriptedTurn.completed("end"),
        ],
        tools=[gate.tool("t", **ASYNC), ScriptedTool("sync")],
    )
    async with session.start("go") as run:
        await until(lambda: gate.running)
        await within(run.steer("meanwhile"))
        early: list[ev.RunEvent] = []
        while not of(early, ev.ToolDetached):
            event = await within(run.next_event())
            assert event is not None
            early.append(event)
        assert [e.call.id for e in of(early, ev.ToolProposed)] == ["a"]
        gate.open("a")
        events = early + await within(collect(run))
    assert [e.call.id for e in of(events, ev.ToolProposed)] == ["a", "s"]
    kinds = [type(m).__name__ for m in provider.requests[1].messages]
    assert kinds == ["UserMessage", "EnrichedAssistant", "ToolResult", "ToolResult", "UserMessage"]
    assert [r.id for r in results(session.history)] == ["a", "s"]


@pytest.mark.clause("D45")
@pytest.mark.parametrize("missing", ["mark", "declaration"])
async def test_either_key_missing_keeps_the_call_synchronous(missing: str) -> None:
    options = {} if missing == "declaration" else ASYNC
    gate = Gate()
    gate.open("a")
    only = () if missing == "mark" else ("a", "unknown")
    session, provider = await open_session(
        [marked(call("a", "t"), only=only), ScriptedTurn.completed("end")],
        tools=[gate.tool("t", **options)],
    )
    events, _ = await run_all(session)
    assert not of(events, ev.ToolDetached)
    assert provider.requests[1].messages[-1] == ToolResult("a", True, "done a")


@pytest.mark.clause("D48", "D49")
async def test_an_async_tool_with_an_exclusive_resource_fails_that_call_alone() -> None:
    access = ToolResourceAccess.exclusive(WorkspacePath(PurePath("/w/a")))
    session, _ = await open_session(
        [
            marked(call("a", "t")),
            ScriptedTurn.completed("recovered"),
            ScriptedTurn.completed("end"),
        ],
        tools=[Gate().tool("t", accesses=(access,), **ASYNC)],
    )
    events, outcome = await run_all(session)
    assert outcome.text == "recovered"
    assert results(session.history) == [
        ToolResult(
            "a",
            False,
            "async tool 't' must declare a resource-aware plan with shared access only",
        )
    ]
    assert of_call(events, "a") == ["ToolStarted", "ToolFinished"]


@pytest.mark.clause("D55", "D56")
async def test_steering_while_awaiting_jobs_is_applied_at_the_boundary() -> None:
    gate = Gate()
    session, provider = await open_session(
        [marked(call("a", "t")), *[ScriptedTurn.completed(str(n)) for n in range(3)]],
        tools=[gate.tool("t", **ASYNC)],
    )
    async with session.start("go") as run:
        await until(lambda: len(provider.requests) == 2)
        await within(run.steer("hurry"))
        await until(lambda: len(provider.requests) == 3)
        assert provider.requests[2].messages[-1] == UserMessage.of_text("hurry")
        gate.open("a")
        await within(run.outcome())
    assert_replay_safe(session.history)
    kinds = [type(m).__name__ for m in session.history]
    assert kinds.index("ToolResult") > kinds.index("EnrichedAssistant") + 1


@pytest.mark.clause("D51")
async def test_a_detached_job_cannot_ask_the_host() -> None:
    request = HostInputRequest.questionnaire(
        None, [HostQuestion("q", "?", (HostChoice("a", "A"),))]
    )

    async def body(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        await context.request_host_input(request)
        return ToolOutput.text("unreachable")

    session, _ = await open_session(
        [marked(call("a", "t")), *[ScriptedTurn.completed("x")] * 2],
        tools=[PlannedTool("t", body, execution_mode=ToolExecutionMode.ASYNC)],
    )
    events, _ = await run_all(session)
    assert not of(events, ev.ToolHostInputRequested)
    assert results(session.history)[0].content == "detached async tools cannot request host input"


@pytest.mark.clause("D58")
async def test_automatic_compaction_is_skipped_while_jobs_are_pending() -> None:
    gate = Gate()
    compactor = ScriptedCompactor([(UserMessage.of_text("summary"),)] * 5)
    session, provider = await open_session(
        [marked(call("a", "t")), *[ScriptedTurn.completed(str(n)) for n in range(3)]],
        tools=[gate.tool("t", **ASYNC)],
        compactor=compactor,
        compaction_policy=CompactionPolicy.after_messages(2),
    )
    async with session.start("go") as run:
        await until(lambda: len(provider.requests) == 2)
        assert compactor.requests == []
        gate.open("a")
        await within(run.outcome())
    assert len(compactor.requests) == 1
    assert_replay_safe(session.history)


@pytest.mark.clause("D46", "B41", "B44")
async def test_the_mark_is_metadata_and_no_handoff_omission() -> None:
    gate = Gate()
    gate.open("a")
    session, _ = await open_session(
        [marked(call("a", "t")), *[ScriptedTurn.completed("x")] * 2],
        tools=[gate.tool("t", **ASYNC)],
    )
    await run_all(session)
    assistant = session.history[1]
    assert isinstance(assistant, EnrichedAssistant)
    assert [b.kind for b in assistant.provider_context] == [ASYNC_TOOL_CALL_KIND]
    other = ModelIdentity("other", "api", "m")
    assert not report_message_omissions(session.history, other).has_omissions


@pytest.mark.clause("D53")
async def test_progress_of_a_job_is_forwarded_while_the_model_streams() -> None:
    progressed = asyncio.Event()

    async def body(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        await progressed.wait()
        await context.progress.send(ToolProgress("half way"))
        return ToolOutput.text("ok")

    session, provider = await open_session(
        [marked(call("a", "t")), ScriptedTurn.hanging(OutputDelta("..."))],
        tools=[PlannedTool("t", body, execution_mode=ToolExecutionMode.ASYNC)],
    )
    async with session.start("go") as run:
        await read_until(run, ev.AssistantTextDelta)
        progressed.set()
        assert (await read_until(run, ev.ToolUpdated)).progress.message == "half way"
        await read_until(run, ev.ToolFinished)
        assert len(provider.requests) == 2
