"""Builds the parts of a run and drives them in one task; what it opens, it closes (C3, C5, L14)."""

from __future__ import annotations

import asyncio

from rho_core.authority.approvals import ApprovalSession, AuthorizationOutcome
from rho_core.authority.capabilities import CapabilityRequest
from rho_core.authority.pipeline import Authorizer
from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import RhoError
from rho_core.event_sink import EventSink
from rho_core.events import RunEvent, RunOutcome
from rho_core.history.messages import ToolCall
from rho_core.hooks.dispatch import RunHooks
from rho_core.ids import RunId, ToolCallId
from rho_core.inputs import UserInput
from rho_core.loop import drive
from rho_core.running.candidate import CandidateHistory
from rho_core.running.commands import Command, HostCommands
from rho_core.running.context import RunContext
from rho_core.running.session_core import SessionCore
from rho_core.signals import Signal
from rho_core.tooling.detached import DetachedJobs
from rho_core.tooling.environment import AfterToolUse, AuthorizeCall, ToolEnvironment
from rho_core.tooling.values import ToolCompletion


async def work(
    session: SessionCore,
    run_id: RunId,
    approvals: ApprovalSession,
    token: CancellationToken,
    events: Channel[RunEvent],
    commands: Channel[Command],
    user: UserInput,
    host_call: ToolCall | None,
) -> RunOutcome | RhoError:
    """The whole life of a run. Ownership of `session` was taken before and is given back here.

    Returns the error of a run that ended with one; raises only what is a defect, or
    `asyncio.CancelledError` when the run was dropped.
    """
    loop = asyncio.get_running_loop()
    signal = Signal()
    commands.on_item(signal.notify)
    forget = token.on_cancel(lambda: loop.call_soon_threadsafe(signal.notify))
    context = _build(session, run_id, approvals, token, events, commands, signal)
    try:
        return await drive(context, user.message(), host_call)
    finally:
        forget()
        await _close(context, events, run_id)


async def _close(context: RunContext, events: Channel[RunEvent], run_id: RunId) -> None:
    """Runs on every way out; after an orderly end there is nothing left to stop."""
    try:
        context.commands.close()
        await context.jobs.abort()
    finally:
        context.session.release(run_id)
        events.close()


def _build(
    session: SessionCore,
    run_id: RunId,
    approvals: ApprovalSession,
    token: CancellationToken,
    events: Channel[RunEvent],
    commands: Channel[Command],
    signal: Signal,
) -> RunContext:
    configuration = session.configuration
    hooks = configuration.hooks.for_run(session.id, run_id)
    host_commands = HostCommands(commands)
    sink = EventSink(events, token, signal)
    environment = ToolEnvironment(
        tools=configuration.tools,
        workspace=configuration.workspace,
        token=token,
        sink=sink,
        signal=signal,
        serve=host_commands.serve,
        authorize=_authorization(session, approvals, hooks),
        after_tool_use=_reporting(hooks),
        approvals=approvals,
        on_waiting=session.set_waiting,
        max_parallel=configuration.max_parallel_tools,
        event_capacity=configuration.event_capacity,
        clock=configuration.clock,
        await_reader=configuration.tools_await_reader,
    )
    return RunContext(
        session=session,
        configuration=configuration,
        run_id=run_id,
        token=token,
        sink=sink,
        signal=signal,
        commands=host_commands,
        history=CandidateHistory(session.history),
        specs=configuration.specs(),
        identity=configuration.provider.identity,
        environment=environment,
        jobs=DetachedJobs(environment),
        hooks=hooks,
    )


def _authorization(
    session: SessionCore, approvals: ApprovalSession, hooks: RunHooks
) -> AuthorizeCall:
    authorizer = Authorizer(session.configuration.policy, approvals, hooks)

    async def authorize(
        request: CapabilityRequest, call_id: ToolCallId, token: CancellationToken
    ) -> AuthorizationOutcome:
        return await authorizer.authorize(
            request,
            tool_call_id=call_id,
            session_id=session.id,
            cancellation=token,
            history_view=lambda: session.live_history,
        )

    return authorize


def _reporting(hooks: RunHooks) -> AfterToolUse:
    def report(call: ToolCall, completion: ToolCompletion, seconds: float | None) -> None:
        hooks.after_tool_use(call.name, ToolCallId(call.id), completion, seconds)

    return report
