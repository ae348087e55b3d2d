"""The wire shape of hook envelopes, golden (I3, I4, I10)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rho_core.errors import InvalidConfiguration
from rho_core.hooks.bounds import HookBounds
from rho_core.hooks.dispatch import HookDispatcher
from rho_core.hooks.envelope import HookEnvelope, HookEnvelopeTooLarge
from rho_core.hooks.events import HookEvent
from rho_core.ids import SessionId, ToolCallId
from rho_core.tooling.values import ToolOutput, ToolSucceeded
from tests.core.hook_doubles import RUN, SESSION, Collector, ScriptedGate, shell


def dispatcher(**options) -> tuple[HookDispatcher, Collector, ScriptedGate]:
    observer, gate = Collector(), ScriptedGate()
    fields = {
        "host_labels": {"b": "2", "a": "1"},
        "workspace_root": Path("/w"),
        "clock": lambda: 1.5,
        **options,
    }
    return HookDispatcher(observer, gate, **fields), observer, gate


def golden(envelope: HookEnvelope) -> str:
    text = envelope.to_bounded_json(HookBounds())
    return text.replace(envelope.event_id, "EVENT-ID")


HEAD = (
    '{{"schema_version":2,"event":"{event}","event_id":"EVENT-ID","timestamp_unix_ms":1500,'
    '"identity":{{"session_id":"session-1","parent_session_id":null,"run_id":{run}}},'
    '"host_labels":{{"a":"1","b":"2"}},"workspace":{{"root":"/w"}},'
    '"bounds":{{"truncated":false,"fields":[]}},"payload":'
)


@pytest.mark.clause("I3", "I4", "I5")
async def test_before_tool_use_wire_shape_is_stable() -> None:
    hooks, _, gate = dispatcher()
    await hooks.for_run(SESSION, RUN).judge(shell("ls"), "require_approval", ToolCallId("c1"))
    assert golden(gate.requests[0].envelope) == (
        HEAD.format(event="before_tool_use", run='"run-1"')
        + '{"tool":{"name":"bash","call_id":"c1"},"capability":{"operation":"execute_process",'
        '"working_directory":"/w","executable":"/bin/sh","arguments":["-c"],'
        '"shell_command":"ls","environment":"inherit_except"},"policy":"require_approval"}}'
    )


@pytest.mark.clause("I3", "I4")
def test_after_tool_use_wire_shape_is_stable() -> None:
    hooks, observer, _ = dispatcher()
    completion = ToolSucceeded(ToolOutput.text("x"))
    hooks.for_run(SESSION, RUN).after_tool_use("bash", ToolCallId("c1"), completion, 0.25)
    assert golden(observer.envelopes[0]) == (
        HEAD.format(event="after_tool_use", run='"run-1"')
        + '{"tool":{"name":"bash","call_id":"c1"},"status":"succeeded","failure":null,'
        '"duration_ms":250}}'
    )


@pytest.mark.clause("I3", "I4", "I6")
def test_run_and_session_wire_shapes_are_stable() -> None:
    hooks, observer, _ = dispatcher()
    run = hooks.for_run(SESSION, RUN)
    run.run_failed(InvalidConfiguration("bad"))
    run.run_completed("max_steps", 7)
    hooks.session_started(SESSION, "acme/m1")
    hooks.session_completed(SESSION, 3)
    hooks.session_failed(SESSION, "provider", "gone")
    expected = [
        (
            "run_failed", '"run-1"',
            '{"failure":{"kind":"invalid_configuration","message":"invalid configuration: bad"}}}',
        ),
        ("run_completed", '"run-1"', '{"stop_reason":"max_steps","revision":7}}'),
        ("session_started", "null", '{"model":"acme/m1"}}'),
        ("session_completed", "null", '{"runs":3}}'),
        ("session_failed", "null", '{"failure":{"kind":"provider","message":"gone"}}}'),
    ]  # fmt: skip
    for envelope, (event, run_id, payload) in zip(observer.envelopes, expected, strict=True):
        assert golden(envelope) == HEAD.format(event=event, run=run_id) + payload


@pytest.mark.clause("I3")
def test_a_workspaceless_runtime_reports_nulls() -> None:
    hooks, observer, _ = dispatcher(workspace_root=None, host_labels=None)
    hooks.session_completed(SESSION, 0)
    shape = observer.envelopes[0].to_dict()
    assert shape["workspace"] == {"root": None}
    assert shape["host_labels"] == {}
    assert shape["identity"]["run_id"] is None


@pytest.mark.clause("I7", "I8")
def test_cut_fields_reach_the_handler_in_the_bounds_report() -> None:
    hooks, observer, _ = dispatcher(
        bounds=HookBounds(4),
        workspace_root=Path("/long/root"),
        host_labels={"label": "value"},
        parent_session_id=SessionId("parent"),
    )
    hooks.for_run(SESSION, RUN).run_failed(InvalidConfiguration("bad"))
    shape = json.loads(observer.envelopes[0].to_bounded_json(HookBounds()))
    assert shape["bounds"] == {
        "truncated": True,
        "fields": [
            "host_labels.keys[0]", "host_labels.labe", "identity.parent_session_id",
            "identity.run_id", "identity.session_id", "payload.failure.kind",
            "payload.failure.message", "workspace.root",
        ],
    }  # fmt: skip
    assert shape["identity"] == {
        "session_id": "sess", "parent_session_id": "pare", "run_id": "run-",
    }  # fmt: skip
    assert shape["workspace"] == {"root": "/lon"}
    assert shape["host_labels"] == {"labe": "valu"}


@pytest.mark.clause("I9")
def test_multibyte_identities_remain_valid_under_a_one_byte_bound() -> None:
    hooks, observer, _ = dispatcher(bounds=HookBounds(1))
    hooks.session_completed(SessionId("ä"), 0)
    assert observer.envelopes[0].identity.session_id == "_"


@pytest.mark.clause("I10")
def test_an_oversized_envelope_is_refused_rather_than_silently_shortened() -> None:
    hooks, observer, _ = dispatcher()
    hooks.session_started(SESSION, "mödel")
    envelope = observer.envelopes[0]
    size = len(envelope.to_bounded_json(HookBounds()).encode())
    assert envelope.to_bounded_json(HookBounds(1, size))
    with pytest.raises(HookEnvelopeTooLarge) as caught:
        envelope.to_bounded_json(HookBounds(1, size - 1))
    error = caught.value
    assert (error.event, error.size, error.limit) == (HookEvent.SESSION_STARTED, size, size - 1)


@pytest.mark.clause("I3")
def test_accessors_report_what_was_built() -> None:
    hooks, observer, _ = dispatcher()
    hooks.session_completed(SESSION, 1)
    hooks.session_completed(SESSION, 1)
    first, second = observer.envelopes
    assert first.event is HookEvent.SESSION_COMPLETED
    assert first.timestamp_unix_ms == 1500
    assert first.event_id != second.event_id
