"""Collaborators that the hook tests share."""

from __future__ import annotations

from pathlib import Path

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityRequest,
    DirectInvocation,
    EnvironmentMode,
    ExecutableSelection,
    ExecuteProcess,
    PrimaryWorkspace,
    ProcessEnvironment,
    ProcessExecution,
    ProcessInvocation,
    ProcessLimits,
    ReadPath,
    ShellInvocation,
)
from rho_core.hooks.envelope import HookEnvelope
from rho_core.hooks.gate import (
    ContinueToolUse,
    GateDecision,
    PreToolUseGate,
    PreToolUseRequest,
)
from rho_core.hooks.observer import HookObserver
from rho_core.ids import RunId, SessionId

SESSION = SessionId("session-1")
RUN = RunId("run-1")
READ = CapabilityRequest(ReadPath(Path("/w/a.txt"), PrimaryWorkspace()), BuiltInTool("read_file"))


def process(invocation: ProcessInvocation) -> CapabilityRequest:
    execution = ProcessExecution(
        Path("/w"),
        invocation,
        ProcessEnvironment(EnvironmentMode.INHERIT_EXCEPT, ("API_KEY",)),
        ProcessLimits(1000, 5),
    )
    return CapabilityRequest(ExecuteProcess(execution), BuiltInTool("bash"))


def shell(command: str) -> CapabilityRequest:
    return process(ShellInvocation("/bin/sh", ExecutableSelection.EXACT_PATH, ("-c",), command))


def direct(*arguments: str) -> CapabilityRequest:
    return process(DirectInvocation("git", ExecutableSelection.SEARCH_PATH, arguments))


class Collector(HookObserver):
    def __init__(self) -> None:
        self.envelopes: list[HookEnvelope] = []

    def observe(self, envelope: HookEnvelope) -> None:
        self.envelopes.append(envelope)


class ScriptedGate(PreToolUseGate):
    def __init__(self, decision: GateDecision | None = None) -> None:
        self.decision = decision or ContinueToolUse()
        self.requests: list[PreToolUseRequest] = []

    async def evaluate(self, request: PreToolUseRequest) -> GateDecision:
        self.requests.append(request)
        return self.decision
