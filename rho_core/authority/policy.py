"""Workspace policy: which capabilities are allowed, denied, or need the host's approval (E9–E15).

Evaluation is synchronous and pure: the same request always gets the same decision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TypeAlias

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityKind,
    CapabilityRequest,
    CapabilitySource,
    NetworkAccess,
    NetworkUrl,
    ToolManagedNetwork,
)
from rho_core.authority.urls import normalize_host, parse_url
from rho_core.errors import InvalidConfiguration

DENIED_BY_DEFAULT = "capability is denied by default"
KIND_NOT_GRANTED = "capability is outside the configured policy"
OUTSIDE_NOT_GRANTED = "path is outside the primary workspace and the configured policy"
DESTINATION_NOT_GRANTED = "network destination is outside the configured policy"
APPROVAL_REQUIRED = "host approval is required"


@dataclass(frozen=True, slots=True)
class Allow:
    """The request needs nothing more from the host."""


@dataclass(frozen=True, slots=True)
class DenyByPolicy:
    """The request is refused; nobody else is asked."""

    reason: str


@dataclass(frozen=True, slots=True)
class RequireApproval:
    """The host decides."""

    reason: str


PolicyDecision: TypeAlias = Allow | DenyByPolicy | RequireApproval


class WorkspacePolicy(ABC):
    """The host's standing rules."""

    @abstractmethod
    def evaluate(self, request: CapabilityRequest) -> PolicyDecision:
        """Decide on one request. An exception counts as a denial (E28)."""


class DenyAllPolicy(WorkspacePolicy):
    """The default: nothing is allowed (E10)."""

    def evaluate(self, request: CapabilityRequest) -> PolicyDecision:
        """Deny."""
        return DenyByPolicy(DENIED_BY_DEFAULT)


@dataclass(frozen=True, slots=True)
class ScopedWorkspacePolicy(WorkspacePolicy):
    """Grants class by class; every method returns a changed copy (E11).

    Requiring approval for a class does not grant it, and the grant for outside paths grants no
    class (E13).
    """

    _granted: frozenset[CapabilityKind] = frozenset()
    _approval: frozenset[CapabilityKind] = frozenset()
    _outside_paths: bool = False
    _hosts: frozenset[str] = frozenset()
    _network_tools: frozenset[str] = frozenset()

    def allow_read_paths(self) -> ScopedWorkspacePolicy:
        """Grant reading inside the primary workspace."""
        return self._grant(CapabilityKind.READ)

    def allow_write_paths(self) -> ScopedWorkspacePolicy:
        """Grant writing inside the primary workspace."""
        return self._grant(CapabilityKind.WRITE)

    def allow_processes(self) -> ScopedWorkspacePolicy:
        """Grant starting processes."""
        return self._grant(CapabilityKind.PROCESS)

    def allow_skills(self) -> ScopedWorkspacePolicy:
        """Grant loading skills."""
        return self._grant(CapabilityKind.SKILL)

    def allow_instruction_discovery(self) -> ScopedWorkspacePolicy:
        """Grant reading workspace instructions."""
        return self._grant(CapabilityKind.INSTRUCTION_DISCOVERY)

    def allow_outside_workspace_paths(self) -> ScopedWorkspacePolicy:
        """Let granted path classes reach attached roots and unrestricted paths."""
        return replace(self, _outside_paths=True)

    def allow_network_host(self, host: str) -> ScopedWorkspacePolicy:
        """Grant HTTP and HTTPS to exactly this host, all ports and paths (E14).

        Raises `InvalidConfiguration` for what is no host name: it could never match.
        """
        name = normalize_host(host)
        if name is None:
            raise InvalidConfiguration(f"{host!r} is not a host name")
        return replace(self._grant(CapabilityKind.NETWORK), _hosts=self._hosts | {name})

    def allow_network_tool(self, name: str) -> ScopedWorkspacePolicy:
        """Grant the built-in tool `name` the destinations that it manages itself (E15)."""
        granted = self._grant(CapabilityKind.NETWORK)
        return replace(granted, _network_tools=self._network_tools | {name})

    def require_read_approval(self) -> ScopedWorkspacePolicy:
        """Ask the host before every read."""
        return self._require(CapabilityKind.READ)

    def require_write_approval(self) -> ScopedWorkspacePolicy:
        """Ask the host before every write."""
        return self._require(CapabilityKind.WRITE)

    def require_process_approval(self) -> ScopedWorkspacePolicy:
        """Ask the host before every process."""
        return self._require(CapabilityKind.PROCESS)

    def require_network_approval(self) -> ScopedWorkspacePolicy:
        """Ask the host before every network access."""
        return self._require(CapabilityKind.NETWORK)

    def require_skill_approval(self) -> ScopedWorkspacePolicy:
        """Ask the host before every skill."""
        return self._require(CapabilityKind.SKILL)

    def require_instruction_approval(self) -> ScopedWorkspacePolicy:
        """Ask the host before instructions are discovered."""
        return self._require(CapabilityKind.INSTRUCTION_DISCOVERY)

    def evaluate(self, request: CapabilityRequest) -> PolicyDecision:
        """Decide in the order of E12."""
        if request.kind not in self._granted:
            return DenyByPolicy(KIND_NOT_GRANTED)
        if request.is_outside_primary and not self._outside_paths:
            return DenyByPolicy(OUTSIDE_NOT_GRANTED)
        operation = request.operation
        if isinstance(operation, NetworkAccess) and not self._reaches(
            operation.target, request.source
        ):
            return DenyByPolicy(DESTINATION_NOT_GRANTED)
        if request.kind in self._approval:
            return RequireApproval(APPROVAL_REQUIRED)
        return Allow()

    def _reaches(self, target: NetworkUrl | ToolManagedNetwork, source: CapabilitySource) -> bool:
        if isinstance(target, ToolManagedNetwork):
            return isinstance(source, BuiltInTool) and source.name in self._network_tools
        url = parse_url(target.url)
        return (
            url is not None
            and url.scheme in ("http", "https")
            and not url.has_user_information
            and url.host in self._hosts
        )

    def _grant(self, kind: CapabilityKind) -> ScopedWorkspacePolicy:
        return replace(self, _granted=self._granted | {kind})

    def _require(self, kind: CapabilityKind) -> ScopedWorkspacePolicy:
        return replace(self, _approval=self._approval | {kind})
