"""An embeddable agent core with no ambient authority.

`Rho` is the runtime, `Session` a conversation, `Run` one turn; `ToolHost` runs tools without a
model. Names are loaded when they are first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: module -> its public names; `__init__.pyi` says the same to type checkers
_MODULES = {
    "rho_core.authority.approvals": (
        "AllowForSession",
        "AllowOnce",
        "ApprovalDecision",
        "ApprovalHandler",
        "ApprovalReceiver",
        "ApprovalRequest",
        "ApprovalSession",
        "AuthorizationError",
        "AuthorizationOutcome",
        "DenialKind",
        "Deny",
        "DenyApprovals",
        "PendingApproval",
        "approval_channel",
    ),
    "rho_core.authority.audit": (
        "ApprovalAudit",
        "AuditDecision",
        "AuditRecord",
    ),
    "rho_core.authority.capabilities": (
        "BuiltInTool",
        "CapabilityKind",
        "CapabilityOperation",
        "CapabilityRequest",
        "CapabilitySource",
        "DirectInvocation",
        "DiscoverInstructions",
        "EnvironmentMode",
        "ExecutableSelection",
        "ExecuteProcess",
        "GrantedRoot",
        "HostProvidedTool",
        "LoadSkill",
        "NetworkAccess",
        "NetworkUrl",
        "PathScope",
        "PrimaryWorkspace",
        "ProcessEnvironment",
        "ProcessExecution",
        "ProcessLimits",
        "PromptConstruction",
        "ReadPath",
        "ShellInvocation",
        "ToolManagedNetwork",
        "UnrestrictedFilesystem",
        "WritePath",
    ),
    "rho_core.authority.policy": (
        "Allow",
        "DenyAllPolicy",
        "DenyByPolicy",
        "PolicyDecision",
        "RequireApproval",
        "ScopedWorkspacePolicy",
        "WorkspacePolicy",
    ),
    "rho_core.authority.workspace": (
        "ResolvedWorkspacePath",
        "Workspace",
        "WorkspaceError",
        "WorkspaceErrorKind",
    ),
    "rho_core.cancellation": ("CancellationToken",),
    "rho_core.diagnostics": (
        "DiagnosticsSnapshot",
        "PromptSource",
        "PromptSourceKind",
    ),
    "rho_core.errors": (
        "AuthenticationFailed",
        "Cancelled",
        "ErrorKind",
        "Interrupted",
        "InvalidConfiguration",
        "InvalidHostResponse",
        "PersistenceError",
        "PolicyDenied",
        "ProviderError",
        "ProviderErrorKind",
        "RhoError",
        "RuntimeShutdown",
        "SessionBusy",
        "ToolError",
        "ToolErrorKind",
    ),
    "rho_core.events": (
        "RunEvent",
        "RunOutcome",
        "StopReason",
    ),
    "rho_core.history.compaction": (
        "CompactionCancellation",
        "CompactionOutcome",
        "CompactionOutput",
        "CompactionPolicy",
        "CompactionRequest",
        "Compactor",
    ),
    "rho_core.history.handoff": ("HandoffReport",),
    "rho_core.history.messages": (
        "AbortedAssistant",
        "AssistantMessage",
        "ContentBlock",
        "EnrichedAssistant",
        "History",
        "Image",
        "Message",
        "ModelIdentity",
        "ProviderContextBlock",
        "SemanticMessage",
        "SystemMessage",
        "Text",
        "ToolCall",
        "ToolImageSupplement",
        "ToolResult",
        "UserMessage",
        "as_tool_image_supplement",
        "semantic",
        "tool_image_supplement",
    ),
    "rho_core.history.snapshot": ("SessionSnapshot",),
    "rho_core.history.store": (
        "InMemorySessionStore",
        "SessionStore",
    ),
    "rho_core.hooks.bounds": ("HookBounds",),
    "rho_core.hooks.envelope": ("HookEnvelope",),
    "rho_core.hooks.gate": (
        "ContinueToolUse",
        "DenyToolUse",
        "GateDecision",
        "PreToolUseGate",
        "PreToolUseRequest",
    ),
    "rho_core.hooks.observer": ("HookObserver",),
    "rho_core.ids": (
        "HostInputId",
        "Revision",
        "RunId",
        "SessionId",
        "SteeringId",
        "ToolCallId",
    ),
    "rho_core.inputs": ("UserInput",),
    "rho_core.json_values": (
        "freeze",
        "thaw",
    ),
    "rho_core.providers.contract": (
        "ModelEvent",
        "ModelProvider",
        "ModelRequest",
        "ModelResponse",
        "OutputDelta",
        "ProviderCancellation",
        "ProviderContext",
        "ProviderEvents",
        "ServiceTier",
        "ToolCallDelta",
        "ToolSpec",
        "UsageReported",
    ),
    "rho_core.questions": (
        "DefaultSelection",
        "HostChoice",
        "HostInputDismissed",
        "HostInputRequest",
        "HostInputResponse",
        "HostInputSource",
        "HostQuestion",
        "SelectionMode",
    ),
    "rho_core.reasoning": ("ReasoningLevel",),
    "rho_core.run": ("Run",),
    "rho_core.running.commands": (
        "Receipt",
        "RetractionOutcome",
        "SteeringHandle",
    ),
    "rho_core.running.lifecycle": ("ShutdownOutcome",),
    "rho_core.running.session_core": ("SessionState",),
    "rho_core.runtime": ("Rho",),
    "rho_core.session": (
        "Session",
        "SessionOptions",
    ),
    "rho_core.tooling.contract": (
        "AuthorizedToolContext",
        "InvocationSource",
        "PreparedToolInvocation",
        "ProgressSender",
        "Tool",
        "ToolContext",
        "ToolExecutionMode",
        "ToolExecutionPolicy",
        "ToolInvocation",
        "ToolOrigin",
        "ToolPreparationContext",
        "ToolSecurity",
    ),
    "rho_core.tooling.host": (
        "HostToolInputRequested",
        "HostToolProgress",
        "PendingHostInput",
        "ToolHost",
        "ToolHostCall",
        "ToolHostEvent",
        "ToolHostRun",
    ),
    "rho_core.tooling.resources": (
        "AccessMode",
        "DirectoryMembership",
        "DirectoryTree",
        "ManagedProcess",
        "ManagerState",
        "Opaque",
        "ResponseStore",
        "ToolResource",
        "ToolResourceAccess",
        "WorkspacePath",
    ),
    "rho_core.tooling.values": (
        "ToolCompletion",
        "ToolFailed",
        "ToolMetadata",
        "ToolOperation",
        "ToolOutput",
        "ToolProgress",
        "ToolSucceeded",
        "ToolUnavailable",
    ),
    "rho_core.usage": ("ModelUsage",),
    "rho_core.usage_recording": (
        "ProviderRequestUsageRecorder",
        "UsageContext",
        "UsageEvent",
        "UsageRecording",
    ),
    "rho_core.version": ("__version__",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Load a public name from its module (PEP 562)."""
    module = _HOMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
