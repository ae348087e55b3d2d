"""Collaborators that the authorization tests share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from rho_core.authority.approvals import (
    ApprovalDecision,
    ApprovalHandler,
    ApprovalRequest,
    ApprovalSession,
    AuthorizationOutcome,
)
from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityRequest,
    PrimaryWorkspace,
    ReadPath,
)
from rho_core.authority.pipeline import Authorizer
from rho_core.authority.policy import PolicyDecision, RequireApproval, WorkspacePolicy
from rho_core.cancellation import CancellationToken
from rho_core.ids import SessionId, ToolCallId

SESSION = SessionId("session")
CALL = ToolCallId("call")


def read_request(name: str = "x") -> CapabilityRequest:
    return CapabilityRequest(ReadPath(Path("/w") / name, PrimaryWorkspace()), BuiltInTool("read"))


class FixedPolicy(WorkspacePolicy):
    def __init__(self, decision: PolicyDecision | None = None, log: list[str] | None = None):
        self.decision = decision or RequireApproval("because policy says so")
        self.log = log if log is not None else []

    def evaluate(self, request: CapabilityRequest) -> PolicyDecision:
        self.log.append("policy")
        return self.decision


class ScriptedHandler(ApprovalHandler):
    """Answers from a list, or waits for `release` when told to hold."""

    def __init__(self, *answers: ApprovalDecision, log: list[str] | None = None) -> None:
        self.answers = list(answers)
        self.requests: list[ApprovalRequest] = []
        self.log = log if log is not None else []
        self.hold: asyncio.Event | None = None
        self.dropped = 0

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        self.log.append("approval")
        self.requests.append(request)
        try:
            if self.hold is not None:
                await self.hold.wait()
        except asyncio.CancelledError:
            self.dropped += 1
            raise
        return self.answers.pop(0)


async def ask(
    authorizer: Authorizer,
    request: CapabilityRequest | None = None,
    token: CancellationToken | None = None,
    **more: object,
) -> AuthorizationOutcome:
    return await authorizer.authorize(
        request or read_request(),
        tool_call_id=CALL,
        session_id=SESSION,
        cancellation=token or CancellationToken(),
        **more,  # type: ignore[arg-type]
    )


def decisions(session: ApprovalSession) -> list[str]:
    return [record.decision.value for record in session.audit.records]


async def until(condition: Callable[[], bool], turns: int = 1000) -> None:
    """Let the loop turn until `condition` holds."""
    for _ in range(turns):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("the condition never came true")
