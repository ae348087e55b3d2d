"""What a runtime does when nothing is asked of it, and what each option changes (A.1)."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from rho_core import events as ev
from rho_core.authority.approvals import approval_channel
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.errors import InvalidConfiguration, RuntimeShutdown
from rho_core.history.compaction import CompactionPolicy
from rho_core.hooks.bounds import HookBounds
from rho_core.providers.contract import ServiceTier
from rho_core.reasoning import ReasoningLevel
from rho_core.runtime import Rho
from rho_core.session import SessionState
from rho_core.testing import ScriptedCompactor, ScriptedProvider, ScriptedTurn
from rho_core.usage_recording import UsageRecording
from tests.core.hook_doubles import READ, Collector, ScriptedGate
from tests.core.run_harness import Gate, call, open_session, results, run_all, within


@pytest.mark.clause("A4", "A5", "A7", "A11", "A13", "A14", "A18", "A19")
async def test_a_bare_runtime_has_the_smallest_configuration() -> None:
    rho = Rho(ScriptedProvider([ScriptedTurn.completed("hi")]))
    seen = rho.diagnostics()
    assert (seen.event_capacity, seen.max_steps, seen.max_parallel_tools) == (64, 32, 1)
    assert (seen.workspace_root, seen.tools, seen.prompt_sources) == (None, (), ())
    assert (seen.compaction_trigger_messages, seen.compaction_trigger_tokens) == (None, None)
    assert (seen.reasoning_level, seen.service_tier) == (ReasoningLevel.MEDIUM, None)
    assert list(ServiceTier) == [ServiceTier.PRIORITY]
    assert not rho.hooks.is_enabled
    assert not rho.usage_recording.is_enabled
    assert (await rho.session()).history == ()


@pytest.mark.clause("A13", "A14")
async def test_the_options_of_a_request_are_passed_on() -> None:
    session, provider = await open_session(
        [ScriptedTurn.completed("hi")],
        reasoning=ReasoningLevel.HIGH,
        service_tier=ServiceTier.PRIORITY,
    )
    await session.complete("go")
    request = provider.requests[0]
    assert (request.reasoning, request.service_tier) == (
        ReasoningLevel.HIGH,
        ServiceTier.PRIORITY,
    )


@pytest.mark.clause("A8", "A9")
@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (None, "capability is denied by default"),
        (
            ScopedWorkspacePolicy().allow_read_paths().require_read_approval(),
            "no approval handler is configured",
        ),
    ],
)
async def test_without_a_policy_or_a_handler_authority_is_denied(
    policy: ScopedWorkspacePolicy | None, reason: str
) -> None:
    tool = Gate()
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")],
        tools=[tool.tool("t", capabilities=(READ,))],
        policy=policy,
    )
    await run_all(session)
    assert results(session.history)[0].content == f"read capability denied: {reason}"
    assert tool.running == []


@pytest.mark.clause("A7", "F4")
async def test_a_workspace_alone_grants_nothing(tmp_path: Any) -> None:
    tool = Gate()
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")],
        tools=[tool.tool("t", capabilities=(READ,))],
        workspace=Workspace(tmp_path).with_unrestricted_file_access(),
    )
    await run_all(session)
    assert tool.running == []


@pytest.mark.clause("A11", "B26")
async def test_nothing_compacts_without_a_compactor_and_a_compactor_alone_waits_to_be_asked() -> (
    None
):
    compactor = ScriptedCompactor()
    session, _ = await open_session(
        [ScriptedTurn.completed("1"), ScriptedTurn.completed("2")], compactor=compactor
    )
    for text in ("a", "b"):
        await session.complete(text)
    assert compactor.requests == []
    bare, _ = await open_session([])
    with pytest.raises(InvalidConfiguration, match="no compactor is configured"):
        await bare.compact()


@pytest.mark.clause("A18", "A19", "A20", "A22")
async def test_hooks_are_bounded_and_labelled_as_configured() -> None:
    seen, gate = Collector(), ScriptedGate()
    rho = Rho(
        ScriptedProvider(),
        hook_observer=seen,
        pre_tool_gate=gate,
        hook_labels={"zone": "b" * 9000, "app": "x"},
    )
    assert rho.hooks.is_enabled
    await rho.session()
    body = seen.envelopes[0].to_dict()
    assert list(body["host_labels"]) == ["app", "zone"]
    assert len(body["host_labels"]["zone"]) == 8192  # the default bound of a field
    assert body["bounds"] == {"truncated": True, "fields": ("host_labels.zone",)}

    narrow = Collector()
    bounds = HookBounds(max_field_bytes=4)
    await Rho(ScriptedProvider(), hook_observer=narrow, hook_bounds=bounds).session()
    body = narrow.envelopes[0].to_dict()
    assert body["payload"]["model"] == "scri"
    assert body["host_labels"] == {}


@pytest.mark.clause("A24")
def test_counts_outside_the_runtime_are_strict_too() -> None:
    for value in (0, -1, True, 1.5, "2"):
        with pytest.raises(InvalidConfiguration):
            CompactionPolicy.after_messages(value)  # type: ignore[arg-type]
        with pytest.raises(InvalidConfiguration):
            CompactionPolicy.at_context_tokens(value)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="capacity"):
            approval_channel(value)  # type: ignore[arg-type]


@pytest.mark.clause("A15", "A16")
def test_a_shared_recording_keeps_its_own_purpose_and_a_blank_one_is_still_refused() -> None:
    recording = UsageRecording(purpose="shared")
    rho = Rho(ScriptedProvider(), usage_recorder=recording)
    assert rho.usage_recording is recording
    assert rho.usage_recording.purpose == "shared"
    with pytest.raises(InvalidConfiguration, match="purpose"):
        Rho(ScriptedProvider(), usage_recorder=recording, usage_purpose=" ")


@pytest.mark.clause("A33")
async def test_diagnostics_are_a_reading_and_the_handles_are_shared() -> None:
    tool = Gate()
    rho = Rho(
        ScriptedProvider([ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")]),
        tools=[tool.tool("t", capabilities=(READ,))],
    )
    before = rho.diagnostics()
    await run_all(await rho.session())
    assert before.approval_audit == ()
    assert len(rho.diagnostics().approval_audit) == 1
    assert rho.usage_recording is rho.usage_recording
    assert rho.hooks is rho.hooks


@pytest.mark.clause("A29", "A44")
async def test_letting_go_of_a_runtime_is_no_shutdown_but_any_name_for_it_can_shut_it_down() -> (
    None
):
    rho = Rho(ScriptedProvider([ScriptedTurn.completed("still here")]))
    session, other = await rho.session(), await rho.session()
    run = session.start("go")
    alias = rho
    del rho
    gc.collect()
    async with run:
        assert (await within(run.outcome())).text == "still here"
    assert session.state is SessionState.COMPLETED
    alias.shutdown()
    for one in (session, other):
        with pytest.raises(RuntimeShutdown):
            one.start("more")


@pytest.mark.clause("B35", "B30")
async def test_a_snapshot_names_the_provider_of_now() -> None:
    session, _ = await open_session([ScriptedTurn.completed("hi")])
    await session.complete("go")
    other = ScriptedProvider(identity=ev.ModelIdentity("p", "a", "m"))
    session.replace_provider(other)
    assert session.snapshot().provider == other.identity
    assert '"model": "m"' in session.snapshot().to_json()
