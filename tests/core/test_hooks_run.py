"""Hooks of runs, end to end (K.10 hooks_runtime_tests)."""

from __future__ import annotations

from typing import Any

import pytest

from rho_core import events as ev
from rho_core.authority.approvals import AllowOnce
from rho_core.authority.policy import ScopedWorkspacePolicy, WorkspacePolicy
from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind
from rho_core.hooks.envelope import HookEnvelope
from rho_core.hooks.gate import ContinueToolUse, DenyToolUse, GateDecision
from rho_core.hooks.observer import HookObserver
from rho_core.session import Session
from rho_core.testing import ScriptedTurn
from tests.core.authorization import ScriptedHandler
from tests.core.hook_doubles import READ, Collector, ScriptedGate, shell
from tests.core.run_harness import (
    Gate,
    call,
    collect,
    of,
    open_session,
    results,
    run_all,
    run_failing,
    within,
)

ALLOW = ScopedWorkspacePolicy().allow_read_paths().allow_processes()
ASK = ALLOW.require_read_approval()


async def reading(
    policy: WorkspacePolicy, decision: GateDecision, *answers: Any, capability: Any = READ
) -> tuple[Session, ScriptedGate, ScriptedHandler, Gate, Collector]:
    tool, gate, seen = Gate(), ScriptedGate(decision), Collector()
    tool.open("c")
    handler = ScriptedHandler(*answers)
    session, _ = await open_session(
        [ScriptedTurn.calls(call("c", "t")), ScriptedTurn.completed("end")],
        tools=[tool.tool("t", capabilities=(capability,))],
        policy=policy,
        approvals=handler,
        pre_tool_gate=gate,
        hook_observer=seen,
    )
    return session, gate, handler, tool, seen


def events_of(seen: Collector) -> list[str]:
    return [e.event.value for e in seen.envelopes]


@pytest.mark.clause("I12")
async def test_allow_plus_continue_executes_without_prompting() -> None:
    session, gate, handler, tool, _ = await reading(ALLOW, ContinueToolUse())
    await run_all(session)
    assert (len(gate.requests), handler.requests, tool.running) == (1, [], ["c"])


@pytest.mark.clause("I12", "E18")
async def test_allow_plus_deny_stops_the_call_and_the_reason_reaches_the_model() -> None:
    session, _, _, tool, seen = await reading(ALLOW, DenyToolUse("house rules"))
    await run_all(session)
    assert tool.running == []
    assert results(session.history)[0].content == "read capability denied: house rules"
    assert session.diagnostics().approval_audit[0].decision.value == "denied_by_hook"
    after = seen.envelopes[1].to_dict()["payload"]
    assert (after["status"], after["failure"]["kind"]) == ("failed", "policy_denied")


@pytest.mark.clause("I12")
async def test_require_approval_plus_continue_still_prompts_the_host() -> None:
    session, gate, handler, tool, _ = await reading(ASK, ContinueToolUse(), AllowOnce())
    await run_all(session)
    assert (len(handler.requests), tool.running) == (1, ["c"])
    assert gate.requests[0].policy == "require_approval"


@pytest.mark.clause("I12")
async def test_require_approval_plus_deny_stops_before_the_prompt() -> None:
    session, _, handler, tool, _ = await reading(ASK, DenyToolUse("no"))
    await run_all(session)
    assert (handler.requests, tool.running) == ([], [])


@pytest.mark.clause("E17", "I12")
async def test_a_policy_denial_never_reaches_the_gate() -> None:
    session, gate, _, tool, _ = await reading(ScopedWorkspacePolicy(), ContinueToolUse())
    await run_all(session)
    assert (gate.requests, tool.running) == ([], [])


@pytest.mark.clause("I4", "I5")
async def test_the_gate_sees_the_command_it_must_judge() -> None:
    session, gate, _, _, _ = await reading(ALLOW, ContinueToolUse(), capability=shell("rm -rf x"))
    await run_all(session)
    body = gate.requests[0].envelope.to_dict()
    assert body["event"] == "before_tool_use"
    assert body["payload"]["capability"]["shell_command"] == "rm -rf x"
    assert body["payload"]["tool"]["call_id"] == "c"


@pytest.mark.clause("I14", "C70")
async def test_a_successful_run_emits_session_then_tool_then_run_events() -> None:
    session, _, _, _, seen = await reading(ALLOW, ContinueToolUse())
    events, outcome = await run_all(session)
    assert events_of(seen) == ["session_started", "after_tool_use", "run_completed"]
    bodies = [e.to_dict() for e in seen.envelopes]
    assert {b["identity"]["session_id"] for b in bodies} == {str(session.id)}
    run_id = of(events, ev.Started)[0].run_id
    assert [b["identity"]["run_id"] for b in bodies] == [None, run_id, run_id]
    assert bodies[2]["payload"] == {"stop_reason": "end_turn", "revision": outcome.revision}


@pytest.mark.clause("C70", "I6")
async def test_a_failed_run_reports_run_failed_with_a_typed_kind() -> None:
    seen = Collector()
    error = ProviderError(ProviderErrorKind.OTHER, "broke")
    session, _ = await open_session([ScriptedTurn.failed(error)], hook_observer=seen)
    await run_failing(session)
    assert events_of(seen) == ["session_started", "run_failed"]
    assert seen.envelopes[1].to_dict()["payload"]["failure"]["kind"] == "provider"


