"""Keeps the facts of the status line up to date with the conversation."""

from __future__ import annotations

from dataclasses import replace

from rho_core import events as run
from rho_core.usage import ModelUsage
from rho_tui.host import facts
from rho_tui.host.config import PriceConfig
from rho_tui.screens.status import with_mode
from rho_tui.widgets.status_layout import StatusFacts


def status_after(
    event: facts.ConversationEvent, status: StatusFacts, price: PriceConfig | None
) -> StatusFacts:
    """The status once `event` has happened; the same object when nothing changed."""
    match event:
        case run.StepStarted(estimated_context_tokens=tokens):
            return replace(status, context_tokens=tokens)
        case run.ModelCallCompleted(metrics=metrics) if metrics.generation_rate:
            return replace(status, rate=metrics.generation_rate)
        case run.CompactionCompleted():
            return replace(status, context_tokens=None)
        case facts.UsageTotals(usage=usage, context_tokens=tokens):
            known = status.context_tokens if tokens is None else tokens
            return replace(status, context_tokens=known, cost=cost_of(usage, price))
        case facts.PermissionModeChanged(mode=mode):
            return with_mode(status, mode)
        case facts.ReasoningChanged(level=level):
            return replace(status, reasoning=level)
        case facts.HistoryReset():
            return replace(status, context_tokens=0)
        case facts.SessionOpened(cwd=cwd):
            note = "read only" if event.read_only else ""
            note = "folder is gone" if event.folder_is_missing else note
            # a branch is read when a conversation is opened: until then none, not another folder's
            branch = status.branch if cwd == status.cwd else ""
            return replace(status, cwd=cwd, branch=branch, note=note)
        case _:
            return status


def cost_of(usage: ModelUsage, price: PriceConfig | None) -> float | None:
    """US dollars: what the provider said, else what the configured prices make of the tokens."""
    if usage.cost_usd_micros is not None:
        return usage.cost_usd_micros / 1e6
    if price is None:
        return None
    uncached = usage.input_tokens
    if uncached is None:
        uncached = usage.inclusive_prompt_tokens
    parts = (
        (uncached, price.input),
        (usage.output_tokens, price.output),
        (usage.cache_read_tokens, price.input if price.cache_read is None else price.cache_read),
        (usage.cache_write_tokens, price.input if price.cache_write is None else price.cache_write),
    )
    return sum((tokens or 0) * per_million for tokens, per_million in parts) / 1e6
