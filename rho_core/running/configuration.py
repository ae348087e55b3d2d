"""The effective, immutable configuration that a session's runs use (A.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rho_core.authority.policy import WorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.clock import Clock
from rho_core.diagnostics import PromptSource
from rho_core.errors import InvalidConfiguration
from rho_core.history.compaction import CompactionPolicy, Compactor
from rho_core.hooks.dispatch import HookDispatcher
from rho_core.ids import SessionId
from rho_core.providers.contract import ModelProvider, ServiceTier, ToolSpec
from rho_core.reasoning import ReasoningLevel
from rho_core.tooling.contract import Tool
from rho_core.tooling.registry import advertised, with_replaced
from rho_core.usage_recording import UsageRecording


@dataclass(frozen=True, slots=True)
class RuntimeConfiguration:
    """Everything a run needs to know. Replaced as a whole when a session changes a setting."""

    provider: ModelProvider
    tools: Mapping[str, Tool]
    system_prompt: str | None = field(repr=False)
    event_capacity: int
    max_steps: int
    max_parallel_tools: int
    workspace: Workspace | None
    policy: WorkspacePolicy
    compactor: Compactor | None
    compaction_policy: CompactionPolicy | None
    reasoning: ReasoningLevel
    service_tier: ServiceTier | None
    usage_recording: UsageRecording
    usage_parent_session_id: SessionId | None
    hooks: HookDispatcher
    publish_live_history: bool
    prompt_sources: tuple[PromptSource, ...]
    clock: Clock
    tools_await_reader: bool = False

    def specs(self) -> tuple[ToolSpec, ...]:
        """The advertised specifications, sorted by name (C51)."""
        return advertised(self.tools)

    def with_tool(self, name: str, tool: Tool) -> RuntimeConfiguration:
        """A copy with `tool` in the place of the one named `name`. Raises as `registry` does."""
        return replace(
            self,
            tools=with_replaced(self.tools, name, tool),
            publish_live_history=self.publish_live_history or tool.reads_live_history,
        )

    def with_compaction(
        self, compactor: Compactor | None, policy: CompactionPolicy | None
    ) -> RuntimeConfiguration:
        """A copy with another compaction. Raises `InvalidConfiguration` (A12, B21)."""
        check_compaction(compactor, policy)
        return replace(self, compactor=compactor, compaction_policy=policy)


def check_compaction(compactor: Compactor | None, policy: CompactionPolicy | None) -> None:
    """An automatic policy needs somebody who compacts (A12)."""
    if policy is not None and compactor is None:
        raise InvalidConfiguration("automatic compaction policy requires a compactor")
