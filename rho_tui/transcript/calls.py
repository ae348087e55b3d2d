"""The cards of a turn's tool calls, from the first streamed byte to the result (APP2.26, 2.27)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rho_core.history.messages import ToolCall
from rho_core.tooling.values import ToolCompletion, ToolMetadata, ToolProgress
from rho_tui.host.facts import QuestionReply
from rho_tui.host.live_output import LOOK_BACK
from rho_tui.transcript.blocks import CardStatus, Fact, ToolCard
from rho_tui.transcript.sink import TranscriptSink
from rho_tui.transcript.tool_cards import MAX_LIVE_OUTPUT, CallFacts, tool_card

_PARSE_STRIDE = 4096


@dataclass(slots=True)
class _Preview:
    """A call whose arguments are still arriving."""

    block_id: str
    facts: CallFacts
    text: str = ""
    parsed_at: int = 0


@dataclass(slots=True)
class _Call:
    """A proposed call: where it is drawn and what is known of it."""

    block_id: str
    facts: CallFacts
    replies: tuple[Fact, ...] = ()
    shown_output: int = 0
    """Characters of live output in the card, those that fell out of `facts` included."""


class CallCards:
    """Keeps one card per call in its place; results may come in any order."""

    def __init__(self, sink: TranscriptSink, next_id: Callable[[str], str]) -> None:
        self._sink = sink
        self._next_id = next_id
        self._previews: dict[int, _Preview] = {}
        self._preview_ids: dict[str, int] = {}
        self._open: dict[str, _Call] = {}

    def streamed(self, index: int, call_id: str | None, name: str | None, delta: str) -> None:
        """A fragment of a call that the model is writing."""
        preview = self._previews.get(index)
        is_new = preview is None
        if preview is None:
            if not name or not delta:
                return  # nothing to show before the first byte of arguments
            preview = self._previews[index] = _Preview(self._next_id("call"), CallFacts(name))
        if call_id:
            self._preview_ids[call_id] = index
        preview.text += delta
        size = len(preview.text)
        if is_new or size < _PARSE_STRIDE or size - preview.parsed_at >= _PARSE_STRIDE:
            preview.parsed_at = size
            facts = CallFacts(preview.facts.name, _partial_object(preview.text))
            if is_new:
                self._sink.append(preview.block_id, tool_card(facts))
            elif facts != preview.facts:
                self._sink.redraw(preview.block_id, partial(tool_card, facts))
            preview.facts = facts

    def proposed(self, call: ToolCall, *, before: str | None = None) -> None:
        """The whole call is known. A new card goes to the end, or in front of block `before`."""
        index = self._preview_ids.pop(call.id, None)
        preview = self._previews.pop(index, None) if index is not None else None
        facts = CallFacts(call.name, call.arguments)
        if preview is None:
            block_id = self._next_id("call")
            self._sink.append(block_id, tool_card(facts), before=before)
        else:
            block_id = preview.block_id
            if facts != preview.facts:
                self._sink.redraw(block_id, partial(tool_card, facts))
        self._open[call.id] = _Call(block_id, facts)

    def started(self, call_id: str, name: str, metadata: ToolMetadata) -> None:
        """Work on the call began; a host-requested call may appear here first."""
        if call_id not in self._open:
            self.proposed(ToolCall.of(call_id, name, {}))
        self._change(call_id, metadata=metadata)

    def updated(self, call_id: str, progress: ToolProgress) -> None:
        """Live output grows the card; anything else replaces its progress line."""
        call = self._open.get(call_id)
        if call is None:
            return
        if progress.output_delta:
            self._show_output(call, progress.output_delta)
        if progress.message or progress.total_units is not None:
            self._change(call_id, progress=_progress_line(progress))

    def _show_output(self, call: _Call, delta: str) -> None:
        """Let the card grow, and now and then draw it anew with what is kept of the output."""
        output = (call.facts.live_output + delta)[-MAX_LIVE_OUTPUT - LOOK_BACK :]
        call.facts = replace(call.facts, live_output=output)
        if 0 < call.shown_output < 2 * MAX_LIVE_OUTPUT:
            call.shown_output += len(delta)
            self._sink.append_text(call.block_id, delta)
        else:
            self._draw(call)

    def awaiting(self, call_id: str, preview: ToolMetadata | None) -> None:
        """The call waits for a person; its preview shows what would happen."""
        if preview is None:
            self._change(call_id, awaiting_approval=True)
        else:
            self._change(call_id, awaiting_approval=True, metadata=preview)

    def decided(self, call_id: str) -> None:
        """A person has decided, or need not any more."""
        self._change(call_id, awaiting_approval=False)

    def replied(
        self, call_id: str, replies: tuple[QuestionReply, ...], *, timeout_reason: str | None
    ) -> None:
        """A form was answered by a person, or by its fallback (`timeout_reason` says why)."""
        call = self._open.get(call_id)
        if call is None:
            return
        rows = [Fact(f"{r.prompt} {', '.join(r.answers) or '(left out)'}") for r in replies]
        if timeout_reason is not None:
            text = f"no answer in time, the fallback was used: {timeout_reason}"
            rows.insert(0, Fact(text, "warning"))
        call.replies += tuple(rows)

    def finished(self, call_id: str, completion: ToolCompletion) -> None:
        """The call has its result."""
        call = self._open.pop(call_id, None)
        if call is None:
            return
        call.facts = replace(call.facts, completion=completion, awaiting_approval=False)
        self._draw(call)

    def interrupt_all(self) -> None:
        """The turn is over: what did not finish was interrupted (APP2.6)."""
        self.discard_previews()
        for call in self._open.values():
            call.facts = replace(call.facts, interrupted=True)
            self._draw(call)
        self._open.clear()

    def discard_previews(self) -> None:
        """The attempt is void: calls that were never proposed go."""
        for preview in self._previews.values():
            self._sink.remove_block(preview.block_id)
        self._previews.clear()
        self._preview_ids.clear()

    def _change(self, call_id: str, **changes: Any) -> None:
        call = self._open.get(call_id)
        if call is not None:
            call.facts = replace(call.facts, **changes)
            self._draw(call)

    def _draw(self, call: _Call) -> None:
        call.shown_output = len(call.facts.live_output)
        self._sink.redraw(call.block_id, partial(_card, call.facts, call.replies))


def _card(facts: CallFacts, replies: tuple[Fact, ...]) -> ToolCard:
    card = tool_card(facts)
    if replies and card.status is CardStatus.OK:
        # the form's own labels say more than the JSON that the model reads
        return ToolCard(card.header, card.status, replies)
    return card


def _progress_line(progress: ToolProgress) -> str:
    if progress.total_units:
        return f"{progress.message} {progress.completed_units or 0}/{progress.total_units}".strip()
    return progress.message


def _partial_object(text: str) -> Mapping[str, Any]:
    """What can be read of a JSON object that is still being written."""
    from pydantic_core import from_json

    try:
        value = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
