"""The runtime: configuration that sessions share, and the switch that stops them (section A)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rho_core.authority.approvals import ApprovalHandler, ApprovalSession
from rho_core.authority.audit import ApprovalAudit
from rho_core.authority.policy import DenyAllPolicy, WorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.clock import Clock, SystemClock
from rho_core.diagnostics import DiagnosticsSnapshot, PromptSource
from rho_core.errors import InvalidConfiguration
from rho_core.history.compaction import CompactionPolicy, Compactor
from rho_core.hooks.bounds import HookBounds
from rho_core.hooks.dispatch import HookDispatcher
from rho_core.hooks.gate import PreToolUseGate
from rho_core.hooks.observer import HookObserver
from rho_core.ids import SessionId
from rho_core.providers.contract import ModelProvider, ServiceTier
from rho_core.reasoning import ReasoningLevel
from rho_core.running.configuration import RuntimeConfiguration, check_compaction
from rho_core.running.inspection import diagnose
from rho_core.running.lifecycle import Lifecycle, ShutdownOutcome
from rho_core.running.session_core import SessionCore
from rho_core.session import Session, SessionOptions, initial_history
from rho_core.tooling.contract import Tool
from rho_core.tooling.registry import positive, registry
from rho_core.usage_recording import (
    DEFAULT_PURPOSE,
    ProviderRequestUsageRecorder,
    UsageRecording,
)


class Rho:
    """A provider, tools and authority, from which sessions are opened.

    Construction validates at once, in the order of A25, and touches nothing outside the process
    (A28): no authority is ambient, everything is given here. Options:

    - `tools`: what the model may call; registering grants no authority.
    - `system_prompt`: becomes the first message of *new* sessions; `prompt_sources` describes it.
    - `event_capacity`: unread events and commands of a run before the sender waits.
    - `max_steps`: model steps per run. `max_parallel_tools`: calls that execute at a time.
    - `workspace`: the scope of paths. `policy`: what is allowed, nothing by default.
    - `approvals`: the handler asked where policy requires it; each session remembers for itself.
      `approval_session`: one shared memory instead. Give at most one of the two.
    - `compactor`, `compaction_policy`: automatic compaction needs both.
    - `usage_recorder`: gets one fact per physical request; a `UsageRecording` may be shared.
    - `hook_observer`, `pre_tool_gate`, `hook_bounds`, `hook_labels`; `hook_delegation` is the
      session that delegated to this runtime.
    - `force_publish_live_history`: let `Session.live_history` follow the turn in flight (A26).

    Raises `InvalidConfiguration`.
    """

    def __init__(
        self,
        provider: ModelProvider,
        *,
        tools: Iterable[Tool] = (),
        system_prompt: str | None = None,
        event_capacity: int = 64,
        max_steps: int = 32,
        max_parallel_tools: int = 1,
        workspace: Workspace | None = None,
        policy: WorkspacePolicy | None = None,
        approvals: ApprovalHandler | None = None,
        approval_session: ApprovalSession | None = None,
        compactor: Compactor | None = None,
        compaction_policy: CompactionPolicy | None = None,
        reasoning: ReasoningLevel = ReasoningLevel.MEDIUM,
        service_tier: ServiceTier | None = None,
        usage_recorder: ProviderRequestUsageRecorder | UsageRecording | None = None,
        usage_purpose: str = DEFAULT_PURPOSE,
        usage_parent_session_id: SessionId | None = None,
        hook_observer: HookObserver | None = None,
        pre_tool_gate: PreToolUseGate | None = None,
        hook_bounds: HookBounds | None = None,
        hook_delegation: SessionId | None = None,
        hook_labels: Mapping[str, str] | None = None,
        force_publish_live_history: bool = False,
        prompt_sources: Iterable[PromptSource] = (),
        clock: Clock | None = None,
    ) -> None:
        capacity = positive(event_capacity, "event capacity")
        steps = positive(max_steps, "max steps")
        parallel = positive(max_parallel_tools, "max parallel tools")
        if not isinstance(provider, ModelProvider):
            raise InvalidConfiguration("a model provider is required")
        named = registry(tools)
        check_compaction(compactor, compaction_policy)
        if approvals is not None and approval_session is not None:
            raise InvalidConfiguration("give an approval handler or an approval session, not both")
        handler = approval_session.handler if approval_session is not None else approvals
        self._configuration = RuntimeConfiguration(
            provider=provider,
            tools=named,
            system_prompt=system_prompt,
            event_capacity=capacity,
            max_steps=steps,
            max_parallel_tools=parallel,
            workspace=workspace,
            policy=policy if policy is not None else DenyAllPolicy(),
            compactor=compactor,
            compaction_policy=compaction_policy,
            reasoning=reasoning,
            service_tier=service_tier,
            usage_recording=_recording(usage_recorder, usage_purpose),
            usage_parent_session_id=usage_parent_session_id,
            hooks=HookDispatcher(
                hook_observer,
                pre_tool_gate,
                bounds=hook_bounds,
                host_labels=hook_labels,
                workspace_root=None if workspace is None else workspace.root,
                parent_session_id=hook_delegation,
            ),
            publish_live_history=force_publish_live_history
            or (handler is not None and handler.reads_live_history)
            or any(tool.reads_live_history for tool in named.values()),
            prompt_sources=_sources(system_prompt, prompt_sources),
            clock=clock if clock is not None else SystemClock(),
        )
        self._handler = approvals
        self._shared_approvals = approval_session
        self._audit = approval_session.audit if approval_session else ApprovalAudit()
        self._lifecycle = Lifecycle()

    async def session(self, options: SessionOptions | None = None) -> Session:
        """Open a session and tell the hooks. Raises `RuntimeShutdown` (A30, A31)."""
        session = await self.rebind_session(options)
        identity = self._configuration.provider.identity
        self.hooks.session_started(session.id, str(identity))
        return session

    async def rebind_session(self, options: SessionOptions | None = None) -> Session:
        """Open a session that hosts already know of: no hook fires. Raises `RuntimeShutdown`."""
        self._lifecycle.ensure_open()
        core = _open(self._configuration, options or SessionOptions())
        approvals = self._shared_approvals
        if approvals is None:
            approvals = ApprovalSession(self._handler, self._audit)  # memory per session (A27)
        return Session(core, self._lifecycle, approvals)

    def shutdown(self) -> ShutdownOutcome:
        """Cancel active runs and compactions and refuse new ones; does not wait (A40–A42)."""
        return self._lifecycle.shutdown()

    @property
    def is_shut_down(self) -> bool:
        """Whether `shutdown` was called."""
        return self._lifecycle.is_shut_down

    def diagnostics(self) -> DiagnosticsSnapshot:
        """What the runtime is made of, without secrets or content (A33, A38)."""
        return diagnose(self._configuration, self._audit)

    @property
    def usage_recording(self) -> UsageRecording:
        """The recording handle, shared with all sessions (A33)."""
        return self._configuration.usage_recording

    @property
    def hooks(self) -> HookDispatcher:
        """The hooks, for session events that only the host knows of (I15)."""
        return self._configuration.hooks

    def __repr__(self) -> str:
        return (
            f"Rho(provider={str(self._configuration.provider.identity)!r}, "
            f"tools={sorted(self._configuration.tools)})"
        )


def _open(configuration: RuntimeConfiguration, options: SessionOptions) -> SessionCore:
    snapshot = options.snapshot
    if snapshot is not None:
        return SessionCore(
            snapshot.session_id,
            configuration,
            snapshot.history,
            revision=snapshot.revision,
            compaction=snapshot.compaction,
            metadata=snapshot.metadata,
            prompt_cache_key=snapshot.prompt_cache_key,
        )
    return SessionCore(
        options.id or SessionId(),
        configuration,
        (*initial_history(configuration.system_prompt), *options.history),
        metadata=options.metadata,
        prompt_cache_key=options.prompt_cache_key,
    )


def _recording(
    recorder: ProviderRequestUsageRecorder | UsageRecording | None, purpose: str
) -> UsageRecording:
    own = UsageRecording(
        None if isinstance(recorder, UsageRecording) else recorder, purpose=purpose
    )
    return recorder if isinstance(recorder, UsageRecording) else own  # a shared one has its own


def _sources(
    system_prompt: str | None, declared: Iterable[PromptSource]
) -> tuple[PromptSource, ...]:
    """What the host declared; a prompt of which it says nothing counts as custom (A37)."""
    sources = tuple(declared)
    if sources or system_prompt is None:
        return sources
    return (PromptSource.custom(),)
