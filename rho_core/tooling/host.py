"""Runs registered tools without a model: same authority, same hooks (section H)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rho_core.authority.approvals import ApprovalHandler, ApprovalSession
from rho_core.authority.audit import AuditRecord
from rho_core.authority.pipeline import Authorizer
from rho_core.authority.policy import DenyAllPolicy, WorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.clock import Clock, SystemClock
from rho_core.errors import InvalidConfiguration
from rho_core.hooks.bounds import HookBounds
from rho_core.hooks.dispatch import HookDispatcher
from rho_core.hooks.gate import PreToolUseGate
from rho_core.hooks.observer import HookObserver
from rho_core.ids import RunId, SessionId, ToolCallId
from rho_core.json_values import FrozenObject, freeze
from rho_core.providers.contract import ToolSpec
from rho_core.tooling.contract import Tool
from rho_core.tooling.host_run import (
    HostToolInputRequested,
    HostToolProgress,
    PendingHostInput,
    ToolHostEvent,
    ToolHostRun,
)
from rho_core.tooling.host_worker import HostCallWorker
from rho_core.tooling.registry import advertised, positive, registry
from rho_core.tooling.values import ToolOutput

__all__ = [
    "HostToolInputRequested",
    "HostToolProgress",
    "PendingHostInput",
    "ToolHost",
    "ToolHostCall",
    "ToolHostEvent",
    "ToolHostRun",
]


@dataclass(frozen=True, slots=True)
class ToolHostCall:
    """One call that the host makes: a tool's name and a JSON object of arguments."""

    name: str
    arguments: Mapping[str, Any]
    id: ToolCallId = field(default_factory=ToolCallId)


class ToolHost:
    """Tools with workspace, policy, approvals and hooks, but no model (H1).

    Construction validates at once and has no side effects. All calls share one approval memory;
    they run concurrently, without the scheduler of model batches. Raises `InvalidConfiguration`.
    """

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        *,
        workspace: Workspace | None = None,
        policy: WorkspacePolicy | None = None,
        approvals: ApprovalHandler | None = None,
        approval_session: ApprovalSession | None = None,
        event_capacity: int = 64,
        session_id: SessionId | None = None,
        hook_observer: HookObserver | None = None,
        pre_tool_gate: PreToolUseGate | None = None,
        hook_bounds: HookBounds | None = None,
        hook_delegation: SessionId | None = None,
        hook_labels: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._capacity = positive(event_capacity, "event capacity")
        self._tools = registry(tools)
        if approvals is not None and approval_session is not None:
            raise InvalidConfiguration("give an approval handler or an approval session, not both")
        self.session_id = session_id or SessionId()
        self._workspace = workspace
        self._policy = policy if policy is not None else DenyAllPolicy()
        self._approvals = approval_session or ApprovalSession(approvals)
        self._clock = clock if clock is not None else SystemClock()
        self._hooks = HookDispatcher(
            hook_observer,
            pre_tool_gate,
            bounds=hook_bounds,
            host_labels=hook_labels,
            workspace_root=None if workspace is None else workspace.root,
            parent_session_id=hook_delegation,
        )

    @property
    def tool_specs(self) -> tuple[ToolSpec, ...]:
        """The registered specifications, sorted by name."""
        return advertised(self._tools)

    @property
    def approval_audit(self) -> tuple[AuditRecord, ...]:
        """What was decided about the calls so far (E30)."""
        return self._approvals.audit.records

    def start(self, call: ToolHostCall) -> ToolHostRun:
        """Start a call that may report progress or ask the host.

        Raises `InvalidConfiguration` for a blank name, arguments that are no JSON object, or a
        tool that is not registered (H3).
        """
        arguments = _checked_arguments(call)
        tool = self._tools.get(call.name)
        if tool is None:
            raise InvalidConfiguration(f"tool '{call.name}' is not registered")
        token = CancellationToken()
        events: Channel[ToolHostEvent] = Channel(self._capacity)
        hooks = self._hooks.for_run(self.session_id, RunId())
        worker = HostCallWorker(
            tool,
            call.id,
            arguments,
            token=token,
            events=events,
            capacity=self._capacity,
            authorizer=Authorizer(self._policy, self._approvals, hooks),
            session_id=self.session_id,
            hooks=hooks,
            workspace=self._workspace,
            clock=self._clock,
        )
        task = asyncio.get_running_loop().create_task(worker.work(), name=f"host {call.name}")
        _running.add(task)
        task.add_done_callback(_running.discard)
        return ToolHostRun(call.id, task, events, worker.questions, token)

    async def invoke(self, call: ToolHostCall) -> ToolOutput:
        """Run one call to its end without interaction. Raises `ToolError` (H8)."""
        async with self.start(call) as run:
            return await run.outcome()

    def __repr__(self) -> str:
        return f"ToolHost(session_id={str(self.session_id)!r}, tools={sorted(self._tools)})"


#: Workers of handles that were let go of still end by themselves; the loop holds them weakly.
_running: set[asyncio.Task[Any]] = set()


def _checked_arguments(call: ToolHostCall) -> FrozenObject:
    if not call.name.strip():
        raise InvalidConfiguration("host tool name must not be empty")
    if not isinstance(call.arguments, Mapping):
        raise InvalidConfiguration("host tool arguments must be a JSON object")
    try:
        frozen = freeze(call.arguments)
    except ValueError as error:
        raise InvalidConfiguration(f"host tool arguments must be a JSON object: {error}") from None
    assert isinstance(frozen, FrozenObject)
    return frozen
