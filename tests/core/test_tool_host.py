"""Tools without a model (section H, K.9)."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from rho_core.authority.approvals import AllowForSession, AllowOnce, ApprovalSession, Deny
from rho_core.authority.capabilities import (
    CapabilityRequest,
    HostProvidedTool,
    PrimaryWorkspace,
    ReadPath,
)
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.errors import (
    Interrupted,
    InvalidConfiguration,
    InvalidHostResponse,
    ToolError,
    ToolErrorKind,
)
from rho_core.hooks.gate import DenyToolUse
from rho_core.ids import SessionId, ToolCallId
from rho_core.questions import HostChoice, HostInputRequest, HostInputResponse, HostQuestion
from rho_core.testing import FakeClock, PlannedTool, ScriptedTool
from rho_core.tooling.contract import AuthorizedToolContext, InvocationSource, ToolInvocation
from rho_core.tooling.host import (
    HostToolInputRequested,
    HostToolProgress,
    ToolHost,
    ToolHostCall,
    ToolHostRun,
)
from rho_core.tooling.values import ToolOutput, ToolProgress
from tests.core.authorization import FixedPolicy, ScriptedHandler
from tests.core.hook_doubles import Collector, ScriptedGate
from tests.core.run_harness import Gate, leaked_tasks, until, within

READ = CapabilityRequest(ReadPath(Path("/w/x"), PrimaryWorkspace()), HostProvidedTool("t"))
ASKS = ScopedWorkspacePolicy().allow_read_paths().require_read_approval()
ANSWER = HostInputResponse().answer("q", ["yes"])


def question() -> HostInputRequest:
    return HostInputRequest.questionnaire(
        None, [HostQuestion("q", "Sure?", (HostChoice("yes", "Yes"),))]
    )


async def asking(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
    await context.progress.send(ToolProgress("about to ask"))
    answer = await context.request_host_input(question())
    return ToolOutput.text(answer.answers["q"][0])


async def read_input(run: ToolHostRun) -> HostToolInputRequested:
    while True:
        event = await within(run.next_event())
        assert event is not None
        if isinstance(event, HostToolInputRequested):
            return event


def call(name: str = "t", **arguments: Any) -> ToolHostCall:
    return ToolHostCall(name, arguments)


@pytest.mark.clause("H1", "H8", "H13")
async def test_one_call_runs_to_its_output() -> None:
    tool = ScriptedTool("t", "done")
    host = ToolHost([tool, ScriptedTool("a")], session_id=SessionId("mine"))
    output = await within(host.invoke(call(x=1)))
    assert output == ToolOutput.text("done")
    assert tool.calls == [{"x": 1}]
    assert [spec.name for spec in host.tool_specs] == ["a", "t"]
    assert host.session_id == "mine"
    assert not leaked_tasks()


@pytest.mark.clause("H1", "A24", "A2")
def test_construction_validates_at_once() -> None:
    with pytest.raises(InvalidConfiguration, match="duplicate tool name 't'"):
        ToolHost([ScriptedTool("t"), ScriptedTool("t")])
    with pytest.raises(InvalidConfiguration, match="positive integer"):
        ToolHost(event_capacity=0)
    with pytest.raises(InvalidConfiguration, match="not both"):
        ToolHost(approvals=ScriptedHandler(), approval_session=ApprovalSession())


@pytest.mark.clause("H3", "H2")
async def test_a_call_is_validated_before_it_starts() -> None:
    host = ToolHost([ScriptedTool("t")])
    for wrong, words in (
        (call("  "), "name must not be empty"),
        (ToolHostCall("t", [1]), "must be a JSON object"),  # type: ignore[arg-type]
        (call(x=object()), "must be a JSON object"),
        (call("nope"), "tool 'nope' is not registered"),
    ):
        with pytest.raises(InvalidConfiguration, match=words):
            host.start(wrong)
    assert call().id != call().id
    named = ToolHostCall("t", {}, ToolCallId("mine"))
    async with host.start(named) as run:
        assert run.call_id == "mine"


@pytest.mark.clause("H8", "L9")
async def test_tool_errors_surface_typed() -> None:
    host = ToolHost([ScriptedTool("t", ValueError("bad")), ScriptedTool("p", Interrupted("x"))])
    with pytest.raises(ToolError) as failure:
        await within(host.invoke(call()))
    assert failure.value.tool_kind is ToolErrorKind.EXECUTION
    assert failure.value.message == "tool raised ValueError: bad"


@pytest.mark.clause("H5", "H6", "X2")
async def test_a_call_emits_progress_and_accepts_host_input() -> None:
    host = ToolHost([PlannedTool("t", asking)])
    async with host.start(call()) as run:
        first = await within(run.next_event())
        assert first == HostToolProgress(ToolProgress("about to ask"))
        asked = await read_input(run)
        wrong = HostInputResponse().answer("q", ["maybe"])
        with pytest.raises(InvalidHostResponse, match="unknown choice"):
            asked.pending.respond(wrong)
        asked.pending.respond(ANSWER)
        with pytest.raises(InvalidHostResponse, match="unknown choice"):
            asked.pending.respond(wrong)  # validation comes first
        with pytest.raises(InvalidHostResponse, match="already answered"):
            asked.pending.respond(ANSWER)
        assert (await within(run.outcome())).content == "yes"
        with pytest.raises(InvalidHostResponse, match="already consumed"):
            await run.outcome()


@pytest.mark.clause("X2")
async def test_the_run_answers_by_request_id_too() -> None:
    host = ToolHost([PlannedTool("t", asking)])
    async with host.start(call()) as run:
        asked = await read_input(run)
        run.respond(asked.request.id, ANSWER)
        assert (await within(run.outcome())).content == "yes"
        with pytest.raises(InvalidHostResponse, match="not pending"):
            run.respond(question().id, ANSWER)


@pytest.mark.clause("H7", "H6")
async def test_an_unanswered_question_fails_its_asker_instead_of_hanging() -> None:
    host = ToolHost([PlannedTool("t", asking)])
    with pytest.raises(ToolError, match="dropped without a response"):
        await within(host.invoke(call()))
    async with host.start(call()) as run:
        asked = await read_input(run)
        del asked
        gc.collect()
        with pytest.raises(ToolError, match="dropped without a response"):
            await within(run.outcome())


@pytest.mark.clause("H6")
async def test_an_answer_after_the_call_stopped_is_refused() -> None:
    host = ToolHost([PlannedTool("t", asking)])
    async with host.start(call()) as run:
        asked = await read_input(run)
        run.cancel()
        with pytest.raises(ToolError):
            await within(run.outcome())
        with pytest.raises(InvalidHostResponse, match="stopped before accepting"):
            asked.pending.respond(ANSWER)


@pytest.mark.clause("H4", "E16", "H12")
async def test_policy_gate_approval_and_execution_come_in_that_order() -> None:
    log: list[str] = []
    seen = Collector()
    sources: list[InvocationSource] = []

    class LoggingGate(ScriptedGate):
        async def evaluate(self, request):  # type: ignore[no-untyped-def]
            log.append("hook")
            return await super().evaluate(request)

    async def body(invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        log.append("execution")
        sources.append(invocation.source)
        return ToolOutput.text("ok")

    gate = LoggingGate()
    handler = ScriptedHandler(AllowOnce(), log=log)
    host = ToolHost(
        [PlannedTool("t", body, capabilities=(READ,))],
        policy=FixedPolicy(log=log),
        approvals=handler,
        hook_observer=seen,
        pre_tool_gate=gate,
        hook_labels={"team": "core"},
    )
    await within(host.invoke(ToolHostCall("t", {}, ToolCallId("c1"))))
    assert log == ["policy", "hook", "approval", "execution"]
    assert sources == [InvocationSource.HOST]
    assert handler.requests[0].tool_call_id == "c1"
    before, after = gate.requests[0].envelope.to_dict(), seen.envelopes[0].to_dict()
    assert before["host_labels"] == after["host_labels"] == {"team": "core"}
    assert before["identity"] == after["identity"]
    assert after["payload"]["status"] == "succeeded"
    assert after["payload"]["duration_ms"] is not None
    assert len(seen.envelopes) == 1


@pytest.mark.clause("I12", "H12")
async def test_a_hook_denial_stops_before_approval_and_still_fires_the_after_hook() -> None:
    handler, seen, gate = ScriptedHandler(), Collector(), Gate()
    host = ToolHost(
        [gate.tool("t", capabilities=(READ,))],
        policy=ASKS,
        approvals=handler,
        hook_observer=seen,
        pre_tool_gate=ScriptedGate(DenyToolUse("not today")),
    )
    with pytest.raises(ToolError, match="not today") as denied:
        await within(host.invoke(call()))
    assert denied.value.tool_kind is ToolErrorKind.POLICY_DENIED
    assert (handler.requests, gate.running) == ([], [])
    assert [e.to_dict()["payload"]["status"] for e in seen.envelopes] == ["failed"]
    assert [r.decision.value for r in host.approval_audit] == ["denied_by_hook"]


@pytest.mark.clause("H13", "E24")
async def test_exact_approvals_are_remembered_across_hosts_that_share_a_session() -> None:
    handler = ScriptedHandler(AllowForSession(), AllowOnce())
    shared = ApprovalSession(handler)
    other = CapabilityRequest(ReadPath(Path("/w/y"), PrimaryWorkspace()), HostProvidedTool("t"))

    async def body(_invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        return ToolOutput.text("ok")

    for capability in (READ, READ, other):
        tool = PlannedTool("t", body, capabilities=(capability,))
        await within(ToolHost([tool], policy=ASKS, approval_session=shared).invoke(call()))
    assert len(handler.requests) == 2


@pytest.mark.clause("E21")
async def test_a_host_denial_stops_before_execution() -> None:
    gate = Gate()
    host = ToolHost(
        [gate.tool("t", capabilities=(READ,))],
        policy=ASKS,
        approvals=ScriptedHandler(Deny("no")),
    )
    with pytest.raises(ToolError, match="read capability denied: no"):
        await within(host.invoke(call()))
    assert gate.running == []


@pytest.mark.clause("H14", "H10")
async def test_cancelling_while_a_prompt_is_pending_executes_nothing() -> None:
    gate, handler = Gate(), ScriptedHandler(AllowOnce())
    handler.hold = asyncio.Event()
    host = ToolHost([gate.tool("t", capabilities=(READ,))], policy=ASKS, approvals=handler)
    async with host.start(call()) as run:
        await until(lambda: handler.requests)
        run.cancel()
        with pytest.raises(ToolError) as cancelled:
            await within(run.outcome())
    assert cancelled.value.tool_kind is ToolErrorKind.CANCELLED
    assert gate.running == []
    assert handler.dropped == 1
    assert [r.decision.value for r in host.approval_audit] == ["cancelled"]
    assert not leaked_tasks()


@pytest.mark.clause("H10", "X7")
@pytest.mark.parametrize("capacity", [1, 64])
async def test_an_authorized_call_may_complete_after_cancellation(capacity: int) -> None:
    async def body(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        for n in range(3):  # at capacity 1 nobody reads: the delivery is blocked when we cancel
            await context.progress.send(ToolProgress(str(n)))
        await context.cancellation.cancelled()
        return ToolOutput.text("finished anyway")

    clock = FakeClock(auto=False)
    host = ToolHost(
        [PlannedTool("t", body, cleanup_timeout=5.0)], event_capacity=capacity, clock=clock
    )
    async with host.start(call()) as run:
        for _ in range(30):
            await asyncio.sleep(0)
        run.cancel()
        assert (await within(run.outcome())).content == "finished anyway"


@pytest.mark.clause("H10")
async def test_the_cleanup_deadline_ends_the_call() -> None:
    gate = Gate()
    clock = FakeClock()
    host = ToolHost([gate.tool("t", cleanup_timeout=0.0)], clock=clock)
    async with host.start(call()) as run:
        await until(lambda: gate.running)
        run.cancel()
        with pytest.raises(ToolError, match="cleanup exceeded 0s") as late:
            await within(run.outcome())
    assert late.value.tool_kind is ToolErrorKind.CANCELLED
    assert len(gate.dropped) == 1


@pytest.mark.clause("H10")
async def test_cancellation_without_cleanup_drops_the_tool_at_once() -> None:
    gate = Gate()
    async with ToolHost([gate.tool("t")]).start(call()) as run:
        await until(lambda: gate.running)
        run.cancel()
        with pytest.raises(ToolError) as cancelled:
            await within(run.outcome())
    assert cancelled.value.tool_kind is ToolErrorKind.CANCELLED
    assert len(gate.dropped) == 1


@pytest.mark.clause("H10", "D35")
async def test_cleanup_that_reports_cannot_hang_the_end() -> None:
    running = asyncio.Event()

    async def body(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(100):
                await context.progress.send(ToolProgress("cleaning"))
        return ToolOutput.text("")

    async with ToolHost([PlannedTool("t", body)], event_capacity=1).start(call()) as run:
        await within(running.wait())
        run.cancel()
        with pytest.raises(ToolError):
            await within(run.outcome())
    assert not leaked_tasks()


@pytest.mark.clause("H11", "H12")
async def test_dropping_an_unfinished_call_cancels_it_and_the_after_hook_fires() -> None:
    gate, seen = Gate(), Collector()
    host = ToolHost([gate.tool("t")], hook_observer=seen)
    async with host.start(call()):
        await until(lambda: gate.running)
    assert len(gate.dropped) == 1
    assert [e.to_dict()["payload"]["status"] for e in seen.envelopes] == ["failed"]
    run = host.start(call())
    await until(lambda: len(gate.running) == 2)
    del run
    gc.collect()
    await until(lambda: len(seen.envelopes) == 2)
    assert not leaked_tasks()


@pytest.mark.clause("H3")
async def test_calls_of_one_host_run_concurrently() -> None:
    gate = Gate()
    host = ToolHost([gate.tool("t")])
    async with (
        host.start(ToolHostCall("t", {}, ToolCallId("a"))) as one,
        host.start(ToolHostCall("t", {}, ToolCallId("b"))) as two,
    ):
        await until(lambda: len(gate.running) == 2)
        gate.open("b")
        assert (await within(two.outcome())).content == "done b"
        gate.open("a")
        assert (await within(one.outcome())).content == "done a"


@pytest.mark.clause("H9", "D36")
async def test_progress_sent_just_before_returning_is_delivered() -> None:
    async def body(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        for n in range(5):
            await context.progress.send(ToolProgress(str(n)))
        return ToolOutput.text("ok")

    host = ToolHost([PlannedTool("t", body)], event_capacity=1)
    async with host.start(call()) as run:
        messages = [e.progress.message async for e in run if isinstance(e, HostToolProgress)]
        await run.outcome()
    assert messages == ["0", "1", "2", "3", "4"]


@pytest.mark.clause("H7")
async def test_a_crash_of_the_worker_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def crash(*_args: object) -> None:
        raise LookupError("defect")

    monkeypatch.setattr("rho_core.tooling.host_worker.HostCallWorker._run", crash)
    with pytest.raises(Interrupted, match="tool host task failed: defect"):
        await within(ToolHost([ScriptedTool("t")]).invoke(call()))


async def test_the_hosts_own_task_cancellation_ends_the_call() -> None:
    gate = Gate()
    host = ToolHost([gate.tool("t")])
    task = asyncio.create_task(host.invoke(call()))
    await until(lambda: gate.running)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(gate.dropped) == 1
    assert not leaked_tasks()
