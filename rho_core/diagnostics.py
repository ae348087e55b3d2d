"""What a runtime is made of, without prompts, credentials, URLs or content (A35–A38)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rho_core.authority.audit import AuditRecord
from rho_core.authority.capabilities import CapabilityKind
from rho_core.history.messages import ModelIdentity
from rho_core.providers.contract import ServiceTier
from rho_core.reasoning import ReasoningLevel
from rho_core.tooling.contract import Tool, ToolOrigin


class PromptSourceKind(StrEnum):
    """Where a part of the system prompt comes from."""

    BUILT_IN = "built_in"
    CUSTOM = "custom"
    WORKSPACE_INSTRUCTION = "workspace_instruction"
    SKILL = "skill"


@dataclass(frozen=True, slots=True)
class PromptSource:
    """One part of the system prompt, by label and path; never its text (A37)."""

    kind: PromptSourceKind
    label: str
    path: Path | None = None

    @classmethod
    def custom(cls) -> PromptSource:
        """The entry for a system prompt that the host wrote."""
        return cls(PromptSourceKind.CUSTOM, "custom system prompt")


@dataclass(frozen=True, slots=True)
class ToolDiagnostics:
    """A registered tool: its origin, and the classes of authority that it declares."""

    name: str
    origin: ToolOrigin
    classes: tuple[CapabilityKind, ...]

    @classmethod
    def of(cls, tool: Tool) -> ToolDiagnostics:
        """The facts of one tool, classes sorted and unique."""
        security = tool.security()
        return cls(tool.name, security.origin, tuple(sorted(set(security.classes))))


@dataclass(frozen=True, slots=True)
class DiagnosticsSnapshot:
    """An owned reading; `tool_names` and `granted_workspace_roots` are sorted.

    At most one of the two compaction triggers is set (A36).
    """

    provider: ModelIdentity
    tools: tuple[ToolDiagnostics, ...]
    workspace_root: Path | None
    granted_workspace_roots: tuple[Path, ...]
    unrestricted_file_access: bool
    prompt_sources: tuple[PromptSource, ...]
    approval_audit: tuple[AuditRecord, ...]
    event_capacity: int
    max_steps: int
    max_parallel_tools: int
    compaction_trigger_messages: int | None
    compaction_trigger_tokens: int | None
    reasoning_level: ReasoningLevel
    service_tier: ServiceTier | None
    usage_recorder_diagnostics: tuple[str, ...]
    enabled_features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        by_name = sorted(self.tools, key=lambda tool: tool.name)
        object.__setattr__(self, "tools", tuple(by_name))
        roots = tuple(sorted(self.granted_workspace_roots))
        object.__setattr__(self, "granted_workspace_roots", roots)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the registered tools, sorted."""
        return tuple(tool.name for tool in self.tools)
