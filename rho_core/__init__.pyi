"""The public names of `rho_core`, for type checkers; `__init__.py` loads them lazily."""

from rho_core.authority.approvals import (
    AllowForSession,
    AllowOnce,
    ApprovalDecision,
    ApprovalHandler,
    ApprovalRequest,
    ApprovalSession,
    AuthorizationError,
    AuthorizationOutcome,
    Deny,
    DenyApprovals,
    approval_channel,
)
from rho_core.authority.capabilities import (
    CapabilityKind,
    CapabilityRequest,
)
from rho_core.authority.policy import (
    DenyAllPolicy,
    ScopedWorkspacePolicy,
    WorkspacePolicy,
)
from rho_core.authority.workspace import (
    ResolvedWorkspacePath,
    Workspace,
    WorkspaceError,
)
from rho_core.cancellation import (
    CancellationToken,
)
from rho_core.diagnostics import (
    DiagnosticsSnapshot,
    PromptSource,
    PromptSourceKind,
)
from rho_core.errors import (
    AuthenticationFailed,
    Cancelled,
    ErrorKind,
    Interrupted,
    InvalidConfiguration,
    InvalidHostResponse,
    PersistenceError,
    PolicyDenied,
    ProviderError,
    ProviderErrorKind,
    RhoError,
    RuntimeShutdown,
    SessionBusy,
    ToolError,
    ToolErrorKind,
)
from rho_core.events import (
    RunEvent,
    RunOutcome,
    StopReason,
)
from rho_core.history.compaction import (
    CompactionOutcome,
    CompactionOutput,
    CompactionPolicy,
    CompactionRequest,
    Compactor,
)
from rho_core.history.handoff import (
    HandoffReport,
)
from rho_core.history.messages import (
    AbortedAssistant,
    AssistantMessage,
    EnrichedAssistant,
    History,
    Image,
    Message,
    ModelIdentity,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    as_tool_image_supplement,
    semantic,
    tool_image_supplement,
)
from rho_core.history.snapshot import (
    SessionSnapshot,
)
from rho_core.history.store import (
    InMemorySessionStore,
    SessionStore,
)
from rho_core.hooks.bounds import (
    HookBounds,
)
from rho_core.hooks.envelope import (
    HookEnvelope,
)
from rho_core.hooks.gate import (
    PreToolUseGate,
)
from rho_core.hooks.observer import (
    HookObserver,
)
from rho_core.ids import (
    HostInputId,
    Revision,
    RunId,
    SessionId,
    SteeringId,
    ToolCallId,
)
from rho_core.inputs import (
    UserInput,
)
from rho_core.providers.contract import (
    ModelProvider,
    ModelRequest,
    ModelResponse,
    ServiceTier,
    ToolSpec,
)
from rho_core.questions import (
    HostChoice,
    HostInputRequest,
    HostInputResponse,
    HostInputSource,
    HostQuestion,
)
from rho_core.reasoning import (
    ReasoningLevel,
)
from rho_core.run import (
    Run,
)
from rho_core.running.commands import (
    Receipt,
    RetractionOutcome,
    SteeringHandle,
)
from rho_core.running.lifecycle import (
    ShutdownOutcome,
)
from rho_core.running.session_core import (
    SessionState,
)
from rho_core.runtime import (
    Rho,
)
from rho_core.session import (
    Session,
    SessionOptions,
)
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    PreparedToolInvocation,
    ProgressSender,
    Tool,
    ToolContext,
    ToolExecutionMode,
    ToolExecutionPolicy,
    ToolInvocation,
    ToolOrigin,
    ToolPreparationContext,
    ToolSecurity,
)
from rho_core.tooling.host import (
    ToolHost,
    ToolHostCall,
    ToolHostRun,
)
from rho_core.tooling.resources import (
    AccessMode,
    ToolResourceAccess,
)
from rho_core.tooling.values import (
    ToolCompletion,
    ToolFailed,
    ToolMetadata,
    ToolOutput,
    ToolProgress,
    ToolSucceeded,
    ToolUnavailable,
)
from rho_core.usage import (
    ModelUsage,
)
from rho_core.usage_recording import (
    ProviderRequestUsageRecorder,
    UsageEvent,
    UsageRecording,
)
from rho_core.version import (
    __version__,
)

__all__ = [
    "AbortedAssistant",
    "AccessMode",
    "AllowForSession",
    "AllowOnce",
    "ApprovalDecision",
    "ApprovalHandler",
    "ApprovalRequest",
    "ApprovalSession",
    "AssistantMessage",
    "AuthenticationFailed",
    "AuthorizationError",
    "AuthorizationOutcome",
    "AuthorizedToolContext",
    "CancellationToken",
    "Cancelled",
    "CapabilityKind",
    "CapabilityRequest",
    "CompactionOutcome",
    "CompactionOutput",
    "CompactionPolicy",
    "CompactionRequest",
    "Compactor",
    "Deny",
    "DenyAllPolicy",
    "DenyApprovals",
    "DiagnosticsSnapshot",
    "EnrichedAssistant",
    "ErrorKind",
    "HandoffReport",
    "History",
    "HookBounds",
    "HookEnvelope",
    "HookObserver",
    "HostChoice",
    "HostInputId",
    "HostInputRequest",
    "HostInputResponse",
    "HostInputSource",
    "HostQuestion",
    "Image",
    "InMemorySessionStore",
    "Interrupted",
    "InvalidConfiguration",
    "InvalidHostResponse",
    "Message",
    "ModelIdentity",
    "ModelProvider",
    "ModelRequest",
    "ModelResponse",
    "ModelUsage",
    "PersistenceError",
    "PolicyDenied",
    "PreToolUseGate",
    "PreparedToolInvocation",
    "ProgressSender",
    "PromptSource",
    "PromptSourceKind",
    "ProviderError",
    "ProviderErrorKind",
    "ProviderRequestUsageRecorder",
    "ReasoningLevel",
    "Receipt",
    "ResolvedWorkspacePath",
    "RetractionOutcome",
    "Revision",
    "Rho",
    "RhoError",
    "Run",
    "RunEvent",
    "RunId",
    "RunOutcome",
    "RuntimeShutdown",
    "ScopedWorkspacePolicy",
    "ServiceTier",
    "Session",
    "SessionBusy",
    "SessionId",
    "SessionOptions",
    "SessionSnapshot",
    "SessionState",
    "SessionStore",
    "ShutdownOutcome",
    "SteeringHandle",
    "SteeringId",
    "StopReason",
    "SystemMessage",
    "Text",
    "Tool",
    "ToolCall",
    "ToolCallId",
    "ToolCompletion",
    "ToolContext",
    "ToolError",
    "ToolErrorKind",
    "ToolExecutionMode",
    "ToolExecutionPolicy",
    "ToolFailed",
    "ToolHost",
    "ToolHostCall",
    "ToolHostRun",
    "ToolInvocation",
    "ToolMetadata",
    "ToolOrigin",
    "ToolOutput",
    "ToolPreparationContext",
    "ToolProgress",
    "ToolResourceAccess",
    "ToolResult",
    "ToolSecurity",
    "ToolSpec",
    "ToolSucceeded",
    "ToolUnavailable",
    "UsageEvent",
    "UsageRecording",
    "UserInput",
    "UserMessage",
    "Workspace",
    "WorkspaceError",
    "WorkspacePolicy",
    "__version__",
    "approval_channel",
    "as_tool_image_supplement",
    "semantic",
    "tool_image_supplement",
]
