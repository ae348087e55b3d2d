"""Reading an Anthropic Messages stream (case:H3, case:H9, case:H15, case:H16)."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.history.messages import ContentBlock, ToolCall
from rho_core.json_values import canonical_json, freeze
from rho_core.providers.anthropic_request import THINKING_KIND
from rho_core.providers.contract import (
    AnswerCutOff,
    HostedToolActivity,
    ModelRequest,
    OutputLimit,
    ProviderContext,
    ServiceTierFallback,
    ToolCallDelta,
    UsageReported,
)
from rho_core.providers.http_errors import Redactor, error_from_stream
from rho_core.providers.json_fields import count_at, list_at, object_at, text_at
from rho_core.providers.sse import ServerSentEvent
from rho_core.providers.tool_arguments import finished_call
from rho_core.providers.turn_output import EventSink, TurnOutput
from rho_core.usage import ModelUsage

_LIMITS = {
    "max_tokens": OutputLimit.OUTPUT_TOKENS,
    "model_context_window_exceeded": OutputLimit.CONTEXT_WINDOW,
}
_USAGE_FIELDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


@dataclass(slots=True)
class _Block:
    """A content block that is being streamed."""

    kind: str
    start: dict[str, Any]
    call_number: int = -1
    call_id: str = ""
    pieces: list[str] = field(default_factory=list)  # thinking, or tool input JSON
    signature: list[str] = field(default_factory=list)


class AnthropicStream:
    """One answer being read; complete once a stop reason or `message_stop` has been seen."""

    def __init__(
        self, request: ModelRequest, events: EventSink, host: str, redact: Redactor
    ) -> None:
        self._request = request
        self._host = host
        self._redact = redact
        self._output = TurnOutput(events)
        self._blocks: dict[int, _Block] = {}
        self._calls: dict[int, ToolCall] = {}
        self._call_count = 0
        self._open_call = ""
        self._stop_reason = ""
        self._stopped = False
        self._usage: dict[str, int] = {}

    @property
    def complete(self) -> bool:
        """Whether the answer has ended by the protocol's own marks."""
        return self._stopped or bool(self._stop_reason)

    async def feed(self, event: ServerSentEvent) -> bool:
        """Take an event; True at `message_stop`. Raises `ProviderError` for an error event."""
        try:
            data = json.loads(event.data)
        except (ValueError, RecursionError):
            raise ProviderError(
                ProviderErrorKind.INVALID_RESPONSE,
                f"{self._host} sent a stream event that is not JSON",
                retryable=True,
                diagnostic=self._redact(event.data),
            ) from None
        match text_at(data, "type"):
            case "content_block_delta":
                await self._delta(count_at(data, "index") or 0, object_at(data, "delta"))
            case "content_block_start":
                await self._start(count_at(data, "index") or 0, object_at(data, "content_block"))
            case "content_block_stop":
                await self._stop(count_at(data, "index") or 0)
            case "message_start":
                await self._take_usage(object_at(object_at(data, "message"), "usage"))
            case "message_delta":
                await self._take_usage(object_at(data, "usage"))
                self._stop_reason = (
                    text_at(object_at(data, "delta"), "stop_reason") or self._stop_reason
                )
            case "message_stop":
                self._stopped = True
            case "error":
                raise error_from_stream(data, host=self._host, redact=self._redact)
            case "message":
                await self._whole_message(data)
            case _:
                pass  # pings, and events of later versions
        return self._stopped

    async def report_usage(self, context_window: int | None) -> None:
        """Tell the usage, once; the readings of a stream are cumulative and replace each other."""
        if not self._usage:
            return
        usage = _usage_of(self._usage)
        self._usage = {}
        await self._output.events.send(UsageReported(replace(usage, context_window=context_window)))

    async def finish(self) -> tuple[ContentBlock, ...]:
        """The content of the complete answer. Raises `ProviderError` when it is not usable."""
        if not self.complete:
            raise ProviderError(
                ProviderErrorKind.INTERRUPTED,
                f"{self._host} ended the stream in the middle of the answer",
                retryable=True,
            )
        if self._stop_reason == "refusal":
            raise ProviderError(
                ProviderErrorKind.OTHER, f"{self._host}: the model declined to answer this request"
            )
        limit = _LIMITS.get(self._stop_reason)
        if limit is not None and self._open_call:
            self._refuse_cut_off(f"in the middle of a call of {self._open_call}")
        for index in sorted(self._blocks):
            await self._stop(index)
        await self._output.seal_text()
        content = self._output.content(self._calls)
        if limit is not None:
            if not content:
                self._refuse_cut_off("before any answer, while thinking")
            await self._output.events.send_synthesized(AnswerCutOff(limit))
        return content

    def _refuse_cut_off(self, where: str) -> None:
        # repeating the same request would run into the same limit
        overflow = _LIMITS[self._stop_reason] is OutputLimit.CONTEXT_WINDOW
        raise ProviderError(
            ProviderErrorKind.CONTEXT_OVERFLOW if overflow else ProviderErrorKind.INVALID_RESPONSE,
            f"{self._host} reached its output limit {where}",
        )

    async def _start(self, index: int, start: dict[str, Any]) -> None:
        block = _Block(text_at(start, "type"), start)
        self._blocks[index] = block
        match block.kind:
            case "text":
                await self._output.seal_text()
                await self._output.text(text_at(start, "text"))
            case "thinking":
                await self._output.seal_text()
                await self._think(block, text_at(start, "thinking"))
                block.signature.append(text_at(start, "signature"))
            case "redacted_thinking":
                await self._output.seal_text()
            case "tool_use":
                await self._start_call(block)
            case "server_tool_use":
                await self._output.events.send(HostedToolActivity(text_at(start, "name"), ""))
            case _:
                pass  # results of hosted tools are the provider's own affair

    async def _start_call(self, block: _Block) -> None:
        block.call_number = self._call_count
        self._call_count += 1
        # other servers behind this API leave ids out
        block.call_id = text_at(block.start, "id") or f"toolu_{uuid.uuid4().hex[:24]}"
        name = text_at(block.start, "name")
        self._open_call = name or "a tool"
        await self._output.begin_call(block.call_number)
        delta = ToolCallDelta(block.call_number, block.call_id, name or None)
        await self._output.events.send(delta)

    async def _delta(self, index: int, delta: dict[str, Any]) -> None:
        match delta.get("type"):
            case "text_delta":
                await self._output.text(text_at(delta, "text"))
            case "input_json_delta":
                block = self._blocks.get(index)
                piece = text_at(delta, "partial_json")
                if block is not None and block.kind == "tool_use" and piece:
                    block.pieces.append(piece)
                    event = ToolCallDelta(block.call_number, arguments=piece)
                    await self._output.events.send(event)
            case "thinking_delta":
                if (block := self._blocks.get(index)) is not None:
                    await self._think(block, text_at(delta, "thinking"))
            case "signature_delta":
                if (block := self._blocks.get(index)) is not None:
                    block.signature.append(text_at(delta, "signature"))
            case _:
                pass

    async def _think(self, block: _Block, piece: str) -> None:
        if piece:
            block.pieces.append(piece)
            await self._output.thought(piece)

    async def _stop(self, index: int) -> None:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        if block.kind == "tool_use":
            await self._finish_call(block)
        elif block.kind == "thinking" and any(block.signature):
            # an unsigned thought cannot be replayed; a signed one goes back even when empty
            await self._keep(
                {
                    "type": "thinking",
                    "thinking": "".join(block.pieces),
                    "signature": "".join(block.signature),
                }
            )
        elif block.kind == "redacted_thinking":
            await self._keep({"type": "redacted_thinking", "data": text_at(block.start, "data")})

    async def _finish_call(self, block: _Block) -> None:
        text = "".join(block.pieces)
        whole = block.start.get("input")
        if not text and whole:
            # some servers give the complete input at the start of the block
            text = canonical_json(whole)
            event = ToolCallDelta(block.call_number, arguments=text)
            await self._output.events.send(event)
        name = text_at(block.start, "name")
        call = finished_call(block.call_id, name, text, self._request.tools)
        self._calls[block.call_number] = call
        self._open_call = ""

    async def _keep(self, data: dict[str, str]) -> None:
        try:
            frozen = freeze(data)
        except ValueError:
            return  # half a surrogate pair: changed bytes would be refused, so none go back
        context = ProviderContext(THINKING_KIND, frozen, position=self._output.position)
        await self._output.events.send(context)

    async def _take_usage(self, usage: dict[str, Any]) -> None:
        for name in _USAGE_FIELDS:
            if (count := count_at(usage, name)) is not None:
                self._usage[name] = count
        used, asked = text_at(usage, "service_tier"), self._request.service_tier
        if asked is not None and used and used != asked.value:
            await self._output.events.send(ServiceTierFallback(asked.value, used))

    async def _whole_message(self, data: Any) -> None:
        """A server that ignored `stream` and answered with the finished message."""
        await self._take_usage(object_at(data, "usage"))
        for index, block in enumerate(list_at(data, "content")):
            if isinstance(block, dict):
                await self._start(index, block)
                await self._stop(index)
        self._stop_reason = text_at(data, "stop_reason")
        self._stopped = True


def _usage_of(counts: dict[str, int]) -> ModelUsage:
    return ModelUsage(
        input_tokens=counts.get("input_tokens"),
        output_tokens=counts.get("output_tokens"),
        cache_read_tokens=counts.get("cache_read_input_tokens"),
        cache_write_tokens=counts.get("cache_creation_input_tokens"),
        total_tokens=sum(counts.values()),
    )
