"""The authorization pipeline: order, memory, concurrency and failing closed (E16–E28)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core.authority.approvals import (
    AllowForSession,
    AllowOnce,
    ApprovalHandler,
    ApprovalSession,
    AuthorizationError,
    AuthorizationOutcome,
    DenialKind,
    Deny,
)
from rho_core.authority.audit import AuditDecision
from rho_core.authority.capabilities import CapabilityRequest
from rho_core.authority.pipeline import Authorizer
from rho_core.authority.policy import Allow, DenyByPolicy, WorkspacePolicy
from rho_core.cancellation import CancellationToken
from rho_core.errors import Cancelled, ToolErrorKind
from rho_core.history.messages import UserMessage
from tests.core.authorization import (
    CALL,
    SESSION,
    FixedPolicy,
    ScriptedHandler,
    ask,
    decisions,
    read_request,
    until,
)


class Gate:
    def __init__(self, reason: str | None = None, log: list[str] | None = None) -> None:
        self.reason = reason
        self.log = log if log is not None else []
        self.seen: list[str] = []

    def gates(self, tool_name: str) -> bool:
        return tool_name != "ungated"

    async def judge(self, request, policy, tool_call_id):
        self.log.append("hook")
        self.seen.append(policy)
        return self.reason


async def denial(awaitable) -> AuthorizationError:
    with pytest.raises(AuthorizationError) as caught:
        await awaitable
    return caught.value


@pytest.mark.clause("E16", "E18")
async def test_policy_then_gate_then_approval() -> None:
    log: list[str] = []
    session = ApprovalSession(ScriptedHandler(AllowOnce(), log=log))
    gate = Gate(log=log)
    outcome = await ask(Authorizer(FixedPolicy(log=log), session, gate))
    assert outcome is AuthorizationOutcome.ALLOWED_ONCE
    assert log == ["policy", "hook", "approval"]
    assert gate.seen == ["require_approval"]
    assert decisions(session) == ["allowed_once"]


@pytest.mark.clause("E17")
async def test_a_policy_denial_reaches_neither_gate_nor_host() -> None:
    log: list[str] = []
    session = ApprovalSession(ScriptedHandler(log=log))
    authorizer = Authorizer(FixedPolicy(DenyByPolicy("not here"), log), session, Gate(log=log))
    error = await denial(ask(authorizer))
    assert (error.denial, error.message) == (DenialKind.POLICY, "not here")
    assert str(error) == "authorization denied: not here"
    assert log == ["policy"]
    assert decisions(session) == ["denied_by_policy"]


@pytest.mark.clause("E18", "E19", "I12")
async def test_the_gate_narrows_an_allowance_and_a_plain_allowance_is_not_audited() -> None:
    session = ApprovalSession()
    policy = FixedPolicy(Allow())
    gate = Gate()
    outcome = await ask(Authorizer(policy, session, gate))
    assert outcome is AuthorizationOutcome.ALLOWED_BY_POLICY
    assert gate.seen == ["allow"]
    assert decisions(session) == []
    error = await denial(ask(Authorizer(policy, session, Gate("stop"))))
    assert (error.denial, error.message) == (DenialKind.HOOK, "stop")
    assert decisions(session) == ["denied_by_hook"]


@pytest.mark.clause("E18", "I12")
async def test_the_gate_also_judges_what_a_remembered_approval_would_allow() -> None:
    handler = ScriptedHandler(AllowForSession())
    session = ApprovalSession(handler)
    await ask(Authorizer(FixedPolicy(), session))
    error = await denial(ask(Authorizer(FixedPolicy(), session, Gate("no more"))))
    assert error.denial is DenialKind.HOOK
    assert len(handler.requests) == 1


@pytest.mark.clause("E18")
async def test_a_gate_that_does_not_apply_is_not_asked() -> None:
    gate = Gate("never")
    authorizer = Authorizer(FixedPolicy(Allow()), ApprovalSession(), gate)
    request = CapabilityRequest(read_request().operation, type(read_request().source)("ungated"))
    assert await ask(authorizer, request) is AuthorizationOutcome.ALLOWED_BY_POLICY
    assert gate.seen == []


@pytest.mark.clause("E20", "E21", "E23", "E24", "E31")
async def test_remembered_approval_matches_only_the_exact_session_request() -> None:
    handler = ScriptedHandler(AllowForSession(), AllowForSession())
    session = ApprovalSession(handler)
    authorizer = Authorizer(FixedPolicy(), session)
    assert await ask(authorizer) is AuthorizationOutcome.ALLOWED_FOR_SESSION
    assert await ask(authorizer) is AuthorizationOutcome.ALLOWED_BY_REMEMBERED_APPROVAL
    await ask(authorizer, read_request("y"))
    assert [request.tool_call_id for request in handler.requests] == [CALL, CALL]
    assert handler.requests[0].reason == "because policy says so"
    assert decisions(session) == [
        "allowed_for_session",
        "allowed_by_remembered_approval",
        "allowed_for_session",
    ]


@pytest.mark.clause("E24")
async def test_a_later_policy_denial_overrides_memory() -> None:
    session = ApprovalSession(ScriptedHandler(AllowForSession()))
    policy = FixedPolicy()
    authorizer = Authorizer(policy, session)
    await ask(authorizer)
    policy.decision = DenyByPolicy("changed its mind")
    assert (await denial(ask(authorizer))).denial is DenialKind.POLICY


@pytest.mark.clause("E20")
async def test_concurrent_identical_requests_prompt_the_host_once() -> None:
    handler = ScriptedHandler(AllowForSession())
    handler.hold = asyncio.Event()
    session = ApprovalSession(handler)
    authorizer = Authorizer(FixedPolicy(), session)
    asking = [asyncio.create_task(ask(authorizer)) for _ in range(3)]
    await until(lambda: len(handler.requests) == 1)
    handler.hold.set()
    outcomes = await asyncio.gather(*asking)
    assert len(handler.requests) == 1
    assert outcomes.count(AuthorizationOutcome.ALLOWED_FOR_SESSION) == 1
    assert outcomes.count(AuthorizationOutcome.ALLOWED_BY_REMEMBERED_APPROVAL) == 2


@pytest.mark.clause("E20")
async def test_allow_once_does_not_answer_for_the_waiters_behind_it() -> None:
    handler = ScriptedHandler(AllowOnce(), Deny("no"), AllowOnce())
    authorizer = Authorizer(FixedPolicy(), ApprovalSession(handler))
    results = await asyncio.gather(*(ask(authorizer) for _ in range(3)), return_exceptions=True)
    assert len(handler.requests) == 3
    assert [isinstance(result, AuthorizationError) for result in results] == [False, True, False]


@pytest.mark.clause("E20")
async def test_remembered_approval_stays_concurrent_while_another_prompt_is_held() -> None:
    handler = ScriptedHandler(AllowForSession(), AllowOnce())
    session = ApprovalSession(handler)
    authorizer = Authorizer(FixedPolicy(), session)
    await ask(authorizer, read_request("known"))
    handler.hold = asyncio.Event()
    held = asyncio.create_task(ask(authorizer, read_request("new")))
    await until(lambda: len(handler.requests) == 2)
    outcome = await asyncio.wait_for(ask(authorizer, read_request("known")), 1)
    assert outcome is AuthorizationOutcome.ALLOWED_BY_REMEMBERED_APPROVAL
    assert not held.done()
    handler.hold.set()
    assert await held is AuthorizationOutcome.ALLOWED_ONCE


@pytest.mark.clause("E20", "L15")
async def test_distinct_misses_prompt_one_after_another_in_order() -> None:
    handler = ScriptedHandler(*[AllowOnce()] * 3)
    handler.hold = asyncio.Event()
    authorizer = Authorizer(FixedPolicy(), ApprovalSession(handler))
    asking = []
    for name in "abc":
        asking.append(asyncio.create_task(ask(authorizer, read_request(name))))
        await asyncio.sleep(0)
    await until(lambda: len(handler.requests) == 1)
    assert len(handler.requests) == 1
    handler.hold.set()
    await asyncio.gather(*asking)
    assert [request.capability.operation.path.name for request in handler.requests] == list("abc")


@pytest.mark.clause("E22", "L15")
async def test_cancellation_drops_the_prompt_and_releases_the_lock() -> None:
    handler = ScriptedHandler(AllowOnce())
    handler.hold = asyncio.Event()
    session = ApprovalSession(handler)
    authorizer = Authorizer(FixedPolicy(), session)
    token = CancellationToken()
    held = asyncio.create_task(ask(authorizer, token=token))
    waiting = asyncio.create_task(ask(authorizer, read_request("y")))
    await until(lambda: len(handler.requests) == 1)
    token.cancel()
    error = await denial(held)
    assert (error.denial, error.message) == (DenialKind.CANCELLED, "authorization cancelled")
    assert handler.dropped == 1
    handler.hold.set()
    assert await waiting is AuthorizationOutcome.ALLOWED_ONCE
    assert decisions(session) == ["cancelled", "allowed_once"]


@pytest.mark.clause("E22")
async def test_a_waiter_can_be_cancelled_behind_the_lock() -> None:
    handler = ScriptedHandler(AllowOnce(), AllowOnce())
    handler.hold = asyncio.Event()
    authorizer = Authorizer(FixedPolicy(), ApprovalSession(handler))
    token = CancellationToken()
    first = asyncio.create_task(ask(authorizer, read_request("a")))
    await until(lambda: len(handler.requests) == 1)
    second = asyncio.create_task(ask(authorizer, read_request("b"), token))
    third = asyncio.create_task(ask(authorizer, read_request("c")))
    await asyncio.sleep(0)
    token.cancel()
    assert (await denial(second)).denial is DenialKind.CANCELLED
    handler.hold.set()
    await asyncio.gather(first, third)
    assert len(handler.requests) == 2


@pytest.mark.clause("E22")
async def test_an_already_cancelled_call_asks_nobody() -> None:
    log: list[str] = []
    token = CancellationToken()
    token.cancel()
    authorizer = Authorizer(FixedPolicy(log=log), ApprovalSession(ScriptedHandler(log=log)))
    assert (await denial(ask(authorizer, token=token))).denial is DenialKind.CANCELLED
    assert log == []


@pytest.mark.clause("E22")
async def test_dropping_the_authorizing_task_drops_the_prompt() -> None:
    handler = ScriptedHandler(AllowOnce())
    handler.hold = asyncio.Event()
    session = ApprovalSession(handler)
    task = asyncio.create_task(ask(Authorizer(FixedPolicy(), session)))
    await until(lambda: len(handler.requests) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert handler.dropped == 1
    assert not session.prompt_lock.locked()


@pytest.mark.clause("E27")
async def test_no_approval_handler_returns_typed_host_denial() -> None:
    session = ApprovalSession()
    error = await denial(ask(Authorizer(FixedPolicy(), session)))
    assert (error.denial, error.message) == (DenialKind.HOST, "no approval handler is configured")
    assert decisions(session) == [AuditDecision.DENIED_BY_HOST]


@pytest.mark.clause("E26")
@pytest.mark.parametrize(
    ("kind", "tool_kind", "message"),
    [
        (DenialKind.POLICY, ToolErrorKind.POLICY_DENIED, "read capability denied: why"),
        (DenialKind.HOST, ToolErrorKind.POLICY_DENIED, "read capability denied: why"),
        (DenialKind.HOOK, ToolErrorKind.POLICY_DENIED, "read capability denied: why"),
        (DenialKind.CANCELLED, ToolErrorKind.CANCELLED, "tool call cancelled"),
    ],
)
def test_a_denial_maps_to_the_error_of_a_tool(kind, tool_kind, message) -> None:
    error = AuthorizationError(kind, "why", read_request().kind).to_tool_error()
    assert (error.tool_kind, error.message) == (tool_kind, message)


class _RaisingPolicy(WorkspacePolicy):
    def evaluate(self, request):
        raise RuntimeError("secret detail")


class _SillyPolicy(WorkspacePolicy):
    def evaluate(self, request):
        return True


class _RaisingHandler(ApprovalHandler):
    async def decide(self, request):
        raise RuntimeError("secret detail")


class _SillyHandler(ApprovalHandler):
    async def decide(self, request):
        return True


class _RaisingGate(Gate):
    async def judge(self, request, policy, tool_call_id):
        raise RuntimeError("secret detail")


class _RaisingFilter(Gate):
    def gates(self, tool_name):
        raise RuntimeError("secret detail")


@pytest.mark.clause("E28", "L9")
@pytest.mark.parametrize(
    ("policy", "handler", "gate", "kind"),
    [
        (_RaisingPolicy(), None, None, DenialKind.POLICY),
        (_SillyPolicy(), None, None, DenialKind.POLICY),
        (FixedPolicy(), _RaisingHandler(), None, DenialKind.HOST),
        (FixedPolicy(), _SillyHandler(), None, DenialKind.HOST),
        (FixedPolicy(Allow()), None, _RaisingGate(), DenialKind.HOOK),
        (FixedPolicy(Allow()), None, _RaisingFilter(), DenialKind.HOOK),
    ],
)
async def test_whatever_raises_or_answers_nonsense_denies(policy, handler, gate, kind) -> None:
    session = ApprovalSession(handler)
    error = await denial(ask(Authorizer(policy, session, gate)))
    assert error.denial is kind
    assert "secret detail" not in error.message
    assert decisions(session) == [f"denied_by_{kind.value}"]
    assert not session.prompt_lock.locked()


class _CancelAwareHandler(ApprovalHandler):
    async def decide(self, request):
        await request.context.cancellation.cancelled()
        raise Cancelled


@pytest.mark.clause("E22")
async def test_a_handler_that_notices_cancellation_itself_is_a_cancelled_denial() -> None:
    session = ApprovalSession(_CancelAwareHandler())
    token = CancellationToken()
    task = asyncio.create_task(ask(Authorizer(FixedPolicy(), session), token=token))
    await until(session.prompt_lock.locked)
    token.cancel()
    assert (await denial(task)).denial is DenialKind.CANCELLED
    assert decisions(session) == ["cancelled"]


@pytest.mark.clause("E31", "A26")
async def test_live_history_is_given_only_to_a_handler_that_reads_it() -> None:
    history = (UserMessage.of_text("private"),)
    handler = ScriptedHandler(AllowOnce(), AllowOnce())
    authorizer = Authorizer(FixedPolicy(), ApprovalSession(handler))
    await ask(authorizer, history_view=lambda: history)
    handler.reads_live_history = True
    await ask(authorizer, history_view=lambda: history)
    blind, seeing = handler.requests
    assert blind.context.history == ()
    assert seeing.context.history == history
    assert seeing.context.session_id == SESSION
    assert blind == seeing
    assert "private" not in repr(seeing)
    assert seeing.reason not in repr(seeing)
    assert "/w/x" not in repr(seeing)
    assert "history=1" in repr(seeing)
