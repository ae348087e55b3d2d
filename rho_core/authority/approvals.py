"""Authorization: policy, gate, remembered rules, host approval, audit (section E)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from rho_core.authority.capabilities import CapabilityKind, CapabilityRequest
from rho_core.cancellation import CancellationToken
from rho_core.errors import ErrorKind, RhoError
from rho_core.history.messages import History
from rho_core.ids import SessionId, ToolCallId


class AuthorizationOutcome(StrEnum):
    """How authority was granted (E25)."""

    ALLOWED_BY_POLICY = "allowed_by_policy"
    ALLOWED_ONCE = "allowed_once"
    ALLOWED_FOR_SESSION = "allowed_for_session"
    ALLOWED_BY_REMEMBERED_APPROVAL = "allowed_by_remembered_approval"


class DenialKind(StrEnum):
    """Who refused (E25)."""

    POLICY = "policy"
    HOST = "host"
    CANCELLED = "cancelled"
    HOOK = "hook"


@dataclass(frozen=True, slots=True)
class AllowOnce:
    """Allow this request, this time."""


@dataclass(frozen=True, slots=True)
class AllowForSession:
    """Allow this exact request for the rest of the session (E23, E24)."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse; the reason reaches the model."""

    reason: str


ApprovalDecision: TypeAlias = AllowOnce | AllowForSession | Deny


@dataclass(frozen=True, slots=True)
class ApprovalContext:
    """Where a request comes from. `history` is empty unless the handler reads live history."""

    session_id: SessionId
    cancellation: CancellationToken
    history: History = ()


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What the host is asked (E31). Compares without its context."""

    capability: CapabilityRequest
    reason: str
    tool_call_id: ToolCallId | None
    context: ApprovalContext = field(compare=False)

    def __repr__(self) -> str:
        return (
            f"ApprovalRequest(kind={self.capability.kind.value!r}, "
            f"source={self.capability.source!r}, correlated={self.tool_call_id is not None}, "
            f"session_id={str(self.context.session_id)!r}, history={len(self.context.history)})"
        )


class ApprovalHandler(ABC):
    """The host's answer to requests that policy wants approved."""

    #: Whether requests carry the history of the turn in flight (A26).
    reads_live_history: bool = False

    @abstractmethod
    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide once. Dropped (cancelled as a task) when the call is cancelled."""


class AuthorizationError(RhoError):
    """Authority was denied; `message` says why, `denial` says by whom."""

    kind = ErrorKind.POLICY_DENIED
    prefix = "authorization denied: "

    def __init__(self, denial: DenialKind, message: str, capability: CapabilityKind) -> None:
        super().__init__(message)
        self.denial = denial
        self.capability = capability
