"""A bounded, secret-free trail of authorization decisions (E29, E30)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from rho_core.authority.capabilities import CapabilityKind

MAX_AUDIT_RECORDS = 1024


class AuditDecision(StrEnum):
    """The sanitised result of one authorization. A plain policy allowance is not recorded."""

    ALLOWED_ONCE = "allowed_once"
    ALLOWED_FOR_SESSION = "allowed_for_session"
    ALLOWED_BY_REMEMBERED_APPROVAL = "allowed_by_remembered_approval"
    DENIED_BY_POLICY = "denied_by_policy"
    DENIED_BY_HOST = "denied_by_host"
    DENIED_BY_HOOK = "denied_by_hook"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One decision: its number (from 1, never reused), the class of authority, the result."""

    sequence: int
    kind: CapabilityKind
    decision: AuditDecision


class ApprovalAudit:
    """The last 1024 decisions, oldest first."""

    __slots__ = ("_next", "_records")

    def __init__(self) -> None:
        self._records: deque[AuditRecord] = deque(maxlen=MAX_AUDIT_RECORDS)
        self._next = 1

    def record(self, kind: CapabilityKind, decision: AuditDecision) -> None:
        """Append a decision; the oldest gives way at the bound."""
        self._records.append(AuditRecord(self._next, kind, decision))
        self._next += 1

    @property
    def records(self) -> tuple[AuditRecord, ...]:
        """A copy of what is kept."""
        return tuple(self._records)

    def __len__(self) -> int:
        return len(self._records)
