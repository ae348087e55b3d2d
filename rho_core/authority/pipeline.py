"""The one way to authority: policy, then gate, then remembered rules, then the host (E16–E28).

Whatever raises on the way denies: an exception can never widen authority.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Protocol, TypeAlias

from rho_core.authority.approvals import (
    AllowForSession,
    AllowOnce,
    ApprovalContext,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalSession,
    AuthorizationError,
    AuthorizationOutcome,
    DenialKind,
    Deny,
)
from rho_core.authority.audit import AuditDecision
from rho_core.authority.capabilities import CapabilityRequest
from rho_core.authority.policy import (
    Allow,
    DenyByPolicy,
    PolicyDecision,
    RequireApproval,
    WorkspacePolicy,
)
from rho_core.cancellation import CancellationToken
from rho_core.errors import Cancelled
from rho_core.history.messages import History
from rho_core.ids import SessionId, ToolCallId

PolicyOutcome: TypeAlias = Literal["allow", "require_approval"]
HistoryView: TypeAlias = Callable[[], History]


class CapabilityGate(Protocol):
    """What may narrow a policy decision, never widen it. `hooks.dispatch.RunHooks` is one."""

    def gates(self, tool_name: str) -> bool:
        """Whether this tool's requests are judged at all."""

    async def judge(
        self, request: CapabilityRequest, policy: PolicyOutcome, tool_call_id: ToolCallId | None
    ) -> str | None:
        """The reason of a denial, None to continue."""


def gated_outcome(decision: PolicyDecision) -> PolicyOutcome | None:
    """What a gate is told of a policy decision; None for a denial, which it never sees (E17)."""
    match decision:
        case Allow():
            return "allow"
        case RequireApproval():
            return "require_approval"
        case DenyByPolicy():
            return None


class Authorizer:
    """Authorizes requests of one session or tool host. Safe to use concurrently."""

    def __init__(
        self,
        policy: WorkspacePolicy,
        approvals: ApprovalSession,
        gate: CapabilityGate | None = None,
    ) -> None:
        self.policy = policy
        self.approvals = approvals
        self.gate = gate

    async def authorize(
        self,
        request: CapabilityRequest,
        *,
        tool_call_id: ToolCallId | None,
        session_id: SessionId,
        cancellation: CancellationToken,
        history_view: HistoryView | None = None,
    ) -> AuthorizationOutcome:
        """Return how authority was granted, or raise `AuthorizationError` (E25).

        `history_view` gives the live history; it is read only for a handler that asks for it.
        """
        try:
            cancellation.raise_if_cancelled()
            decision = self._evaluate_policy(request)
            if isinstance(decision, Allow) and self.gate is None:
                return AuthorizationOutcome.ALLOWED_BY_POLICY  # nobody to wait for
            context = ApprovalContext(session_id, cancellation)
            work = self._decide(request, decision, tool_call_id, context, history_view)
            return await cancellation.race(work)
        except Cancelled:
            raise self._denied(
                request, DenialKind.CANCELLED, AuditDecision.CANCELLED, "authorization cancelled"
            ) from None

    async def _decide(
        self,
        request: CapabilityRequest,
        decision: PolicyDecision,
        tool_call_id: ToolCallId | None,
        context: ApprovalContext,
        history_view: HistoryView | None,
    ) -> AuthorizationOutcome:
        if isinstance(decision, DenyByPolicy):
            raise self._denied(
                request, DenialKind.POLICY, AuditDecision.DENIED_BY_POLICY, decision.reason
            )
        await self._pass_gate(request, decision, tool_call_id)
        if isinstance(decision, Allow):
            return AuthorizationOutcome.ALLOWED_BY_POLICY
        if self.approvals.is_remembered(request):
            return self._allowed_by_memory(request)
        async with self.approvals.prompt_lock:
            # whoever held the lock before may have allowed this very request for the session
            if self.approvals.is_remembered(request):
                return self._allowed_by_memory(request)
            if history_view is not None and self.approvals.handler.reads_live_history:
                context = replace(context, history=history_view())
            answer = await self._ask_host(
                ApprovalRequest(request, decision.reason, tool_call_id, context)
            )
            return self._settle(request, answer)

    def _evaluate_policy(self, request: CapabilityRequest) -> PolicyDecision:
        try:
            decision = self.policy.evaluate(request)
        except Exception:  # noqa: BLE001 - a policy that crashes must deny (E28)
            return DenyByPolicy("policy evaluation failed")
        if isinstance(decision, Allow | DenyByPolicy | RequireApproval):
            return decision
        return DenyByPolicy("policy returned no decision")  # type: ignore[unreachable]  # host code

    async def _pass_gate(
        self,
        request: CapabilityRequest,
        decision: PolicyDecision,
        tool_call_id: ToolCallId | None,
    ) -> None:
        if self.gate is None:
            return
        policy = gated_outcome(decision)
        if policy is None:
            return
        try:
            if not self.gate.gates(request.source_name):
                return
            reason = await self.gate.judge(request, policy, tool_call_id)
        except Cancelled:  # the gate saw the token before the race did
            raise
        except Exception:  # noqa: BLE001 - a gate that crashes must deny (E28)
            reason = "pre-tool-use hook failed"
        if reason is not None:
            raise self._denied(request, DenialKind.HOOK, AuditDecision.DENIED_BY_HOOK, reason)

    async def _ask_host(self, request: ApprovalRequest) -> ApprovalDecision:
        try:
            return await self.approvals.handler.decide(request)
        except Cancelled:  # the handler saw the token before the race did
            raise
        except Exception:  # noqa: BLE001 - a handler that crashes must deny (E28)
            return Deny("approval handler failed")

    def _settle(self, request: CapabilityRequest, answer: ApprovalDecision) -> AuthorizationOutcome:
        audit = self.approvals.audit
        match answer:
            case AllowOnce():
                audit.record(request.kind, AuditDecision.ALLOWED_ONCE)
                return AuthorizationOutcome.ALLOWED_ONCE
            case AllowForSession():
                self.approvals.remember(request)
                audit.record(request.kind, AuditDecision.ALLOWED_FOR_SESSION)
                return AuthorizationOutcome.ALLOWED_FOR_SESSION
            case Deny(reason=reason):
                pass
            case _:  # host code without types
                reason = "approval handler returned no decision"  # type: ignore[unreachable]
        raise self._denied(request, DenialKind.HOST, AuditDecision.DENIED_BY_HOST, reason)

    def _allowed_by_memory(self, request: CapabilityRequest) -> AuthorizationOutcome:
        self.approvals.audit.record(request.kind, AuditDecision.ALLOWED_BY_REMEMBERED_APPROVAL)
        return AuthorizationOutcome.ALLOWED_BY_REMEMBERED_APPROVAL

    def _denied(
        self, request: CapabilityRequest, denial: DenialKind, audited: AuditDecision, reason: str
    ) -> AuthorizationError:
        self.approvals.audit.record(request.kind, audited)
        return AuthorizationError(denial, reason, request.kind)
