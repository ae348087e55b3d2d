"""Approvals that a person answers: requests wait in arrival order until decided or withdrawn."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from rho_core.authority.approvals import (
    ApprovalDecision,
    ApprovalHandler,
    ApprovalRequest,
    Deny,
)

NOBODY_TO_ASK = "nobody is there to approve it"


@dataclass(frozen=True, slots=True)
class QueuedApproval:
    """A request that waits; `id` is unique in this process."""

    id: str
    request: ApprovalRequest
    _decision: asyncio.Future[ApprovalDecision] = field(compare=False, repr=False)


class InteractiveApprovals(ApprovalHandler):
    """Hands requests to a listener, first in first out, and waits for its answers.

    Without a listener every request is denied: nothing is ever allowed by default.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._pending: dict[str, QueuedApproval] = {}
        self._asked: Callable[[QueuedApproval], None] | None = None
        self._withdrawn: Callable[[QueuedApproval], None] | None = None

    def connect(
        self,
        asked: Callable[[QueuedApproval], None],
        withdrawn: Callable[[QueuedApproval], None],
    ) -> None:
        """Call `asked` for every new request, `withdrawn` when one is void. Neither may block."""
        self._asked, self._withdrawn = asked, withdrawn

    def disconnect(self) -> None:
        """Stop listening; what waits is denied."""
        self._asked = self._withdrawn = None
        for approval_id in tuple(self._pending):
            self.answer(approval_id, Deny(NOBODY_TO_ASK))

    @property
    def pending(self) -> tuple[QueuedApproval, ...]:
        """What waits for an answer, oldest first."""
        return tuple(self._pending.values())

    def find(self, approval_id: str) -> QueuedApproval | None:
        """The request that waits under this id."""
        return self._pending.get(approval_id)

    def answer(self, approval_id: str, decision: ApprovalDecision) -> bool:
        """Deliver a decision, once. False: unknown, answered already, or withdrawn (E34)."""
        pending = self._pending.pop(approval_id, None)
        if pending is None or pending._decision.done():
            return False
        pending._decision.set_result(decision)
        return True

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        """Wait until a person has decided; dropped (cancelled) when the call is cancelled."""
        if self._asked is None:
            return Deny(NOBODY_TO_ASK)
        future: asyncio.Future[ApprovalDecision] = asyncio.get_running_loop().create_future()
        pending = QueuedApproval(f"approval-{next(self._numbers)}", request, future)
        self._pending[pending.id] = pending
        self._asked(pending)
        try:
            return await future
        finally:
            if self._pending.pop(pending.id, None) is not None and self._withdrawn is not None:
                self._withdrawn(pending)
