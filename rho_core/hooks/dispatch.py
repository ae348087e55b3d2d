"""From facts of the runtime to envelopes at the host's hooks (I13–I15).

Nothing is built when nobody would see it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rho_core.authority.capabilities import CapabilityRequest
from rho_core.authority.pipeline import PolicyOutcome
from rho_core.errors import RhoError
from rho_core.hooks.bounds import FieldBounder, HookBounds
from rho_core.hooks.envelope import HookEnvelope, HookIdentity
from rho_core.hooks.gate import ContinueToolUse, DenyToolUse, PreToolUseGate, PreToolUseRequest
from rho_core.hooks.observer import HookObserver
from rho_core.hooks.payload import (
    BeforeToolUse,
    HookPayload,
    RunCompleted,
    RunFailed,
    SessionCompleted,
    SessionFailed,
    SessionStarted,
    after_tool_use,
    capability_summary,
    hook_failure,
    hook_tool,
    run_failure,
)
from rho_core.ids import HookEventId, RunId, SessionId, ToolCallId
from rho_core.json_values import FrozenObject
from rho_core.tooling.values import ToolCompletion

PayloadBuilder = Callable[[FieldBounder], HookPayload]


class HookDispatcher:
    """The hooks of one runtime or tool host.

    Args:
        observer: Sees what has happened, if installed.
        gate: Judges tool use beforehand, if installed.
        bounds: Limits of fields and envelopes.
        host_labels: The host's own labels, in every envelope.
        workspace_root: The canonical root, if there is a workspace.
        parent_session_id: The session that delegated to this runtime (A21).
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        observer: HookObserver | None = None,
        gate: PreToolUseGate | None = None,
        *,
        bounds: HookBounds | None = None,
        host_labels: Mapping[str, str] | None = None,
        workspace_root: Path | None = None,
        parent_session_id: SessionId | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.observer = observer
        self.gate = gate
        self.bounds = bounds or HookBounds()
        #: How many times the observer raised.
        self.observer_failures = 0
        self._labels = dict(host_labels or {})
        self._root = workspace_root
        self._parent = parent_session_id
        self._clock = clock

    @property
    def is_enabled(self) -> bool:
        """Whether anything is installed."""
        return self.observer is not None or self.gate is not None

    def for_run(self, session_id: SessionId, run_id: RunId | None) -> RunHooks:
        """The hooks as one run sees them."""
        return RunHooks(self, session_id, run_id)

    def session_started(self, session_id: SessionId, model: str) -> None:
        """A session was opened; `model` is `<provider>/<model>` (A31)."""
        self.emit(session_id, None, lambda b: SessionStarted(b.text("payload.model", model)))

    def session_completed(self, session_id: SessionId, runs: int) -> None:
        """The host is done with a session (I15)."""
        self.emit(session_id, None, lambda _b: SessionCompleted(runs))

    def session_failed(self, session_id: SessionId, kind: str, reason: str) -> None:
        """The host gives up on a session (I15)."""
        self.emit(session_id, None, lambda b: SessionFailed(hook_failure(kind, reason, b)))

    def emit(self, session_id: SessionId, run_id: RunId | None, build: PayloadBuilder) -> None:
        """Hand one event to the observer; without one, `build` is not called."""
        if self.observer is None:
            return
        try:
            self.observer.observe(self.envelope(session_id, run_id, build))
        except Exception:  # noqa: BLE001 - an observer must not break the run it watches (L9)
            self.observer_failures += 1

    def envelope(
        self, session_id: SessionId, run_id: RunId | None, build: PayloadBuilder
    ) -> HookEnvelope:
        """Build the bounded envelope of one event."""
        bounder = FieldBounder(self.bounds)
        payload = build(bounder)
        identity = HookIdentity(
            bounder.identifier("identity.session_id", session_id),
            _bounded_id(bounder, "identity.parent_session_id", self._parent),
            _bounded_id(bounder, "identity.run_id", run_id),
        )
        labels = FrozenObject(bounder.labels("host_labels", self._labels))
        root = None if self._root is None else bounder.path("workspace.root", self._root)
        return HookEnvelope(
            payload=payload,
            event_id=HookEventId(),
            timestamp_unix_ms=int(self._clock() * 1000),
            identity=identity,
            host_labels=labels,
            workspace_root=root,
            bounds=bounder.report,
        )


class RunHooks:
    """The hooks of one run; the gate that the run's `Authorizer` asks (`CapabilityGate`)."""

    def __init__(
        self, dispatcher: HookDispatcher, session_id: SessionId, run_id: RunId | None
    ) -> None:
        self._dispatcher = dispatcher
        self._session_id = session_id
        self._run_id = run_id

    def gates(self, tool_name: str) -> bool:
        """Whether this tool's requests are judged; if not, no envelope is built (I11)."""
        gate = self._dispatcher.gate
        return gate is not None and gate.applies_to_tool(tool_name)

    async def judge(
        self, request: CapabilityRequest, policy: PolicyOutcome, tool_call_id: ToolCallId | None
    ) -> str | None:
        """The gate's reason to deny, None to continue."""
        gate = self._dispatcher.gate
        if gate is None:
            return None

        def build(bounder: FieldBounder) -> HookPayload:
            tool = hook_tool(request.source_name, tool_call_id, bounder)
            return BeforeToolUse(tool, capability_summary(request, bounder), policy)

        envelope = self._dispatcher.envelope(self._session_id, self._run_id, build)
        match await gate.evaluate(PreToolUseRequest(envelope, policy)):
            case ContinueToolUse():
                return None
            case DenyToolUse(reason=reason):
                return reason
            case _:  # host code without types must not widen anything
                return "pre-tool-use hook returned no decision"  # type: ignore[unreachable]

    def after_tool_use(
        self,
        tool_name: str,
        call_id: ToolCallId | None,
        completion: ToolCompletion,
        seconds: float | None,
    ) -> None:
        """A call ended after executing for `seconds`, None if it never executed (D33)."""

        def build(bounder: FieldBounder) -> HookPayload:
            tool = hook_tool(tool_name, call_id, bounder)
            return after_tool_use(tool, completion, seconds, bounder)

        self._dispatcher.emit(self._session_id, self._run_id, build)

    def run_completed(self, stop_reason: str, revision: int) -> None:
        """The run ended well (C70)."""
        payload = RunCompleted(str(stop_reason), int(revision))
        self._dispatcher.emit(self._session_id, self._run_id, lambda _b: payload)

    def run_failed(self, error: RhoError) -> None:
        """The run failed; not for cancelled runs (C70)."""
        self._dispatcher.emit(
            self._session_id, self._run_id, lambda b: RunFailed(run_failure(error, b))
        )


def _bounded_id(bounder: FieldBounder, name: str, value: str | None) -> str | None:
    return None if value is None else bounder.identifier(name, value)
