"""Authority of the calls of a batch (D24, D44, E.3)."""

from __future__ import annotations

import asyncio
from pathlib import Path, PurePath
from typing import Any

import pytest

from rho_core import events as ev
from rho_core.authority.approvals import AllowOnce, Deny
from rho_core.authority.capabilities import (
    CapabilityRequest,
    HostProvidedTool,
    PrimaryWorkspace,
    ReadPath,
)
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.errors import Cancelled, ToolErrorKind
from rho_core.testing import PlannedTool, ScriptedTurn, tool_spec
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    Tool,
    ToolContext,
    ToolInvocation,
)
from rho_core.tooling.resources import ToolResourceAccess, WorkspacePath
from rho_core.tooling.values import (
    ToolFailed,
    ToolOutput,
)
from tests.core.authorization import ScriptedHandler
from tests.core.run_harness import (
    Gate,
    assert_calls_paired,
    assert_replay_safe,
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


def batch(*ids: str, name: str = "t") -> list[ScriptedTurn]:
    return [
        ScriptedTurn.calls(*(call(id, name) for id in ids)),
        ScriptedTurn.completed("end"),
    ]


READ = CapabilityRequest(ReadPath(Path("/w/x"), PrimaryWorkspace()), HostProvidedTool("t"))


@pytest.mark.clause("D24", "E26", "C20")
async def test_a_policy_denial_is_a_result_and_the_tool_never_runs() -> None:
    gate = Gate()
    session, _ = await open_session(batch("a"), tools=[gate.tool("t", capabilities=(READ,))])
    events, outcome = await run_all(session)
    assert gate.running == []
    assert results(session.history)[0].content.startswith("read capability denied: ")
    completion = of(events, ev.ToolFinished)[0].completion
    assert isinstance(completion, ToolFailed)
    assert completion.kind is ToolErrorKind.POLICY_DENIED
    assert outcome.text == "end"
    assert session.diagnostics().approval_audit[0].decision.value == "denied_by_policy"


@pytest.mark.clause("D24")
async def test_a_pending_approval_lets_unrelated_work_run_but_blocks_conflicting_work() -> None:
    order: list[str] = []

    async def body(invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        order.append(str(invocation.id))
        return ToolOutput.text("")

    asking = PlannedTool("asks", body, accesses=(EXCLUSIVE_A,), capabilities=(READ,))
    turns = [
        ScriptedTurn.calls(call("ask", "asks"), call("same", "same"), call("free", "free")),
        ScriptedTurn.completed("end"),
    ]
    handler = ScriptedHandler(AllowOnce(), log=order)
    handler.hold = asyncio.Event()
    session, _ = await open_session(
        turns,
        tools=[
            asking,
            PlannedTool("same", body, accesses=(EXCLUSIVE_A,)),
            PlannedTool("free", body),
        ],
        policy=ScopedWorkspacePolicy().allow_read_paths().require_read_approval(),
        approvals=handler,
    )
    async with session.start("go") as run:
        await until(lambda: "free" in order)
        assert "ask" not in order
        assert "same" not in order
        handler.hold.set()
        await within(run.outcome())
    assert sorted(order[:2]) == ["approval", "free"]
    assert order[2:] == ["ask", "same"]
    assert handler.requests[0].tool_call_id == "ask"


@pytest.mark.clause("C62", "D24", "D29")
async def test_cancelling_while_authorizing_starts_nothing() -> None:
    gate = Gate()
    handler = ScriptedHandler(AllowOnce(), AllowOnce())
    handler.hold = asyncio.Event()
    session, _ = await open_session(
        batch("a", "b"),
        tools=[gate.tool("t", capabilities=(READ,))],
        policy=ScopedWorkspacePolicy().allow_read_paths().require_read_approval(),
        approvals=handler,
        max_parallel_tools=2,
    )
    async with session.start("go") as run:
        await until(lambda: handler.requests)
        run.cancel()
        handler.hold.set()
        with pytest.raises(Cancelled):
            await within(run.outcome())
        events = await within(collect(run))
    assert gate.running == []
    assert [r.content for r in results(session.history)] == [
        "tool call interrupted before completion"
    ] * 2
    audit = session.diagnostics().approval_audit
    assert {r.decision.value for r in audit} <= {"cancelled", "allowed_once"}
    assert audit
    assert_replay_safe(session.history)
    assert_calls_paired(events)


@pytest.mark.clause("D44", "E31")
async def test_an_exclusive_executor_can_ask_for_authority_with_its_call_id() -> None:
    class Asking(Tool):
        def spec(self) -> Any:
            return tool_spec("t")

        async def call(self, invocation: ToolInvocation, context: ToolContext) -> ToolOutput:
            await context.authorize(READ)
            return ToolOutput.text("read it")

    handler = ScriptedHandler(AllowOnce(), Deny("not now"))
    session, _ = await open_session(
        batch("a", "b"),
        tools=[Asking()],
        policy=ScopedWorkspacePolicy().allow_read_paths().require_read_approval(),
        approvals=handler,
    )
    await run_all(session)
    assert [r.content for r in results(session.history)] == [
        "read it",
        "read capability denied: not now",
    ]
    assert [r.tool_call_id for r in handler.requests] == ["a", "b"]
