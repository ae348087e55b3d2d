"""The runtime: options, diagnostics, hooks of sessions (A.1–A.3)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rho_core
from rho_core.authority.approvals import AllowForSession, ApprovalSession
from rho_core.authority.capabilities import (
    CapabilityKind,
    CapabilityRequest,
    HostProvidedTool,
    PrimaryWorkspace,
    ReadPath,
)
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.diagnostics import PromptSource, PromptSourceKind
from rho_core.errors import InvalidConfiguration
from rho_core.history.compaction import CompactionPolicy
from rho_core.history.messages import SystemMessage
from rho_core.runtime import Rho
from rho_core.session import SessionOptions
from rho_core.testing import (
    SCRIPTED_IDENTITY,
    ScriptedCompactor,
    ScriptedProvider,
    ScriptedTool,
    ScriptedTurn,
)
from rho_core.tooling.contract import ToolOrigin, ToolSecurity
from tests.core.authorization import ScriptedHandler
from tests.core.hook_doubles import Collector
from tests.core.run_harness import Gate, call, run_all


@pytest.mark.clause("A24")
@pytest.mark.parametrize("option", ["event_capacity", "max_steps", "max_parallel_tools"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "3", None])
def test_counts_must_be_positive_integers(option: str, value: Any) -> None:
    with pytest.raises(InvalidConfiguration, match="positive integer"):
        Rho(ScriptedProvider(), **{option: value})


@pytest.mark.clause("A25", "A1", "A2", "A12", "A16")
def test_options_are_checked_in_a_fixed_order() -> None:
    twice = [ScriptedTool("t"), ScriptedTool("t", "second")]
    wrong: dict[str, Any] = {
        "tools": twice,
        "compaction_policy": CompactionPolicy.after_messages(1),
        "usage_purpose": " ",
    }
    with pytest.raises(InvalidConfiguration, match="a model provider is required"):
        Rho(None, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidConfiguration, match="duplicate tool name 't'"):
        Rho(ScriptedProvider(), **wrong)
    wrong["tools"] = []
    with pytest.raises(InvalidConfiguration, match="requires a compactor"):
        Rho(ScriptedProvider(), **wrong)
    wrong["compactor"] = ScriptedCompactor()
    with pytest.raises(InvalidConfiguration, match="usage purpose must not be empty"):
        Rho(ScriptedProvider(), **wrong)


def test_a_handler_and_a_shared_session_exclude_each_other() -> None:
    with pytest.raises(InvalidConfiguration, match="not both"):
        Rho(
            ScriptedProvider(),
            approvals=ScriptedHandler(),
            approval_session=ApprovalSession(),
        )


class ReadingTool(ScriptedTool):
    def security(self) -> ToolSecurity:
        return ToolSecurity.built_in(CapabilityKind.WRITE, CapabilityKind.READ, CapabilityKind.READ)


@pytest.mark.clause("A35", "A36", "A37", "A38", "D2")
def test_diagnostics_are_owned_snapshots_without_prompt_contents() -> None:
    rho = Rho(
        ScriptedProvider(),
        tools=[ReadingTool("z"), ScriptedTool("a")],
        system_prompt="SECRET PROMPT",
        compactor=ScriptedCompactor(),
        compaction_policy=CompactionPolicy.at_context_tokens(100),
    )
    snapshot = rho.diagnostics()
    assert snapshot.provider == SCRIPTED_IDENTITY
    assert snapshot.tool_names == ("a", "z")
    assert [t.origin for t in snapshot.tools] == [ToolOrigin.HOST_PROVIDED, ToolOrigin.BUILT_IN]
    assert snapshot.tools[1].classes == (CapabilityKind.READ, CapabilityKind.WRITE)
    assert snapshot.prompt_sources == (PromptSource.custom(),)
    assert (snapshot.compaction_trigger_messages, snapshot.compaction_trigger_tokens) == (None, 100)
    assert (snapshot.event_capacity, snapshot.max_steps, snapshot.max_parallel_tools) == (64, 32, 1)
    assert snapshot.enabled_features == ()
    assert "SECRET" not in repr(snapshot) + repr(rho)


@pytest.mark.clause("A37")
def test_declared_prompt_sources_are_shown_instead() -> None:
    source = PromptSource(PromptSourceKind.WORKSPACE_INSTRUCTION, "AGENTS.md", Path("/w/AGENTS.md"))
    rho = Rho(ScriptedProvider(), system_prompt="x", prompt_sources=[source])
    assert rho.diagnostics().prompt_sources == (source,)
    assert Rho(ScriptedProvider()).diagnostics().prompt_sources == ()


@pytest.mark.clause("A35", "F4")
def test_diagnostics_tell_the_scope_of_paths(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "b").mkdir()
    workspace = Workspace(tmp_path / "w").with_granted_root(tmp_path / "b")
    snapshot = Rho(ScriptedProvider(), workspace=workspace).diagnostics()
    assert snapshot.workspace_root == workspace.root
    assert snapshot.granted_workspace_roots == workspace.granted_roots
    assert snapshot.unrestricted_file_access is False


@pytest.mark.clause("A30", "A31", "I14")
async def test_opening_a_session_tells_the_hooks_and_rebinding_does_not() -> None:
    seen = Collector()
    rho = Rho(ScriptedProvider(), hook_observer=seen)
    session = await rho.session()
    assert [e.event.value for e in seen.envelopes] == ["session_started"]
    body = seen.envelopes[0].to_dict()
    assert body["payload"]["model"] == "scripted/scripted-model"
    assert body["identity"]["session_id"] == session.id
    assert body["identity"]["run_id"] is None
    await rho.rebind_session(SessionOptions.from_snapshot(session.snapshot()))
    assert len(seen.envelopes) == 1


@pytest.mark.clause("A32", "A3")
async def test_the_prompt_is_for_new_sessions_only() -> None:
    rho = Rho(ScriptedProvider(), system_prompt="sys")
    session = await rho.session()
    assert session.history == (SystemMessage("sys"),)
    again = await rho.session(SessionOptions.from_snapshot(session.snapshot()))
    assert again.history == (SystemMessage("sys"),)


READ = CapabilityRequest(ReadPath(Path("/w/x"), PrimaryWorkspace()), HostProvidedTool("t"))


def reading_turns() -> list[ScriptedTurn]:
    return [ScriptedTurn.calls(call("c", "t")), ScriptedTurn.completed("end")]


def reading_options() -> dict[str, Any]:
    gate = Gate()
    gate.open("c")
    return {
        "tools": [gate.tool("t", capabilities=(READ,))],
        "policy": ScopedWorkspacePolicy().allow_read_paths().require_read_approval(),
    }


@pytest.mark.clause("A27", "E24")
async def test_sessions_remember_for_themselves_but_share_the_runtimes_audit() -> None:
    handler = ScriptedHandler(AllowForSession(), AllowForSession())
    provider = ScriptedProvider(reading_turns() * 2)
    rho = Rho(provider, approvals=handler, **reading_options())
    for _ in range(2):
        await run_all(await rho.session())
    assert len(handler.requests) == 2
    decisions = [r.decision.value for r in rho.diagnostics().approval_audit]
    assert decisions == ["allowed_for_session"] * 2


@pytest.mark.clause("A10")
async def test_an_approval_session_is_shared_across_runtimes() -> None:
    handler = ScriptedHandler(AllowForSession())
    shared = ApprovalSession(handler)
    for _ in range(2):
        options = reading_options()
        rho = Rho(ScriptedProvider(reading_turns()), approval_session=shared, **options)
        await run_all(await rho.session())
    assert len(handler.requests) == 1
    assert [r.decision.value for r in shared.audit.records] == [
        "allowed_for_session",
        "allowed_by_remembered_approval",
    ]


@pytest.mark.clause("A28")
def test_importing_and_constructing_touch_nothing_heavy() -> None:
    code = (
        "import sys, rho_core; from rho_core import Rho;"
        "from rho_core.testing import ScriptedProvider;"
        "Rho(ScriptedProvider());"
        "heavy = ['httpx', 'textual', 'rich', 'keyring', 'pydantic', 'tomlkit', 'rho_tui'];"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_loads_and_the_stub_agrees() -> None:
    for name in rho_core.__all__:
        assert getattr(rho_core, name) is not None
    stub = Path(rho_core.__file__).with_suffix(".pyi").read_text()
    declared = stub.split("__all__ = [")[1].split("]")[0]
    assert sorted(part.strip(' \n",') for part in declared.split(",") if part.strip()) == sorted(
        rho_core.__all__
    )
    assert set(rho_core.__all__) <= set(dir(rho_core))
    with pytest.raises(AttributeError, match="no attribute 'Nope'"):
        _ = rho_core.Nope
