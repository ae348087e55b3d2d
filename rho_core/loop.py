"""The turn: model, tools, model, until the answer needs no more tools (section C.4).

This module tells the story; `rho_core.running` has the details of each part.
"""

from __future__ import annotations

from rho_core.errors import Cancelled, RhoError
from rho_core.event_sink import ConsumerDropped
from rho_core.events import RunOutcome, Started, StopReason
from rho_core.history.messages import AssistantMessage, ToolCall, UserMessage, tool_calls_of
from rho_core.running.context import RunContext
from rho_core.running.endings import end_abandoned, end_cancelled, end_completed, end_failed
from rho_core.running.provider_turn import ProviderTurn
from rho_core.running.steps import (
    apply_steering,
    open_step,
    run_batch,
    run_calls,
    turn_may_end,
)
from rho_core.tooling.contract import InvocationSource


async def drive(
    context: RunContext, user: UserMessage, host_call: ToolCall | None
) -> RunOutcome | RhoError:
    """Run one turn to its end and return the outcome, or the error it ended with.

    Whatever happened before a cancellation or a failure is committed and can be replayed.
    """
    try:
        try:
            stop_reason = await _take_turn(context, user, host_call)
        except ConsumerDropped:
            raise
        except Cancelled as error:
            return await end_cancelled(context, error)
        except RhoError as error:
            return await end_failed(context, error)
        return await end_completed(context, stop_reason)
    except ConsumerDropped as error:
        return await end_abandoned(context, error)
    except RhoError as error:  # the commit itself failed: there is no terminal event (C41)
        context.hooks.run_failed(error)
        return error


async def _take_turn(
    context: RunContext, user: UserMessage, host_call: ToolCall | None
) -> StopReason:
    context.history.append(user)
    await context.sink.emit(Started(context.run_id, context.session.revision))
    if host_call is not None:
        await _run_host_call(context, host_call)
    for step in range(1, context.configuration.max_steps + 1):
        await open_step(context, step)
        assistant = await ProviderTurn(context, step).run()
        context.history.append(assistant)
        context.commands.serve()
        if tool_calls_of(assistant.content):
            await run_calls(context, assistant)
        elif await turn_may_end(context):
            return StopReason.END_TURN
        await apply_steering(context)
    return StopReason.MAX_STEPS


async def _run_host_call(context: RunContext, call: ToolCall) -> None:
    """A call that the host asked for runs before the first model request (C60)."""
    context.history.append(AssistantMessage((call,)))
    await run_batch(context, (call,), InvocationSource.HOST)
    await apply_steering(context)
