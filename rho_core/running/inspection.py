"""Reads a configuration into an owned diagnostics snapshot (A35–A39)."""

from __future__ import annotations

from rho_core.authority.audit import ApprovalAudit
from rho_core.diagnostics import DiagnosticsSnapshot, ToolDiagnostics
from rho_core.running.configuration import RuntimeConfiguration


def diagnose(configuration: RuntimeConfiguration, audit: ApprovalAudit) -> DiagnosticsSnapshot:
    """What is configured, without prompts, credentials or content."""
    workspace, policy = configuration.workspace, configuration.compaction_policy
    return DiagnosticsSnapshot(
        provider=configuration.provider.identity,
        tools=tuple(ToolDiagnostics.of(tool) for tool in configuration.tools.values()),
        workspace_root=None if workspace is None else workspace.root,
        granted_workspace_roots=() if workspace is None else workspace.granted_roots,
        unrestricted_file_access=workspace is not None and workspace.unrestricted,
        prompt_sources=configuration.prompt_sources,
        approval_audit=audit.records,
        event_capacity=configuration.event_capacity,
        max_steps=configuration.max_steps,
        max_parallel_tools=configuration.max_parallel_tools,
        compaction_trigger_messages=None if policy is None else policy.messages,
        compaction_trigger_tokens=None if policy is None else policy.context_tokens,
        reasoning_level=configuration.reasoning,
        service_tier=configuration.service_tier,
        usage_recorder_diagnostics=configuration.usage_recording.diagnostics,
    )
