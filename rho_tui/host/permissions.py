"""Permission modes: the policy of the application (APP3.2, decisions).

Modes are policy, not a sandbox (APP3.8). The mode in force is never stored with a session: a
resumed or cancelled session cannot bring back a weaker one.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from rho_core.authority.capabilities import (
    CapabilityRequest,
    ExecuteProcess,
    GrantedRoot,
    PrimaryWorkspace,
    ReadPath,
    WritePath,
)
from rho_core.authority.policy import (
    Allow,
    DenyByPolicy,
    PolicyDecision,
    RequireApproval,
    WorkspacePolicy,
)
from rho_core.errors import InvalidConfiguration
from rho_tui.host.sensitive import SensitivePaths

_PLAN_WRITE = (
    "plan mode is on, so no file may be changed; describe the change and wait until the user "
    "leaves plan mode"
)
_PLAN_PROCESS = (
    "plan mode is on, so no command may run; use the reading tools, or describe the command and "
    "wait until the user leaves plan mode"
)
_OUTSIDE = "the path is outside the workspace"


class PermissionMode(StrEnum):
    """How much happens without asking; the value is the word in configuration."""

    SUPERVISED = "supervised"
    ALLOW_EDITS = "allow_edits"
    PLAN = "plan"
    BYPASS = "bypass"

    @property
    def label(self) -> str:
        """The word shown to people."""
        return _LABELS[self]

    @classmethod
    def parse(cls, word: str) -> PermissionMode:
        """The mode that `word` names; `allow-edits` is accepted. Raises `InvalidConfiguration`."""
        try:
            return cls(word.strip().lower().replace("-", "_"))
        except ValueError:
            known = ", ".join(mode.value for mode in cls)
            raise InvalidConfiguration(
                f"unknown permission mode {word!r}; expected one of {known}"
            ) from None


_LABELS = {
    PermissionMode.SUPERVISED: "Supervised",
    PermissionMode.ALLOW_EDITS: "Allow edits",
    PermissionMode.PLAN: "Plan",
    PermissionMode.BYPASS: "Bypass",
}


class ModePolicy(WorkspacePolicy):
    """Judges every request under the mode in force at that moment.

    Network, skills and instruction discovery are free in every mode (APP3.2). Sensitive files ask
    in every mode but bypass, paths outside the workspace and its granted roots too. `readable` are
    canonical folders that may be read although they lie outside or are private, such as the one
    where whole command outputs are kept.
    """

    def __init__(
        self,
        mode: PermissionMode = PermissionMode.SUPERVISED,
        sensitive: SensitivePaths | None = None,
        readable: Iterable[Path] = (),
    ) -> None:
        self.mode = mode
        self._readable = tuple(readable)
        self._sensitive = sensitive or SensitivePaths()

    def evaluate(self, request: CapabilityRequest) -> PolicyDecision:
        """Allow, deny with a reason for the model, or ask."""
        if self.mode is PermissionMode.BYPASS:
            return Allow()
        match request.operation:
            case ReadPath():
                return self._read(request.operation)
            case WritePath():
                return self._write(request.operation)
            case ExecuteProcess():
                if self.mode is PermissionMode.PLAN:
                    return DenyByPolicy(_PLAN_PROCESS)
                return RequireApproval("commands need approval")
            case _:
                return Allow()

    def _read(self, operation: ReadPath) -> PolicyDecision:
        if any(operation.path.is_relative_to(folder) for folder in self._readable):
            return Allow()
        if not isinstance(operation.scope, PrimaryWorkspace | GrantedRoot):
            return RequireApproval(_OUTSIDE)
        reason = self._sensitive.reason_to_ask_before_reading(operation.path)
        return RequireApproval(reason) if reason else Allow()

    def _write(self, operation: WritePath) -> PolicyDecision:
        if self.mode is PermissionMode.PLAN:
            return DenyByPolicy(_PLAN_WRITE)
        if not isinstance(operation.scope, PrimaryWorkspace):
            return RequireApproval(_OUTSIDE)
        reason = self._sensitive.reason_to_ask_before_writing(operation.path)
        if reason:
            return RequireApproval(reason)
        if self.mode is PermissionMode.ALLOW_EDITS:
            return Allow()
        return RequireApproval("changes need approval")
