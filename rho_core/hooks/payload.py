"""What an envelope says about its event: bounded, typed, without secrets (I4–I6).

Environment names and values, limits, executable selection, granted roots, credentials, query
strings, tool output and images never occur in a payload.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from rho_core.authority.capabilities import (
    CapabilityOperation,
    CapabilityRequest,
    DiscoverInstructions,
    ExecuteProcess,
    GrantedRoot,
    LoadSkill,
    NetworkAccess,
    NetworkUrl,
    PathScope,
    PrimaryWorkspace,
    ReadPath,
    UnrestrictedFilesystem,
    WritePath,
)
from rho_core.authority.urls import parse_url
from rho_core.errors import RhoError
from rho_core.hooks.bounds import FieldBounder
from rho_core.hooks.events import HookEvent
from rho_core.ids import ToolCallId
from rho_core.json_values import FrozenObject, freeze
from rho_core.tooling.values import ToolCompletion, ToolFailed, ToolSucceeded

_CAPABILITY = "payload.capability"


class ToolUseStatus(StrEnum):
    """How a tool call ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class HookTool:
    """The tool of an event, and its call if there is one."""

    name: str
    call_id: str | None

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {"name": self.name, "call_id": self.call_id}


@dataclass(frozen=True, slots=True)
class HookFailure:
    """A failure: a stable label and a message for people."""

    kind: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {"kind": self.kind, "message": self.message}


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A session was opened; `model` is `<provider>/<model>` (A31)."""

    model: str
    event = HookEvent.SESSION_STARTED

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {"model": self.model}


@dataclass(frozen=True, slots=True)
class BeforeToolUse:
    """A tool asks for authority that policy would allow, or would have approved."""

    tool: HookTool
    capability: FrozenObject
    policy: str
    event = HookEvent.BEFORE_TOOL_USE

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {
            "tool": self.tool.to_dict(),
            "capability": self.capability,
            "policy": self.policy,
        }


@dataclass(frozen=True, slots=True)
class AfterToolUse:
    """A tool call ended; `duration_ms` is None if it never executed (D33)."""

    tool: HookTool
    status: ToolUseStatus
    failure: HookFailure | None
    duration_ms: int | None
    event = HookEvent.AFTER_TOOL_USE

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {
            "tool": self.tool.to_dict(),
            "status": self.status.value,
            "failure": None if self.failure is None else self.failure.to_dict(),
            "duration_ms": self.duration_ms,
        }


@dataclass(frozen=True, slots=True)
class RunCompleted:
    """A run ended well; `stop_reason` is `end_turn` or `max_steps`."""

    stop_reason: str
    revision: int
    event = HookEvent.RUN_COMPLETED

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {"stop_reason": self.stop_reason, "revision": self.revision}


@dataclass(frozen=True, slots=True)
class RunFailed:
    """A run failed; a cancelled run is no failure (C70)."""

    failure: HookFailure
    event = HookEvent.RUN_FAILED

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {"failure": self.failure.to_dict()}


@dataclass(frozen=True, slots=True)
class SessionCompleted:
    """The host is done with a session that had `runs` runs."""

    runs: int
    event = HookEvent.SESSION_COMPLETED

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {"runs": self.runs}


@dataclass(frozen=True, slots=True)
class SessionFailed:
    """The host gives up on a session."""

    failure: HookFailure
    event = HookEvent.SESSION_FAILED

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {"failure": self.failure.to_dict()}


HookPayload: TypeAlias = (
    SessionStarted
    | BeforeToolUse
    | AfterToolUse
    | RunCompleted
    | RunFailed
    | SessionCompleted
    | SessionFailed
)


def tool_name_of(payload: HookPayload) -> str | None:
    """The tool that a matcher compares with, None for events without one."""
    return payload.tool.name if isinstance(payload, BeforeToolUse | AfterToolUse) else None


def status_of(payload: HookPayload) -> ToolUseStatus | None:
    """The status that a matcher compares with, None for events without one."""
    return payload.status if isinstance(payload, AfterToolUse) else None


def hook_tool(name: str, call_id: ToolCallId | None, bounder: FieldBounder) -> HookTool:
    """The bounded identity of a tool."""
    bounded = None
    if call_id is not None:
        bounded = bounder.identifier("payload.tool.call_id", call_id)
    return HookTool(bounder.text("payload.tool.name", name), bounded)


def hook_failure(kind: str, message: str, bounder: FieldBounder) -> HookFailure:
    """A bounded failure."""
    return HookFailure(
        bounder.text("payload.failure.kind", kind),
        bounder.text("payload.failure.message", message),
    )


def run_failure(error: RhoError, bounder: FieldBounder) -> HookFailure:
    """The failure of a run, by the stable label of its error (I6)."""
    return hook_failure(error.kind.value, str(error), bounder)


def after_tool_use(
    tool: HookTool, completion: ToolCompletion, seconds: float | None, bounder: FieldBounder
) -> AfterToolUse:
    """The payload of a finished call. Outputs and images stay out of it (DI5)."""
    duration_ms = None if seconds is None else max(0, int(seconds * 1000))
    match completion:
        case ToolSucceeded():
            return AfterToolUse(tool, ToolUseStatus.SUCCEEDED, None, duration_ms)
        case ToolFailed(kind=kind, message=message):
            failure = hook_failure(kind.value, message, bounder)
            return AfterToolUse(tool, ToolUseStatus.FAILED, failure, duration_ms)
        case _:
            return AfterToolUse(tool, ToolUseStatus.UNAVAILABLE, None, duration_ms)


def capability_summary(request: CapabilityRequest, bounder: FieldBounder) -> FrozenObject:
    """What a request is about, tagged by `operation` (I5)."""
    summary = freeze(_summarise(request.operation, bounder))
    assert isinstance(summary, FrozenObject)
    return summary


def _summarise(operation: CapabilityOperation, bounder: FieldBounder) -> dict[str, Any]:
    match operation:
        case ReadPath(path=path, scope=scope):
            name = "read_path"
        case WritePath(path=path, scope=scope):
            name = "write_path"
        case DiscoverInstructions(path=path, scope=scope):
            name = "discover_instructions"
        case ExecuteProcess():
            return _process_summary(operation, bounder)
        case NetworkAccess(target=target):
            return _network_summary(target.url if isinstance(target, NetworkUrl) else None, bounder)
        case LoadSkill(name=skill, path=skill_path):
            shown = None
            if skill_path is not None:
                shown = bounder.path(f"{_CAPABILITY}.path", skill_path)
            return {
                "operation": "load_skill",
                "name": bounder.text(f"{_CAPABILITY}.name", skill),
                "path": shown,
            }
    return {
        "operation": name,
        "path": bounder.path(f"{_CAPABILITY}.path", path),
        "scope": _scope_word(scope),
    }


def _process_summary(operation: ExecuteProcess, bounder: FieldBounder) -> dict[str, Any]:
    execution = operation.execution
    invocation = execution.invocation
    return {
        "operation": "execute_process",
        "working_directory": bounder.path(
            f"{_CAPABILITY}.working_directory", execution.working_directory
        ),
        "executable": bounder.path(f"{_CAPABILITY}.executable", invocation.executable),
        "arguments": bounder.text_list(f"{_CAPABILITY}.arguments", invocation.arguments),
        "shell_command": bounder.optional_text(
            f"{_CAPABILITY}.shell_command", execution.shell_command
        ),
        "environment": execution.environment.mode.value,
    }


def _network_summary(url: str | None, bounder: FieldBounder) -> dict[str, Any]:
    parsed = None if url is None else parse_url(url)
    shown = host = None
    if parsed is not None:
        shown = bounder.text(f"{_CAPABILITY}.url", parsed.without_secrets)
        host = bounder.optional_text(f"{_CAPABILITY}.host", parsed.host)
    return {
        "operation": "network_access",
        "url": shown,
        "host": host,
        "query_present": parsed is not None and parsed.has_query,
    }


def _scope_word(scope: PathScope) -> str:
    match scope:
        case PrimaryWorkspace():
            return "primary_workspace"
        case GrantedRoot():
            return "granted_root"
        case UnrestrictedFilesystem():
            return "unrestricted_filesystem"
