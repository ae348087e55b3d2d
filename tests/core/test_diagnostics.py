"""Diagnostics: sorted, typed, without anything secret (A35–A38)."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from rho_core.authority.capabilities import CapabilityKind
from rho_core.diagnostics import (
    DiagnosticsSnapshot,
    PromptSource,
    PromptSourceKind,
    ToolDiagnostics,
)
from rho_core.history.messages import ModelIdentity
from rho_core.json_values import FrozenObject
from rho_core.providers.contract import ToolSpec
from rho_core.reasoning import ReasoningLevel
from rho_core.tooling.contract import Tool, ToolOrigin, ToolSecurity


class _Tool(Tool):
    def __init__(self, name: str, security: ToolSecurity) -> None:
        self._name = name
        self._security = security

    def spec(self) -> ToolSpec:
        return ToolSpec(self._name, "description", FrozenObject())

    def security(self) -> ToolSecurity:
        return self._security


def diagnostics(*tools: ToolDiagnostics) -> DiagnosticsSnapshot:
    return DiagnosticsSnapshot(
        provider=ModelIdentity("p", "a", "m"),
        tools=tools,
        workspace_root=Path("/w"),
        granted_workspace_roots=(Path("/z"), Path("/b")),
        unrestricted_file_access=False,
        prompt_sources=(PromptSource.custom(),),
        approval_audit=(),
        event_capacity=64,
        max_steps=32,
        max_parallel_tools=1,
        compaction_trigger_messages=None,
        compaction_trigger_tokens=100,
        reasoning_level=ReasoningLevel.MEDIUM,
        service_tier=None,
        usage_recorder_diagnostics=(),
    )


@pytest.mark.clause("A35")
def test_tools_and_roots_are_sorted_and_classes_unique() -> None:
    security = ToolSecurity(
        ToolOrigin.BUILT_IN, (CapabilityKind.WRITE, CapabilityKind.READ, CapabilityKind.WRITE)
    )
    snapshot = diagnostics(
        ToolDiagnostics.of(_Tool("write", security)),
        ToolDiagnostics.of(_Tool("mine", ToolSecurity())),
    )
    assert snapshot.tool_names == ("mine", "write")
    assert snapshot.tools[1].classes == (CapabilityKind.READ, CapabilityKind.WRITE)
    assert [tool.origin for tool in snapshot.tools] == ["host_provided", "built_in"]
    assert snapshot.granted_workspace_roots == (Path("/b"), Path("/z"))
    assert snapshot.enabled_features == ()


@pytest.mark.clause("A37")
def test_prompt_sources_name_a_prompt_without_its_text() -> None:
    assert PromptSource.custom() == PromptSource(
        PromptSourceKind.CUSTOM, "custom system prompt", None
    )
    assert [kind.name for kind in PromptSourceKind] == [
        "BUILT_IN", "CUSTOM", "WORKSPACE_INSTRUCTION", "SKILL",
    ]  # fmt: skip


@pytest.mark.clause("A38")
def test_there_is_no_field_for_a_prompt_a_credential_or_a_url() -> None:
    names = {field.name for field in fields(DiagnosticsSnapshot)}
    assert not names & {"system_prompt", "prompt", "api_key", "url", "provider_context"}
