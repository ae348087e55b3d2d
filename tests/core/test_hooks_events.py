"""Hook events and their names on the wire (I1, I2)."""

from __future__ import annotations

import pytest

from rho_core.hooks.events import HOOK_SCHEMA_VERSION, HookEvent
from rho_core.hooks.payload import (
    AfterToolUse,
    BeforeToolUse,
    RunCompleted,
    RunFailed,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
)

NAMES = [
    "session_started", "before_tool_use", "after_tool_use", "run_completed", "run_failed",
    "session_completed", "session_failed",
]  # fmt: skip


@pytest.mark.clause("I1")
def test_exactly_the_documented_events_exist_and_their_names_are_unique() -> None:
    assert [event.value for event in HookEvent] == NAMES
    assert len(set(NAMES)) == len(NAMES)
    assert HOOK_SCHEMA_VERSION == 2


@pytest.mark.clause("I1")
def test_wire_names_round_trip_and_unknown_names_resolve_to_nothing() -> None:
    for name in NAMES:
        event = HookEvent.from_wire(name)
        assert event is not None
        assert event.value == name
    for unknown in ("", "SESSION_STARTED", "session", "before_tool_use "):
        assert HookEvent.from_wire(unknown) is None


@pytest.mark.clause("I2")
def test_only_before_tool_use_blocks() -> None:
    assert [event for event in HookEvent if event.is_blocking] == [HookEvent.BEFORE_TOOL_USE]


@pytest.mark.clause("I2")
def test_every_event_is_classified() -> None:
    assert {event.value for event in HookEvent if event.is_post_action} == {
        "after_tool_use", "run_completed", "run_failed", "session_failed",
    }  # fmt: skip


@pytest.mark.clause("I1")
def test_every_event_has_one_payload() -> None:
    payloads = (
        SessionStarted, BeforeToolUse, AfterToolUse, RunCompleted, RunFailed, SessionCompleted,
        SessionFailed,
    )  # fmt: skip
    assert [payload.event for payload in payloads] == list(HookEvent)
