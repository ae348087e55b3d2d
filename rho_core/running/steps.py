"""What happens between model calls: steering, compaction, tool batches (C44, C56, X5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rho_core.errors import RhoError
from rho_core.events import (
    CompactionCompleted,
    CompactionStarted,
    CompactionTrigger,
    SteeringApplied,
    StepStarted,
)
from rho_core.history.messages import (
    ASYNC_TOOL_CALL_KIND,
    EnrichedAssistant,
    ToolCall,
    tool_calls_of,
)
from rho_core.history.tokens import request_tokens
from rho_core.running.compacting import compacted, run_compactor
from rho_core.running.context import RunContext
from rho_core.tooling.batch import ToolBatch
from rho_core.tooling.contract import InvocationSource, ToolExecutionMode


async def open_step(context: RunContext, step: int) -> None:
    """Everything before a model call: detached results, compaction, commands, steering (X5)."""
    context.history.add_results(context.jobs.take_parked(), with_images=True)
    await compact_if_due(context, step)
    context.commands.serve()
    await apply_steering(context)
    tokens = request_tokens(context.history.tokens, context.specs)
    await context.sink.emit(StepStarted(step, tokens))


async def apply_steering(context: RunContext) -> None:
    """Move staged inputs into history. Nothing suspends between the event and the change (C57)."""
    if not context.commands.has_staged:
        return
    await context.sink.emit(SteeringApplied(context.commands.staged_ids))
    for staged in context.commands.take_staged():
        context.history.append(staged.message())


async def run_batch(
    context: RunContext,
    calls: Sequence[ToolCall],
    source: InvocationSource = InvocationSource.MODEL,
) -> None:
    """Run calls and append their results, all of them, whatever happens (D28, D29)."""
    context.session.publish_live(context.history.messages)
    batch = ToolBatch(context.environment, calls, source)
    context.commands.responder = batch.inputs.respond
    try:
        await batch.run()
    except RhoError:
        context.history.add_results(batch.completions(), with_images=False)
        raise
    finally:
        context.commands.responder = None
    unit = [*context.jobs.take_parked(), *batch.completions()]
    context.history.add_results(unit, with_images=True)


async def run_calls(context: RunContext, assistant: EnrichedAssistant) -> None:
    """Detach the calls that may run on, then run the others as a batch (D45, D47, D52)."""
    detached, batched = split_calls(context, assistant)
    if detached:
        context.session.publish_live(context.history.messages)
        await context.jobs.start(detached)
    if batched:
        await context.jobs.wait_all()
        await run_batch(context, batched)


def split_calls(
    context: RunContext, assistant: EnrichedAssistant
) -> tuple[list[ToolCall], list[ToolCall]]:
    """The calls that detach and those that do not, each in model order.

    Detaching takes two keys: the tool declares Async, and the provider marked the call (D45).
    """
    marked = {
        block.data
        for block in assistant.provider_context
        if block.kind == ASYNC_TOOL_CALL_KIND and isinstance(block.data, str)
    }
    detached: list[ToolCall] = []
    batched: list[ToolCall] = []
    for call in tool_calls_of(assistant.content):
        tool = context.environment.tools.get(call.name)
        is_async = tool is not None and tool.execution_mode is ToolExecutionMode.ASYNC
        (detached if is_async and call.id in marked else batched).append(call)
    return detached, batched


async def turn_may_end(context: RunContext) -> bool:
    """Whether an answer without calls ends the run: nothing staged, nothing detached (D55).

    Waits for the first result of a running job, or for staged steering, if there are jobs.
    """
    await context.jobs.wait_any(lambda: context.commands.has_staged)
    return not context.commands.has_staged and not context.jobs.has_pending


async def compact_if_due(context: RunContext, step: int) -> None:
    """Compact the candidate history and commit that at once (J6, J9, J11)."""
    policy = context.configuration.compaction_policy
    compactor = context.configuration.compactor
    if policy is None or compactor is None or context.jobs.has_pending:
        return
    messages = context.history.messages
    tokens = request_tokens(context.history.tokens, context.specs)
    if not policy.is_due(message_count=len(messages), context_tokens=tokens):
        return
    started = CompactionStarted(CompactionTrigger.AUTOMATIC, len(messages))
    await context.sink.emit(started)
    output = await run_compactor(context, compactor, step)
    outcome = context.session.commit_compaction(output.messages, compacted(messages, output))
    context.history.replace(output.messages)
    completed = CompactionCompleted(
        CompactionTrigger.AUTOMATIC, replace(outcome, committed_snapshot=context.session.snapshot())
    )
    await context.sink.emit(completed)
