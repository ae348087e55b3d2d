"""Structured authority requests: what a tool wants to do, and on whose behalf (E1–E8).

Policy and approval code compares these values; it never parses a display command. Equality is
exact (E23), so every value here is frozen and compares by content.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from rho_core.authority.urls import parse_url


class CapabilityKind(StrEnum):
    """The independently granted classes of authority; the value is the label (E1)."""

    READ = "read"
    WRITE = "write"
    PROCESS = "process"
    NETWORK = "network"
    SKILL = "skill"
    INSTRUCTION_DISCOVERY = "instruction discovery"


@dataclass(frozen=True, slots=True)
class PrimaryWorkspace:
    """The path lies under the primary root."""


@dataclass(frozen=True, slots=True)
class GrantedRoot:
    """The path lies under a root that the host attached."""

    root: Path


@dataclass(frozen=True, slots=True)
class UnrestrictedFilesystem:
    """The path was accepted only because path resolution is unrestricted."""


PathScope: TypeAlias = PrimaryWorkspace | GrantedRoot | UnrestrictedFilesystem


class ExecutableSelection(StrEnum):
    """How an executable is found."""

    EXACT_PATH = "exact_path"
    SEARCH_PATH = "search_path"


@dataclass(frozen=True, slots=True)
class DirectInvocation:
    """Run an executable with an argument vector, no shell."""

    executable: str
    selection: ExecutableSelection
    arguments: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"DirectInvocation(executable={self.executable!r}, selection={self.selection.value!r}, "
            f"arguments=[{len(self.arguments)} redacted])"
        )


@dataclass(frozen=True, slots=True)
class ShellInvocation:
    """Run a command text in a shell, on purpose. `arguments` precede the command."""

    executable: str
    selection: ExecutableSelection
    arguments: tuple[str, ...]
    command: str

    def __repr__(self) -> str:
        return (
            f"ShellInvocation(executable={self.executable!r}, selection={self.selection.value!r}, "
            f"arguments=[{len(self.arguments)} redacted], command='[redacted]')"
        )


ProcessInvocation: TypeAlias = DirectInvocation | ShellInvocation


class EnvironmentMode(StrEnum):
    """Which variables a child inherits."""

    EMPTY = "empty"
    INHERIT_ALL = "inherit_all"
    INHERIT_LISTED = "inherit_listed"
    INHERIT_EXCEPT = "inherit_except"


@dataclass(frozen=True, slots=True)
class ProcessEnvironment:
    """The environment policy of a child; names only, never values (E6)."""

    mode: EnvironmentMode = EnvironmentMode.INHERIT_ALL
    names: tuple[str, ...] = ()

    @classmethod
    def inherit_except(cls, names: Iterable[str]) -> ProcessEnvironment:
        """Inherit all but `names`, sorted and unique; no names means everything is inherited."""
        unique = tuple(sorted(set(names)))
        if not unique:
            return cls()
        return cls(EnvironmentMode.INHERIT_EXCEPT, unique)

    def compose(self, parent: dict[str, str]) -> dict[str, str]:
        """The child's variables, given the parent's."""
        match self.mode:
            case EnvironmentMode.EMPTY:
                return {}
            case EnvironmentMode.INHERIT_ALL:
                return dict(parent)
            case EnvironmentMode.INHERIT_LISTED:
                return {name: parent[name] for name in self.names if name in parent}
            case EnvironmentMode.INHERIT_EXCEPT:
                return {name: value for name, value in parent.items() if name not in self.names}


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Bounds of a process: output in bytes (at least 1) and wall time in seconds."""

    max_output_bytes: int
    timeout_seconds: float | None = None

    def __post_init__(self) -> None:
        for value in (self.max_output_bytes, self.timeout_seconds):
            if isinstance(value, bool):  # True equals 1, and rules compare exactly (L6)
                raise TypeError("a process limit is a number, not a boolean")
        if self.max_output_bytes < 1:
            object.__setattr__(self, "max_output_bytes", 1)


