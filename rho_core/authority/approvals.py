"""Host approval: requests, decisions, remembered exact rules and the approval channel (section E).

`Authorizer` in `rho_core.authority.pipeline` is what calls these in the right order.
"""

from __future__ import annotations

import asyncio
import weakref
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import TypeAlias

from rho_core.authority.audit import ApprovalAudit
from rho_core.authority.capabilities import CapabilityKind, CapabilityRequest
from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel, ChannelClosed
from rho_core.errors import ErrorKind, RhoError, ToolError
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

    def to_tool_error(self) -> ToolError:
        """What the tool, and so the model, is told (E26)."""
        if self.denial is DenialKind.CANCELLED:
            return ToolError.cancelled()
        return ToolError.policy_denied(f"{self.capability.value} capability denied: {self.message}")


class DenyApprovals(ApprovalHandler):
    """The default handler: there is no host to ask (E27)."""

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        """Deny."""
        return Deny("no approval handler is configured")


class ApprovalSession:
    """The approval memory of a session: handler, exact rules, prompt order, audit (E20, E24).

    Share one object to share the memory. Rules are never persisted, and policy is asked first
    every time, so a remembered rule cannot outlive a policy that changed its mind.
    """

    def __init__(
        self, handler: ApprovalHandler | None = None, audit: ApprovalAudit | None = None
    ) -> None:
        self.handler: ApprovalHandler = handler or DenyApprovals()
        self.audit = audit if audit is not None else ApprovalAudit()
        #: One prompt at a time, first come first served; asyncio's lock is FIFO.
        self.prompt_lock = asyncio.Lock()
        self._remembered: set[CapabilityRequest] = set()

    def remember(self, request: CapabilityRequest) -> None:
        """Allow this exact request from now on (E23)."""
        self._remembered.add(request)

    def is_remembered(self, request: CapabilityRequest) -> bool:
        """Whether this exact request was allowed for the session."""
        return request in self._remembered

    def forget(self) -> None:
        """Forget every rule, such as when the host changes what it allows."""
        self._remembered.clear()

    def __repr__(self) -> str:
        return f"ApprovalSession(remembered={len(self._remembered)}, audit={len(self.audit)})"


_DROPPED_RESPONDER = Deny("approval responder was dropped")
_DROPPED_RECEIVER = Deny("approval request receiver was dropped")


class PendingApproval:
    """A request that waits for its one decision (E34). Letting go of it unanswered denies."""

    __slots__ = ("__weakref__", "_answer", "request")

    def __init__(self, request: ApprovalRequest, answer: asyncio.Future[ApprovalDecision]) -> None:
        self.request = request
        self._answer = answer
        weakref.finalize(self, _deny_from_finalizer, answer).atexit = False

    @property
    def is_waiting(self) -> bool:
        """Whether somebody still waits for a decision."""
        return not self._answer.done()

    def respond(self, decision: ApprovalDecision) -> bool:
        """Deliver the decision; False if one was delivered before or the waiter has gone."""
        if self._answer.done():
            return False
        self._answer.set_result(decision)
        return True

    def drop(self) -> None:
        """Give up without a decision: the waiter is denied."""
        self.respond(_DROPPED_RESPONDER)

    def __repr__(self) -> str:
        return f"PendingApproval({self.request!r}, is_waiting={self.is_waiting})"


class ChannelApprovals(ApprovalHandler):
    """The asking end of an approval channel. `close` it, or let go of it, when nobody asks more."""

    def __init__(
        self, channel: Channel[PendingApproval], *, reads_live_history: bool = False
    ) -> None:
        self._channel = channel
        self.reads_live_history = reads_live_history
        weakref.finalize(self, channel.close).atexit = False

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        """Put the request to the receiver and wait; waits for room in a full channel (E32)."""
        answer: asyncio.Future[ApprovalDecision] = asyncio.get_running_loop().create_future()
        try:
            await self._channel.send(PendingApproval(request, answer))
        except ChannelClosed:
            return _DROPPED_RECEIVER
        return await answer

    def close(self) -> None:
        """No further requests come; what is queued can still be received."""
        self._channel.close()


class ApprovalReceiver:
    """The answering end of an approval channel; `async with` closes it."""

    def __init__(self, channel: Channel[PendingApproval]) -> None:
        self._channel = channel
        weakref.finalize(self, _drop_receiver, channel).atexit = False

    async def recv(self) -> PendingApproval | None:
        """The next request that is still waited for; None once no more can come (E33)."""
        while True:
            try:
                pending = await self._channel.receive()
            except ChannelClosed:
                return None
            if pending.is_waiting:
                return pending

    def close(self) -> None:
        """Stop answering: queued and later requests are denied."""
        _drop_receiver(self._channel)

    async def __aenter__(self) -> ApprovalReceiver:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


def approval_channel(
    capacity: int, *, reads_live_history: bool = False
) -> tuple[ChannelApprovals, ApprovalReceiver]:
    """A handler and the receiver of its requests, at most `capacity` of them queued (E32).

    Raises ValueError for a capacity that is no integer of at least 1 (A24).
    """
    if isinstance(capacity, bool) or not isinstance(capacity, int):
        raise ValueError("approval channel capacity must be an integer")
    channel: Channel[PendingApproval] = Channel(capacity)
    handler = ChannelApprovals(channel, reads_live_history=reads_live_history)
    return handler, ApprovalReceiver(channel)


def _drop_receiver(channel: Channel[PendingApproval]) -> None:
    while (pending := channel.try_receive()) is not None:
        pending.drop()
    channel.drop_receiver()


def _deny_from_finalizer(answer: asyncio.Future[ApprovalDecision]) -> None:
    """The garbage collector may run in any thread: hand the denial to the waiter's loop."""
    if answer.done() or answer.get_loop().is_closed():
        return

    def deny() -> None:
        if not answer.done():
            answer.set_result(_DROPPED_RESPONDER)

    answer.get_loop().call_soon_threadsafe(deny)
