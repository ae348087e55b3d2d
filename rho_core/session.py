"""A conversation: history, revision and settings, one run at a time (section B)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from rho_core.authority.approvals import ApprovalSession
from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.diagnostics import DiagnosticsSnapshot
from rho_core.errors import InvalidConfiguration, InvalidHostResponse, RhoError
from rho_core.events import RunEvent, RunOutcome, ToolHostInputRequested
from rho_core.history.compaction import (
    CompactionOutcome,
    CompactionPolicy,
    CompactionRequest,
    Compactor,
)
from rho_core.history.handoff import HandoffReport, report_message_omissions
from rho_core.history.messages import History, Message, SystemMessage, ToolCall
from rho_core.history.snapshot import SessionSnapshot
from rho_core.ids import Revision, RunId, SessionId
from rho_core.inputs import UserInput
from rho_core.providers.contract import ModelProvider, ServiceTier
from rho_core.reasoning import ReasoningLevel
from rho_core.run import Run
from rho_core.running.commands import Command, HostCommands
from rho_core.running.compacting import compact_typed, compacted
from rho_core.running.inspection import diagnose
from rho_core.running.lifecycle import Lifecycle
from rho_core.running.session_core import SessionCore, SessionState
from rho_core.running.worker import work
from rho_core.tooling.contract import Tool


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How a session begins (B16). `history` must be replay-safe; it is not validated."""

    id: SessionId | None = None
    history: tuple[Message, ...] = ()
    prompt_cache_key: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    snapshot: SessionSnapshot | None = None

    @classmethod
    def from_snapshot(cls, snapshot: SessionSnapshot) -> SessionOptions:
        """Resume: id, history, revision, compaction state, metadata and cache key are restored.

        The system prompt is part of the history then and is not inserted again (A32).
        """
        return cls(snapshot=snapshot)