@dataclass(frozen=True, slots=True)
class ProcessExecution:
    """Everything an approval needs to know of a process without parsing shell text (E5)."""

    working_directory: Path
    invocation: ProcessInvocation
    environment: ProcessEnvironment
    limits: ProcessLimits

    @property
    def shell_command(self) -> str | None:
        """The shell text, None for direct execution. For display and policy only."""
        match self.invocation:
            case ShellInvocation(command=command):
                return command
            case DirectInvocation():
                return None


@dataclass(frozen=True, slots=True)
class ReadPath:
    """Read a file or list a directory."""

    path: Path
    scope: PathScope


@dataclass(frozen=True, slots=True)
class WritePath:
    """Create, change or remove a file."""

    path: Path
    scope: PathScope


@dataclass(frozen=True, slots=True)
class ExecuteProcess:
    """Start a process."""

    execution: ProcessExecution


@dataclass(frozen=True, slots=True)
class NetworkUrl:
    """A destination that the request names."""

    url: str

    def __repr__(self) -> str:
        parsed = parse_url(self.url)
        shown = "[invalid url]" if parsed is None else parsed.origin
        return f"NetworkUrl({shown!r})"


@dataclass(frozen=True, slots=True)
class ToolManagedNetwork:
    """A destination that the built-in tool manages itself, such as a search backend."""


@dataclass(frozen=True, slots=True)
class NetworkAccess:
    """Reach the network."""

    target: NetworkUrl | ToolManagedNetwork


@dataclass(frozen=True, slots=True)
class LoadSkill:
    """Load a skill by name; `path` is None for one that is embedded."""

    name: str
    path: Path | None


@dataclass(frozen=True, slots=True)
class DiscoverInstructions:
    """Read workspace instructions such as AGENTS.md."""

    path: Path
    scope: PathScope


CapabilityOperation: TypeAlias = (
    ReadPath | WritePath | ExecuteProcess | NetworkAccess | LoadSkill | DiscoverInstructions
)

_KINDS: dict[type, CapabilityKind] = {
    ReadPath: CapabilityKind.READ,
    WritePath: CapabilityKind.WRITE,
    ExecuteProcess: CapabilityKind.PROCESS,
    NetworkAccess: CapabilityKind.NETWORK,
    LoadSkill: CapabilityKind.SKILL,
    DiscoverInstructions: CapabilityKind.INSTRUCTION_DISCOVERY,
}


@dataclass(frozen=True, slots=True)
class HostProvidedTool:
    """The request comes from a tool of the host."""

    name: str


@dataclass(frozen=True, slots=True)
class BuiltInTool:
    """The request comes from a built-in tool."""

    name: str


@dataclass(frozen=True, slots=True)
class PromptConstruction:
    """The request comes from building the system prompt, not from a tool."""


CapabilitySource: TypeAlias = HostProvidedTool | BuiltInTool | PromptConstruction


@dataclass(frozen=True, slots=True)
class CapabilityRequest:
    """One structured request: an operation and who asks. The unit of exact session rules."""

    operation: CapabilityOperation
    source: CapabilitySource

    @classmethod
    def instruction_discovery(cls, path: Path, scope: PathScope) -> CapabilityRequest:
        """The request of an adapter that reads workspace instructions into the prompt."""
        return cls(DiscoverInstructions(path, scope), PromptConstruction())

    @property
    def kind(self) -> CapabilityKind:
        """The class of authority asked for."""
        return _KINDS[type(self.operation)]

    @property
    def source_name(self) -> str:
        """The tool's name, `<prompt>` for prompt construction (E18)."""
        match self.source:
            case HostProvidedTool(name=name) | BuiltInTool(name=name):
                return name
            case PromptConstruction():
                return "<prompt>"

    @property
    def is_outside_primary(self) -> bool:
        """Whether a path operation leaves the primary workspace (E4)."""
        match self.operation:
            case ReadPath(scope=scope) | WritePath(scope=scope) | DiscoverInstructions(scope=scope):
                return not isinstance(scope, PrimaryWorkspace)
            case _:
                return False
