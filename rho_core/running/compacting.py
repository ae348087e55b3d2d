"""Calling a compactor and accounting for what it did (J7–J12)."""

from __future__ import annotations

from rho_core.errors import Interrupted, InvalidHostResponse, RhoError
from rho_core.history.compaction import (
    CompactionCancellation,
    CompactionOutcome,
    CompactionOutput,
    CompactionRequest,
    Compactor,
)
from rho_core.history.messages import History
from rho_core.history.tokens import estimate_messages_tokens
from rho_core.running.context import RunContext


async def run_compactor(context: RunContext, compactor: Compactor, step: int) -> CompactionOutput:
    """The replacement history of a run in progress; dropped on cancellation unless cooperative."""
    workspace = context.configuration.workspace
    request = CompactionRequest(
        messages=context.history.messages,
        cancellation=context.token,
        session_id=context.session.id,
        run_id=context.run_id,
        parent_session_id=context.configuration.usage_parent_session_id,
        step_index=step,
        workspace_path=None if workspace is None else workspace.root,
    )
    work = compact_typed(compactor, request)
    if compactor.mode is CompactionCancellation.COOPERATIVE:
        output = await work
        context.token.raise_if_cancelled()
        return output
    return await context.token.race(work)


async def compact_typed(compactor: Compactor, request: CompactionRequest) -> CompactionOutput:
    """Ask the compactor; whatever it raises leaves as a `RhoError` (L9)."""
    try:
        output = await compactor.compact(request)
    except RhoError:
        raise
    except Exception as error:  # host code may raise anything
        raise Interrupted(f"compactor raised {type(error).__name__}") from error
    if not isinstance(output, CompactionOutput):
        raise InvalidHostResponse("compactor returned no replacement")
    return output


def compacted(before: History, output: CompactionOutput) -> CompactionOutcome:
    """The figures of a compaction; its revision is set by the commit."""
    return CompactionOutcome(
        previous_messages=len(before),
        current_messages=len(output.messages),
        previous_tokens=estimate_messages_tokens(before),
        current_tokens=estimate_messages_tokens(output.messages),
        cost_usd_micros=None if output.usage is None else output.usage.cost_usd_micros,
    )
