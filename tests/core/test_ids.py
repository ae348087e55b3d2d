"""Identifiers and revisions (B1, B2)."""

from __future__ import annotations

import json
import uuid

import pytest

from rho_core.ids import (
    HookEventId,
    HostInputId,
    Revision,
    RunId,
    SessionId,
    SteeringId,
    ToolCallId,
    UsageEventId,
)

KINDS = [SessionId, RunId, ToolCallId, SteeringId, HostInputId, HookEventId, UsageEventId]


@pytest.mark.clause("B1")
@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_random_opaque_and_never_empty(kind: type) -> None:
    assert uuid.UUID(kind()).version == 4
    assert kind() != kind()
    assert kind("  ") == "  "
    assert json.dumps(kind("x")) == '"x"'
    with pytest.raises(ValueError, match="identifier must not be empty"):
        kind("")


@pytest.mark.clause("B2", "L6")
def test_revisions_advance_without_wrapping() -> None:
    assert Revision() == 0
    assert Revision(1).checked_next() == 2
    assert isinstance(Revision(1).checked_next(), Revision)
    top = Revision(2**64 - 1)
    assert top.checked_next() is None
    assert Revision(1) < Revision(2)
    assert json.dumps(top) == str(2**64 - 1)
    for bad in (-1, 2**64, True):
        with pytest.raises(ValueError):
            Revision(bad)
