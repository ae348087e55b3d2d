"""How a run ends: what is committed, which events are told, which hook fires (C63–C70)."""

from __future__ import annotations

from rho_core import events
from rho_core.errors import Cancelled, ProviderError, RhoError
from rho_core.event_sink import ConsumerDropped
from rho_core.events import RunOutcome, StopReason
from rho_core.ids import Revision
from rho_core.running.context import RunContext
from rho_core.running.session_core import SessionState


async def end_completed(context: RunContext, stop_reason: StopReason) -> RunOutcome:
    """Commit a finished run. Raises `PersistenceError`, committing nothing (C41, C46, C49)."""
    await _close_calls(context)
    revision = context.session.commit(context.history.messages, SessionState.COMPLETED)
    context.commands.close()
    outcome = RunOutcome(
        content=context.history.newest_assistant_content(),
        usage=context.usage,
        stop_reason=stop_reason,
        revision=revision,
    )
    await context.sink.emit_even_if_cancelled(events.Completed(outcome))
    context.hooks.run_completed(stop_reason, revision)
    return outcome


async def end_cancelled(context: RunContext, error: Cancelled) -> RhoError:
    """Commit what a cancelled run had done (C63). No hook fires."""
    revision = await _commit_partial(context, SessionState.CANCELLING)
    await context.sink.emit_even_if_cancelled(events.Cancelled(revision))
    return error


async def end_failed(context: RunContext, error: RhoError) -> RhoError:
    """Commit what a failed run had done (C64)."""
    revision = await _commit_partial(context, SessionState.FAILED)
    if isinstance(error, ProviderError) and error.diagnostic is not None:
        diagnostic = events.ProviderDiagnostic(error.diagnostic)
        await context.sink.emit_even_if_cancelled(diagnostic)
    failed = events.Failed(str(error), error.retryable, revision)
    await context.sink.emit_even_if_cancelled(failed)
    context.hooks.run_failed(error)
    return error


async def end_abandoned(context: RunContext, error: ConsumerDropped) -> RhoError:
    """Nobody reads any more: end the work and commit nothing (C9, X6)."""
    context.token.cancel()
    context.commands.close()
    await context.jobs.settle()
    context.hooks.run_failed(error)
    return error


async def _commit_partial(context: RunContext, state: SessionState) -> Revision:
    await _close_calls(context)
    if context.partial is not None:
        context.history.append(context.partial)
    revision = context.session.commit(context.history.messages, state)
    context.commands.close()
    return revision


async def _close_calls(context: RunContext) -> None:
    """Give every call its one result, so that what is committed can be replayed (C72, D58).

    Raises `ConsumerDropped`: what nobody read is not committed, however the run ended (X6).
    """
    await context.jobs.settle()
    context.history.add_results(context.jobs.take_parked(), with_images=False)
    context.history.interrupt_unresolved()
    context.sink.ensure_reader()