class Session:
    """One conversation of a runtime. Made by `Rho.session`.

    Everything that changes it raises `SessionBusy` while a run or a compaction is active.
    """

    def __init__(self, core: SessionCore, lifecycle: Lifecycle, approvals: ApprovalSession) -> None:
        self._core = core
        self._lifecycle = lifecycle
        self._approvals = approvals

    # -- reading --------------------------------------------------------------------------

    @property
    def id(self) -> SessionId:
        """The conversation's id."""
        return self._core.id

    @property
    def revision(self) -> Revision:
        """How many commits there have been."""
        return self._core.revision

    @property
    def history(self) -> History:
        """The committed history; immutable."""
        return self._core.history

    @property
    def live_history(self) -> History:
        """The history as of the latest tool batch of the active run, else the committed one (B25).

        Published only if a tool, the approval handler or the runtime declared the need.
        """
        return self._core.live_history

    @property
    def state(self) -> SessionState:
        """What the session is doing, or how its last run ended."""
        return self._core.state

    @property
    def is_running(self) -> bool:
        """Whether a run or a compaction owns the session, whatever `state` says (B7)."""
        return self._core.owner is not None

    @property
    def reasoning_level(self) -> ReasoningLevel:
        """How hard the model is asked to think in later runs."""
        return self._core.configuration.reasoning

    @property
    def service_tier(self) -> ServiceTier | None:
        """The service tier of later runs."""
        return self._core.configuration.service_tier

    @property
    def prompt_cache_key(self) -> str | None:
        """Passed verbatim with every request (B17)."""
        return self._core.prompt_cache_key

    @property
    def metadata(self) -> Mapping[str, str]:
        """The host's own facts, kept in snapshots."""
        return self._core.metadata

    @property
    def approvals(self) -> ApprovalSession:
        """The session's approval memory."""
        return self._approvals

    def snapshot(self) -> SessionSnapshot:
        """The committed state, to be stored by the host (B30)."""
        return self._core.snapshot()

    def diagnostics(self) -> DiagnosticsSnapshot:
        """The effective configuration of this session (A39)."""
        return diagnose(self._core.configuration, self._approvals.audit)

    # -- running --------------------------------------------------------------------------

    def start(self, input: str | UserInput) -> Run:
        """Start a turn; its work is scheduled on the running loop.

        Raises `SessionBusy`, or `RuntimeShutdown`, in which case the session stays idle (A42).
        """
        return self._start(UserInput.of(input), None)

    def start_with_tool_call(self, input: str | UserInput, call: ToolCall) -> Run:
        """Start a turn in which the host asks for a tool call before the first model step (C60).

        Raises `InvalidConfiguration` for an empty id or name, or arguments that are no object.
        """
        if not call.id:
            raise InvalidConfiguration("host tool call id must not be empty")
        if not call.name:
            raise InvalidConfiguration("host tool call name must not be empty")
        if not isinstance(call.arguments, Mapping):
            raise InvalidConfiguration("host tool call arguments must be a JSON object")
        return self._start(UserInput.of(input), call)

    async def complete(self, text: str) -> RunOutcome:
        """Run one turn to its end without interaction.

        A tool that asks the host a question makes it cancel and raise `InvalidHostResponse` (B23).
        """
        async with self.start(text) as run:
            async for event in run:
                if isinstance(event, ToolHostInputRequested):
                    run.cancel()
                    try:
                        await run.outcome()
                    except RhoError:
                        pass  # cancelling is how we got here; the question is the error
                    raise InvalidHostResponse(
                        f"host input request '{event.request.id}' needs an interactive run"
                    )
            return await run.outcome()

    def _start(self, user: UserInput, host_call: ToolCall | None) -> Run:
        loop = asyncio.get_running_loop()
        run_id, token = self._take()
        capacity = self._core.configuration.event_capacity
        events: Channel[RunEvent] = Channel(capacity)
        commands: Channel[Command] = Channel(capacity)
        worker = work(self._core, run_id, self._approvals, token, events, commands, user, host_call)
        task = loop.create_task(worker, name=f"rho run {run_id}")
        self._lifecycle.hold(task)
        task.add_done_callback(lambda _task: self._give_back(run_id, events, commands))
        return Run(run_id, task, events, commands, token)

    def _take(self) -> tuple[RunId, CancellationToken]:
        """Take ownership for new work and register it for shutdown."""
        run_id, token = RunId(), CancellationToken()
        self._core.begin(run_id)
        try:
            self._lifecycle.register(run_id, token)
        except RhoError:
            self._core.release(run_id)
            raise
        return run_id, token

    def _give_back(
        self, run_id: RunId, events: Channel[RunEvent], commands: Channel[Command]
    ) -> None:
        """Also for a worker that was dropped before it ran at all: nothing of it closed these."""
        self._core.release(run_id)
        self._lifecycle.unregister(run_id)
        events.close()
        HostCommands(commands).close()

    # -- changing -------------------------------------------------------------------------

    def append_message(self, message: Message) -> Revision:
        """Commit one more message; its content is not validated (B19)."""
        self._core.ensure_idle()
        return self._core.commit((*self._core.history, message))

    def replace_history(self, history: Iterable[Message]) -> Revision:
        """Commit another history, such as an older one; it is not validated (B19)."""
        self._core.ensure_idle()
        return self._core.commit(tuple(history))

    def reset(self) -> Revision:
        """Start the conversation over; id, settings and remembered approvals stay (B20)."""
        self._core.ensure_idle()
        return self._core.reset(initial_history(self._core.configuration.system_prompt))

    def set_reasoning_level(self, level: ReasoningLevel) -> None:
        """Change how hard later runs think (B21)."""
        self._reconfigure(reasoning=level)

    def record_turns(self) -> None:
        """For a host that records every turn as it happens, in later runs.

        `live_history` follows the turn in flight (A26), and the calls of an answer act only once
        the host has handled all their `ToolProposed` and asks for the next event: what the model
        wanted can be on disk before anything comes of it.
        """
        self._reconfigure(publish_live_history=True, tools_await_reader=True)

    def set_service_tier(self, tier: ServiceTier | None) -> None:
        """Change the service tier of later runs (B21)."""
        self._reconfigure(service_tier=tier)

    def set_compaction(self, compactor: Compactor | None, policy: CompactionPolicy | None) -> None:
        """Change the compaction of later runs. Raises `InvalidConfiguration` (B21, A12)."""
        self._core.ensure_idle()
        self._core.configuration = self._core.configuration.with_compaction(compactor, policy)

    def replace_provider(self, provider: ModelProvider) -> HandoffReport:
        """Use another provider from now on; says what of the history it will not see (B22)."""
        self._reconfigure(provider=provider)
        return report_message_omissions(self._core.history, provider.identity)

    def replace_tool(self, name: str, tool: Tool) -> Tool | None:
        """Let `tool` take the place of the one named `name` in later runs; returns that one (1.5).

        None, and nothing changed, when the session has no tool of that name. The system prompt
        stays, and the model is told nothing: that is for the host, as `append_message` or with
        its next prompt. Raises `InvalidConfiguration` when another tool has the new name already.
        """
        self._core.ensure_idle()
        configuration = self._core.configuration
        replaced = configuration.tools.get(name)
        if replaced is not None:
            self._core.configuration = configuration.with_tool(name, tool)
        return replaced

    async def compact(self, cancellation: CancellationToken | None = None) -> CompactionOutcome:
        """Compact the committed history now (B26–B29).

        The compactor is awaited to its end, even when `cancellation` is set or the runtime shuts
        down meanwhile: it observes its token itself. Errors, `Cancelled` among them, propagate and
        leave the session as it was.
        """
        configuration = self._core.configuration
        if configuration.compactor is None:
            raise InvalidConfiguration("no compactor is configured")
        run_id, token = self._take()
        forget = None if cancellation is None else cancellation.on_cancel(token.cancel)
        try:
            before = self._core.history
            request = CompactionRequest(
                messages=before,
                cancellation=token,
                session_id=self.id,
                run_id=run_id,
                parent_session_id=configuration.usage_parent_session_id,
                workspace_path=None
                if configuration.workspace is None
                else configuration.workspace.root,
            )
            output = await compact_typed(configuration.compactor, request)
            outcome = self._core.commit_compaction(output.messages, compacted(before, output))
            self._core.state = SessionState.COMPLETED
            return outcome
        finally:
            if forget is not None:
                forget()
            self._core.release(run_id)
            self._lifecycle.unregister(run_id)

    def _reconfigure(self, **changes: object) -> None:
        self._core.ensure_idle()
        self._core.configuration = replace(self._core.configuration, **changes)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return (
            f"Session(id={str(self.id)!r}, revision={int(self.revision)}, "
            f"state={self.state.value!r}, messages={len(self.history)})"
        )


def initial_history(system_prompt: str | None) -> History:
    """What a new or reset session starts with (A3, B20)."""
    return () if system_prompt is None else (SystemMessage(system_prompt),)
