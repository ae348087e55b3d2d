"""The audit trail: bounded, ordered, free of secrets (E29, E30)."""

from __future__ import annotations

from dataclasses import fields

import pytest

from rho_core.authority.audit import (
    MAX_AUDIT_RECORDS,
    ApprovalAudit,
    AuditDecision,
    AuditRecord,
)
from rho_core.authority.capabilities import CapabilityKind


@pytest.mark.clause("E29")
def test_sequences_start_at_one_and_records_hold_nothing_else() -> None:
    audit = ApprovalAudit()
    audit.record(CapabilityKind.READ, AuditDecision.ALLOWED_ONCE)
    audit.record(CapabilityKind.PROCESS, AuditDecision.DENIED_BY_HOST)
    assert audit.records == (
        AuditRecord(1, CapabilityKind.READ, AuditDecision.ALLOWED_ONCE),
        AuditRecord(2, CapabilityKind.PROCESS, AuditDecision.DENIED_BY_HOST),
    )
    assert [field.name for field in fields(AuditRecord)] == ["sequence", "kind", "decision"]


@pytest.mark.clause("E30")
def test_the_oldest_gives_way_and_counting_goes_on() -> None:
    audit = ApprovalAudit()
    for _ in range(MAX_AUDIT_RECORDS + 3):
        audit.record(CapabilityKind.WRITE, AuditDecision.CANCELLED)
    assert len(audit) == MAX_AUDIT_RECORDS == 1024
    assert [audit.records[0].sequence, audit.records[-1].sequence] == [4, 1027]
    kept = audit.records
    audit.record(CapabilityKind.WRITE, AuditDecision.CANCELLED)
    assert kept[0].sequence == 4