@pytest.mark.clause("C70")
async def test_a_cancelled_run_fires_no_run_hook_but_an_abandoned_one_does() -> None:
    seen = Collector()
    session, _ = await open_session(
        [ScriptedTurn.hanging(), ScriptedTurn.hanging()], hook_observer=seen
    )
    async with session.start("a") as run:
        run.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())
    assert events_of(seen) == ["session_started"]
    async with session.start("b") as run:
        run._events.drop()
        with pytest.raises(Exception, match="consumer was dropped"):
            await within(run.outcome())
    assert events_of(seen) == ["session_started", "run_failed"]
    assert seen.envelopes[1].to_dict()["payload"]["failure"]["kind"] == "interrupted"


@pytest.mark.clause("C70", "A31")
async def test_run_events_fire_per_run_while_session_events_fire_once() -> None:
    seen = Collector()
    session, _ = await open_session(
        [ScriptedTurn.completed("1"), ScriptedTurn.completed("2")], hook_observer=seen
    )
    await session.complete("a")
    await session.complete("b")
    assert events_of(seen) == ["session_started", "run_completed", "run_completed"]


@pytest.mark.clause("I14")
async def test_parallel_calls_keep_their_own_hook_identity() -> None:
    seen, tool = Collector(), Gate()
    tool.open("a")
    tool.open("b")
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"), call("b", "t")), ScriptedTurn.completed("end")],
        tools=[tool.tool("t")],
        max_parallel_tools=2,
        hook_observer=seen,
    )
    await run_all(session)
    ids = [
        e.to_dict()["payload"]["tool"]["call_id"]
        for e in seen.envelopes
        if e.event.value == "after_tool_use"
    ]
    assert sorted(ids) == ["a", "b"]


@pytest.mark.clause("X3")
async def test_the_event_comes_first_and_then_the_hook() -> None:
    told: list[str] = []
    at_hook: list[list[str]] = []

    class Ordering(HookObserver):
        def observe(self, envelope: HookEnvelope) -> None:
            if envelope.event.value != "session_started":
                queued = [type(e).__name__ for e in run._events._channel._items]
                at_hook.append(told + queued)

    tool = Gate()
    tool.open("c")
    session, _ = await open_session(
        [ScriptedTurn.calls(call("c", "t")), ScriptedTurn.completed("end")],
        tools=[tool.tool("t")],
        hook_observer=Ordering(),
    )
    async with session.start("go") as run:
        async for event in run:
            told.append(type(event).__name__)
        await run.outcome()
    assert [seen[-1] for seen in at_hook] == ["ToolFinished", "Completed"]


@pytest.mark.clause("I13", "L9")
async def test_an_observer_that_raises_does_not_break_the_run() -> None:
    class Broken(HookObserver):
        def observe(self, envelope: HookEnvelope) -> None:
            raise RuntimeError("observer")

    session, _ = await open_session([ScriptedTurn.completed("fine")], hook_observer=Broken())
    async with session.start("go") as run:
        await within(collect(run))
        assert (await run.outcome()).text == "fine"


@pytest.mark.clause("I13", "I15")
async def test_a_runtime_without_hooks_runs_unchanged() -> None:
    told: list[list[str]] = []
    for options in ({}, {"hook_observer": Collector(), "pre_tool_gate": ScriptedGate()}):
        tool = Gate()
        tool.open("c")
        session, _ = await open_session(
            [ScriptedTurn.calls(call("c", "t")), ScriptedTurn.completed("end")],
            tools=[tool.tool("t", capabilities=(READ,))],
            policy=ALLOW,
            **options,
        )
        events, _ = await run_all(session)
        told.append([type(event).__name__ for event in events])
    assert told[0] == told[1]


@pytest.mark.clause("I14")
async def test_every_tool_event_carries_the_session_and_run_it_belongs_to() -> None:
    seen, owners = Collector(), []
    tool = Gate()
    tool.open("c")
    turns = [ScriptedTurn.calls(call("c", "t")), ScriptedTurn.completed("end")]
    for _ in range(2):
        session, _ = await open_session(turns, tools=[tool.tool("t")], hook_observer=seen)
        events, _ = await run_all(session)
        owners.append((str(session.id), of(events, ev.Started)[0].run_id))
    told = [e.to_dict() for e in seen.envelopes if e.event.value == "after_tool_use"]
    assert [(b["identity"]["session_id"], b["identity"]["run_id"]) for b in told] == owners
    assert len(set(owners)) == 2


@pytest.mark.clause("E29", "E18")
async def test_a_hook_denial_is_recorded_as_its_own_audit_kind() -> None:
    session, _, _, _, seen = await reading(ALLOW, DenyToolUse("no"))
    await run_all(session)
    audit = session.diagnostics().approval_audit
    assert [record.decision.value for record in audit] == ["denied_by_hook"]
    after = [e.to_dict()["payload"] for e in seen.envelopes if e.event.value == "after_tool_use"]
    assert [(p["status"], p["duration_ms"]) for p in after] == [("failed", None)]
