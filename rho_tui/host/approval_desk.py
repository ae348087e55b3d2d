"""Where requests for approval become events, and decisions of people become answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rho_core.authority.approvals import ApprovalDecision
from rho_core.history.messages import ToolCall
from rho_core.ids import ToolCallId
from rho_core.tooling.values import ToolMetadata
from rho_tui.host import facts
from rho_tui.host.approval_facts import decided
from rho_tui.host.approvals import InteractiveApprovals, QueuedApproval
from rho_tui.host.facts import ConversationEvent
from rho_tui.host.replay import approval_answered
from rho_tui.host.sessions.records import Record

Proposal = tuple[ToolCall | None, ToolMetadata | None]


class ApprovalDesk:
    """Connects a handler to a conversation.

    Args:
        approvals: The handler that the runtime asks.
        post: Runs a job in its turn, after what the run has told so far.
        show: Shows events; first makes everything durable, this record included, if there is one.
        proposal: What is known of a call.
    """

    def __init__(
        self,
        approvals: InteractiveApprovals,
        *,
        post: Callable[[Callable[[], Awaitable[None]]], None],
        show: Callable[[ConversationEvent, Record | None], Awaitable[None]],
        proposal: Callable[[ToolCallId | None], Proposal],
    ) -> None:
        self._approvals = approvals
        self._post, self._show, self._proposal = post, show, proposal
        self._deciding: set[str] = set()
        approvals.connect(self._asked, self._withdrawn)

    def decide(self, approval_id: str, decision: ApprovalDecision) -> bool:
        """Answer a request. False: it was decided already, or its call is gone."""
        pending = self._approvals.find(approval_id)
        if pending is None or approval_id in self._deciding:
            return False
        self._deciding.add(approval_id)
        record = decided(pending, decision)

        async def deliver() -> None:
            self._deciding.discard(approval_id)
            if self._approvals.find(approval_id) is None:
                return  # withdrawn before its turn came
            await self._show(approval_answered(record), record)
            self._approvals.answer(approval_id, decision)

        self._post(deliver)
        return True

    def close(self) -> None:
        """Nobody decides any more: what waits is denied."""
        self._approvals.disconnect()

    def _asked(self, pending: QueuedApproval) -> None:
        async def tell() -> None:
            if self._approvals.find(pending.id) is None:
                return  # withdrawn before anybody saw it
            call, preview = self._proposal(pending.request.tool_call_id)
            await self._show(facts.ApprovalAsked(pending.id, pending.request, call, preview), None)

        self._post(tell)

    def _withdrawn(self, pending: QueuedApproval) -> None:
        async def tell() -> None:
            await self._show(facts.ApprovalWithdrawn(pending.id), None)

        self._post(tell)
