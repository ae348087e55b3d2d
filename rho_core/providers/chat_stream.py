"""Reading a Chat Completions stream (case:H3, case:H9, case:H15, case:H20)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.history.messages import ContentBlock
from rho_core.providers.chat_request import REASONING_KIND
from rho_core.providers.chat_tool_calls import ChatToolCalls
from rho_core.providers.contract import (
    AnswerCutOff,
    ModelRequest,
    OutputLimit,
    ProviderContext,
    ServiceTierFallback,
    UsageReported,
)
from rho_core.providers.http_errors import Redactor, error_from_stream
from rho_core.providers.json_fields import count_at, list_at, object_at, text_at
from rho_core.providers.sse import ServerSentEvent
from rho_core.providers.turn_output import EventSink, TurnOutput
from rho_core.usage import ModelUsage

_DONE = "[DONE]"
_LIMITS = {
    "length": OutputLimit.OUTPUT_TOKENS,
    "max_tokens": OutputLimit.OUTPUT_TOKENS,
    "model_length": OutputLimit.CONTEXT_WINDOW,
}
_REASONING_FIELDS = ("reasoning_content", "reasoning")


class ChatStream:
    """One answer being read: feed it event data, then ask for the content.

    A stream counts as complete once a finish reason or `[DONE]` has been seen; anything less is
    an interruption, never an answer.
    """

    def __init__(
        self,
        request: ModelRequest,
        events: EventSink,
        host: str,
        redact: Redactor,
        *,
        keep_reasoning: bool = False,
    ) -> None:
        self._request = request
        self._host = host
        self._redact = redact
        self.output = TurnOutput(events)
        self._calls = ChatToolCalls()
        self._finish_reason = ""
        self._usage: ModelUsage | None = None
        self._tier_told = False
        self._keep_reasoning = keep_reasoning
        self._done = False

    @property
    def complete(self) -> bool:
        """Whether the answer has ended by the protocol's own marks."""
        return self._done or bool(self._finish_reason)

    async def feed(self, event: ServerSentEvent) -> bool:
        """Take an event; True at `[DONE]`. Raises `ProviderError` for an error object in it."""
        if event.data.strip() == _DONE:
            self._done = True
            return True
        try:
            chunk = json.loads(event.data)
        except (ValueError, RecursionError):
            raise ProviderError(
                ProviderErrorKind.INVALID_RESPONSE,
                f"{self._host} sent a stream event that is not JSON",
                retryable=True,
                diagnostic=self._redact(event.data),
            ) from None
        if isinstance(chunk, dict):
            await self._take_chunk(chunk)
        return False

    async def _take_chunk(self, chunk: dict[str, Any]) -> None:
        if chunk.get("error"):
            raise error_from_stream(chunk, host=self._host, redact=self._redact)
        if usage := chunk.get("usage"):
            self._usage = chat_usage(usage) or self._usage
        for choice in list_at(chunk, "choices"):
            # `n` is never asked for: further choices are not ours
            if isinstance(choice, dict) and not choice.get("index"):
                await self._take_choice(choice)
        if not self._tier_told:
            await self._compare_tier(chunk)

    async def report_usage(self, context_window: int | None) -> None:
        """Tell the last usage reading, once. Servers repeat it cumulatively: never add them."""
        usage, self._usage = self._usage, None
        if usage is not None:
            usage = replace(usage, context_window=context_window)
            await self.output.events.send(UsageReported(usage))

    async def finish(self) -> tuple[ContentBlock, ...]:
        """The content of the complete answer. Raises `ProviderError` when it is not usable."""
        if not self.complete:
            raise ProviderError(
                ProviderErrorKind.INTERRUPTED,
                f"{self._host} ended the stream in the middle of the answer",
                retryable=True,
            )
        await self.output.seal_text()
        if self._finish_reason == "content_filter":
            raise ProviderError(
                ProviderErrorKind.OTHER,
                f"{self._host} stopped the answer: its content filter was triggered",
            )
        if self._finish_reason == "error":
            raise ProviderError(
                ProviderErrorKind.UNAVAILABLE,
                f"{self._host} failed while answering",
                retryable=True,
            )
        for delta in self._calls.generated_ids():
            await self.output.events.send_synthesized(delta)
        content = self.output.content(self._calls.finish(self._request.tools))
        if (limit := _LIMITS.get(self._finish_reason)) is not None:
            self._check_length(content)
            await self.output.events.send_synthesized(AnswerCutOff(limit))
        if self._keep_reasoning and self.output.reasoning:
            thoughts = "".join(self.output.reasoning)
            await self.output.events.send_synthesized(ProviderContext(REASONING_KIND, thoughts))
        return content

    def _check_length(self, content: tuple[ContentBlock, ...]) -> None:
        # repeating the same request would run into the same limit
        if (name := self._calls.cut_off) is not None:
            where = f"in the middle of a call of {name or 'a tool'}"
        elif not content:
            where = "before any answer, while reasoning"
        else:
            return
        raise ProviderError(
            ProviderErrorKind.INVALID_RESPONSE,
            f"{self._host} reached its output limit {where}",
        )

    async def _take_choice(self, choice: dict[str, Any]) -> None:
        # a server that ignores `stream` answers with `message` in place of `delta`
        delta = object_at(choice, "delta") or object_at(choice, "message")
        for name in _REASONING_FIELDS:
            if thought := text_at(delta, name):
                await self.output.thought(thought)
                break
        if text := text_at(delta, "content") or text_at(delta, "refusal"):
            await self.output.text(text)
        for part in list_at(delta, "content"):
            await self._take_part(part)
        if delta.get("tool_calls"):
            for fragment in list_at(delta, "tool_calls"):
                await self._take_call(fragment)
        if delta.get("function_call"):
            await self._take_call({"index": 0, "function": delta["function_call"]})
        if reason := text_at(choice, "finish_reason"):
            self._finish_reason = reason

    async def _take_part(self, part: Any) -> None:
        """Some servers send content as typed parts, thoughts among them."""
        await self.output.text(text_at(part, "text"))
        await self.output.thought(text_at(part, "thinking"))
        for thought in list_at(part, "thinking"):
            await self.output.thought(text_at(thought, "text"))

    async def _take_call(self, fragment: Any) -> None:
        taken = self._calls.feed(fragment)
        if taken is None:
            return
        delta, began = taken
        if began:
            await self.output.begin_call(delta.index)
        await self.output.events.send(delta)

    async def _compare_tier(self, chunk: dict[str, Any]) -> None:
        asked, used = self._request.service_tier, text_at(chunk, "service_tier")
        if asked is None or not used:
            return
        self._tier_told = True
        if used not in (asked.value, "auto"):
            await self.output.events.send(ServiceTierFallback(asked.value, used))


def chat_usage(value: object) -> ModelUsage | None:
    """A `usage` object; None when it holds no number (case:H20)."""
    prompt = count_at(value, "prompt_tokens")
    cached = count_at(object_at(value, "prompt_tokens_details"), "cached_tokens")
    written = count_at(object_at(value, "prompt_tokens_details"), "cache_write_tokens")
    if cached is None:
        cached = count_at(value, "prompt_cache_hit_tokens")
    usage = ModelUsage.from_inclusive_prompt(
        prompt,
        count_at(value, "completion_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        total_tokens=count_at(value, "total_tokens"),
    )
    cost = value.get("cost") if isinstance(value, dict) else None
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9:
        usage = replace(usage, cost_usd_micros=round(cost * 1_000_000))
    return None if usage.is_empty else usage
