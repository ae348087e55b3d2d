"""Gates and the dispatcher: who is asked, who is told, what is never built (I11–I15)."""

from __future__ import annotations

import pytest

from rho_core.authority.approvals import ApprovalSession, AuthorizationError, DenialKind
from rho_core.authority.pipeline import Authorizer
from rho_core.authority.policy import Allow
from rho_core.hooks.dispatch import HookDispatcher
from rho_core.hooks.gate import (
    AllowAllGate,
    ContinueToolUse,
    DenyToolUse,
    PreToolUseGate,
    PreToolUseRequest,
)
from rho_core.hooks.observer import HookObserver
from rho_core.hooks.payload import BeforeToolUse
from rho_core.ids import SessionId, ToolCallId
from rho_core.tooling.values import ToolUnavailable
from tests.core.authorization import FixedPolicy, ask
from tests.core.hook_doubles import READ, RUN, SESSION, Collector, ScriptedGate


@pytest.mark.clause("I11")
def test_only_a_denial_carries_a_reason() -> None:
    assert DenyToolUse("why").reason == "why"
    assert not hasattr(ContinueToolUse(), "reason")


@pytest.mark.clause("I11")
async def test_the_request_exposes_envelope_and_policy_outcome() -> None:
    gate = ScriptedGate()
    hooks = HookDispatcher(gate=gate).for_run(SESSION, RUN)
    assert await hooks.judge(READ, "allow", ToolCallId("c")) is None
    [request] = gate.requests
    assert request.policy == "allow"
    assert isinstance(request.envelope.payload, BeforeToolUse)
    assert request.envelope.payload.policy == "allow"
    assert request.envelope.payload.tool.call_id == "c"
    assert request.envelope.identity.run_id == "run-1"


@pytest.mark.clause("I11", "I12")
async def test_the_allow_all_gate_never_narrows_a_decision() -> None:
    request = PreToolUseRequest(HookDispatcher().envelope(SESSION, RUN, lambda _b: None), "allow")
    assert await AllowAllGate().evaluate(request) == ContinueToolUse()
    assert AllowAllGate().applies_to_tool("anything")


@pytest.mark.clause("I11")
async def test_a_gate_may_pass_over_tools() -> None:
    class Picky(ScriptedGate):
        def applies_to_tool(self, name: str) -> bool:
            return name == "bash"

    hooks = HookDispatcher(gate=Picky()).for_run(SESSION, RUN)
    assert hooks.gates("bash")
    assert not hooks.gates("read_file")


@pytest.mark.clause("I15")
async def test_a_runtime_without_a_gate_lets_every_request_continue() -> None:
    hooks = HookDispatcher(Collector()).for_run(SESSION, RUN)
    assert not hooks.gates("bash")
    assert await hooks.judge(READ, "allow", None) is None


@pytest.mark.clause("I12", "E18")
async def test_a_denial_travels_through_the_pipeline() -> None:
    gate = ScriptedGate(DenyToolUse("not on Sundays"))
    hooks = HookDispatcher(gate=gate).for_run(SESSION, RUN)
    with pytest.raises(AuthorizationError) as caught:
        await ask(Authorizer(FixedPolicy(Allow()), ApprovalSession(), hooks))
    assert (caught.value.denial, caught.value.message) == (DenialKind.HOOK, "not on Sundays")


@pytest.mark.clause("E28")
async def test_a_gate_that_answers_nonsense_denies() -> None:
    class Silly(PreToolUseGate):
        async def evaluate(self, request):
            return True

    hooks = HookDispatcher(gate=Silly()).for_run(SESSION, RUN)
    assert await hooks.judge(READ, "allow", None) == "pre-tool-use hook returned no decision"


@pytest.mark.clause("I13")
def test_a_runtime_without_an_observer_never_builds_a_payload() -> None:
    def explode(_bounder):
        raise AssertionError("nobody would see this")

    hooks = HookDispatcher(gate=ScriptedGate())
    hooks.emit(SESSION, RUN, explode)
    assert hooks.observer_failures == 0


@pytest.mark.clause("I13", "L9")
def test_an_observer_that_raises_breaks_nothing() -> None:
    class Broken(HookObserver):
        def observe(self, envelope):
            raise RuntimeError("disk full")

    hooks = HookDispatcher(Broken())
    hooks.session_completed(SESSION, 1)
    hooks.session_completed(SESSION, 2)
    assert hooks.observer_failures == 2


@pytest.mark.clause("I14")
def test_an_observed_event_reaches_the_sink_with_its_identity() -> None:
    observer = Collector()
    hooks = HookDispatcher(observer)
    hooks.session_started(SESSION, "p/m")
    hooks.for_run(SESSION, RUN).after_tool_use("t", ToolCallId("c"), ToolUnavailable(), None)
    session, tool = observer.envelopes
    assert (session.identity.session_id, session.identity.run_id) == ("session-1", None)
    assert (tool.identity.session_id, tool.identity.run_id) == ("session-1", "run-1")
    assert tool.identity.parent_session_id is None


@pytest.mark.clause("A21")
def test_a_delegated_runtime_reports_its_parent_identity() -> None:
    observer = Collector()
    HookDispatcher(observer, parent_session_id=SessionId("parent")).session_completed(SESSION, 1)
    assert observer.envelopes[0].identity.parent_session_id == "parent"


@pytest.mark.clause("I15")
def test_a_dispatcher_is_enabled_by_either_hook() -> None:
    assert not HookDispatcher().is_enabled
    assert HookDispatcher(Collector()).is_enabled
    assert HookDispatcher(gate=AllowAllGate()).is_enabled


@pytest.mark.clause("I15")
def test_the_host_dispatcher_reports_both_session_boundaries() -> None:
    observer = Collector()
    hooks = HookDispatcher(observer)
    hooks.session_completed(SESSION, 2)
    hooks.session_failed(SESSION, "run_failed", "why")
    assert [envelope.event.value for envelope in observer.envelopes] == [
        "session_completed", "session_failed",
    ]  # fmt: skip
