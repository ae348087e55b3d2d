"""How a tool is written (section D.1, D.2, D.7).

The runtime always enters through `Tool.prepare`, once, before scheduling. A tool that can declare
all its authority and resources there returns a resource-aware plan and may overlap others; any
other tool overrides `call` and runs alone. The core never validates arguments against the
schema: they are hostile, and the tool parses them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rho_core.authority.capabilities import CapabilityKind, CapabilityRequest
from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel, ChannelClosed
from rho_core.errors import InvalidConfiguration, ToolError
from rho_core.ids import ToolCallId
from rho_core.providers.contract import ToolSpec
from rho_core.questions import HostInputRequest, HostInputResponse
from rho_core.tooling.resources import AccessMode, ToolResourceAccess
from rho_core.tooling.values import ToolMetadata, ToolOutput, ToolProgress

if TYPE_CHECKING:
    from rho_core.authority.approvals import ApprovalSession, AuthorizationOutcome
    from rho_core.authority.workspace import Workspace


class ToolOrigin(StrEnum):
    """Whose code a tool is; a built-in's declared classes are metadata, not a sandbox."""

    HOST_PROVIDED = "host_provided"
    BUILT_IN = "built_in"


@dataclass(frozen=True, slots=True)
class ToolSecurity:
    """The origin of a tool and the classes of authority it enforces (D2)."""

    origin: ToolOrigin = ToolOrigin.HOST_PROVIDED
    classes: tuple[CapabilityKind, ...] = ()

    @classmethod
    def built_in(cls, *classes: CapabilityKind) -> ToolSecurity:
        """A built-in that enforces `classes`, sorted and unique."""
        return cls(ToolOrigin.BUILT_IN, tuple(sorted(set(classes))))


class ToolExecutionMode(StrEnum):
    """Async tools may run detached when the provider marks the call too (D45)."""

    SYNC = "sync"
    ASYNC = "async"


class InvocationSource(StrEnum):
    """Who asked for the call."""

    MODEL = "model"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """One call. `arguments` is the tool's own mutable copy of the JSON object."""

    id: ToolCallId
    arguments: dict[str, Any]
    source: InvocationSource = InvocationSource.MODEL


class ProgressSender:
    """A bounded way to report progress. Cosmetic progress stops when nobody listens (D34, D35)."""

    __slots__ = ("_channel",)

    def __init__(self, channel: Channel[ToolProgress] | None = None) -> None:
        self._channel = channel

    @property
    def is_closed(self) -> bool:
        """Whether nobody listens."""
        return self._channel is None or self._channel.receiver_gone

    async def send(self, progress: ToolProgress) -> bool:
        """Wait for space and deliver; False once nobody listens. Never raises."""
        if self._channel is None:
            return False
        try:
            await self._channel.send(progress)
        except ChannelClosed:
            return False
        return True


HostInputPort = Callable[[HostInputRequest], Awaitable[HostInputResponse]]
AuthorizationPort = Callable[[CapabilityRequest], Awaitable["AuthorizationOutcome"]]


async def _no_host_input(_request: HostInputRequest) -> HostInputResponse:
    raise InvalidConfiguration("tool context is not attached to an active run")


@dataclass(frozen=True, slots=True)
class ToolPreparationContext:
    """What `prepare` may use: no progress, no questions, no authority (D9)."""

    workspace: Workspace | None
    cancellation: CancellationToken

    @property
    def workspace_root(self) -> Path | None:
        """The canonical primary root, if there is a workspace."""
        return None if self.workspace is None else self.workspace.root


class AuthorizedToolContext:
    """What an executor may use once its declared authority is granted (D10)."""

    def __init__(
        self,
        *,
        workspace: Workspace | None = None,
        cancellation: CancellationToken | None = None,
        progress: ProgressSender | None = None,
        host_input: HostInputPort = _no_host_input,
    ) -> None:
        self.workspace = workspace
        self.cancellation = cancellation or CancellationToken()
        self.progress = progress or ProgressSender()
        self._host_input = host_input

    @property
    def workspace_root(self) -> Path | None:
        """The canonical primary root, if there is a workspace."""
        return None if self.workspace is None else self.workspace.root

    async def request_host_input(self, request: HostInputRequest) -> HostInputResponse:
        """Ask the host and wait for its one valid answer (D59–D63)."""
        return await self._host_input(request)


class ToolContext(AuthorizedToolContext):
    """What an exclusive executor may use; it can also ask for authority (D10, D44)."""

    def __init__(
        self,
        *,
        workspace: Workspace | None = None,
        cancellation: CancellationToken | None = None,
        progress: ProgressSender | None = None,
        host_input: HostInputPort = _no_host_input,
        authorization: AuthorizationPort | None = None,
        child_approval_session: ApprovalSession | None = None,
    ) -> None:
        super().__init__(
            workspace=workspace,
            cancellation=cancellation,
            progress=progress,
            host_input=host_input,
        )
        self._authorization = authorization
        self.child_approval_session = child_approval_session

    def without_authorization(self) -> AuthorizedToolContext:
        """The same context for an executor that has declared everything (D10)."""
        return AuthorizedToolContext(
            workspace=self.workspace,
            cancellation=self.cancellation,
            progress=self.progress,
            host_input=self._host_input,
        )

    async def authorize(self, request: CapabilityRequest) -> AuthorizationOutcome:
        """Ask for authority. Raises `AuthorizationError` when it is denied (D11, D44)."""
        if self._authorization is None:
            from rho_core.authority.approvals import AuthorizationError, DenialKind

            raise AuthorizationError(
                DenialKind.POLICY, "capability is denied by default", request.kind
            )
        return await self._authorization(request)


class ToolExecutionPolicy(StrEnum):
    """Whether a plan may overlap others."""

    EXCLUSIVE = "exclusive"
    RESOURCE_AWARE = "resource_aware"


@dataclass(frozen=True, slots=True)
class PreparedToolInvocation:
    """A one-use plan: declared authority and resources, start facts, and the executor (D8).

    `cleanup_timeout` is the number of seconds the executor may still run after cancellation to
    complete; None aborts it at once.
    """

    policy: ToolExecutionPolicy
    capabilities: tuple[CapabilityRequest, ...]
    accesses: tuple[ToolResourceAccess, ...]
    metadata: ToolMetadata
    execute: Callable[[Any], Awaitable[ToolOutput]]
    cleanup_timeout: float | None = None

    @classmethod
    def exclusive(
        cls,
        metadata: ToolMetadata,
        execute: Callable[[ToolContext], Awaitable[ToolOutput]],
        *,
        capabilities: Iterable[CapabilityRequest] = (),
    ) -> PreparedToolInvocation:
        """A plan that runs alone; its executor may ask for further authority."""
        return cls(ToolExecutionPolicy.EXCLUSIVE, tuple(capabilities), (), metadata, execute)

    @classmethod
    def resource_aware(
        cls,
        accesses: Iterable[ToolResourceAccess],
        capabilities: Iterable[CapabilityRequest],
        metadata: ToolMetadata,
        execute: Callable[[AuthorizedToolContext], Awaitable[ToolOutput]],
    ) -> PreparedToolInvocation:
        """A plan that declares everything and may overlap what it does not conflict with."""
        return cls(
            ToolExecutionPolicy.RESOURCE_AWARE,
            tuple(capabilities),
            tuple(accesses),
            metadata,
            execute,
        )

    def complete_after_cancellation(self, timeout_seconds: float) -> PreparedToolInvocation:
        """Let the executor finish for up to `timeout_seconds` after cancellation (X7)."""
        return replace(self, cleanup_timeout=timeout_seconds)

    @property
    def is_shared_only(self) -> bool:
        """Whether the plan may run detached (D48)."""
        return self.policy is ToolExecutionPolicy.RESOURCE_AWARE and all(
            access.mode is AccessMode.SHARED for access in self.accesses
        )

    def __repr__(self) -> str:
        return (
            f"PreparedToolInvocation(policy={self.policy.value!r}, "
            f"capabilities={len(self.capabilities)}, accesses={self.accesses!r})"
        )


class Tool(ABC):
    """A tool the model can call. Override `prepare` (resource-aware) or `call` (exclusive)."""

    #: Whether the tool reads the history of the turn in flight (A26).
    reads_live_history: bool = False
    execution_mode: ToolExecutionMode = ToolExecutionMode.SYNC
    #: Names of other tools whose work this one does. A model that calls one of them while it is
    #: not registered, as after `Session.replace_tool`, is told to call this one (D22).
    stands_for: tuple[str, ...] = ()

    @cached_property
    def name(self) -> str:
        """The name that the tool is registered and called by; always that of `spec()` (A2).

        Asked of every tool when a runtime is built, unlike the specification, which only a run
        needs. A tool whose specification is costly to make says `name = "..."` in its class; an
        attribute set in its constructor does as well.
        """
        return self.spec().name

    @abstractmethod
    def spec(self) -> ToolSpec:
        """The name, description and argument schema that the model sees.

        Asked once for every run that advertises the tool (C51).
        """

    def security(self) -> ToolSecurity:
        """The tool's trust origin; host-provided unless it says otherwise."""
        return ToolSecurity()

    def start_metadata(self, arguments: dict[str, Any]) -> ToolMetadata:
        """Presentation facts known before the call runs. No side effects (D3)."""
        return ToolMetadata()

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Parse and resolve the call once. The default wraps `call` in an exclusive plan (D4)."""
        if type(self).call is Tool.call:
            raise ToolError.execution(f"tool '{self.name}' implements neither call nor prepare")

        async def execute(tool_context: ToolContext) -> ToolOutput:
            return await self.call(invocation, tool_context)

        return PreparedToolInvocation.exclusive(self.start_metadata(invocation.arguments), execute)

    async def call(self, invocation: ToolInvocation, context: ToolContext) -> ToolOutput:
        """Run the call alone. The default prepares, authorizes and executes (D4)."""
        if type(self).prepare is Tool.prepare:
            raise ToolError.execution(f"tool '{self.name}' implements neither call nor prepare")
        plan = await self.prepare(
            invocation, ToolPreparationContext(context.workspace, context.cancellation)
        )
        for request in plan.capabilities:
            await context.authorize(request)
        return await plan.execute(context)
