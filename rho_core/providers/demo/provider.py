"""A provider without a network and without a model: it follows rules and calls real tools."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable

from rho_core.history.messages import ContentBlock, ModelIdentity, Text, ToolCall
from rho_core.json_values import canonical_json
from rho_core.providers.contract import (
    ModelProvider,
    ModelRequest,
    ModelResponse,
    OutputDelta,
    ProviderEvents,
    ToolCallDelta,
)
from rho_core.providers.demo.answers import next_reply
from rho_core.providers.demo.conversation import Conversation
from rho_core.providers.demo.reply import Reply

DEMO_IDENTITY = ModelIdentity("demo", "demo", "rules")
SECONDS_PER_WORD = 0.025

_WORD = re.compile(r"\s*\S+\s*?(?=\s|$)|\s+")
_ARGUMENT_CHARACTERS = 24


class DemoProvider(ModelProvider):
    """Answers a handful of plain requests by calling real tools through the real loop.

    Args:
        seconds_per_word: The pace of the streamed text, that of a quick reader; 0 does not wait.
        sleep: How to wait; tests pass their own.
    """

    def __init__(
        self,
        *,
        seconds_per_word: float = SECONDS_PER_WORD,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._pace = seconds_per_word
        self._sleep = sleep

    @property
    def identity(self) -> ModelIdentity:
        """The demo is its own model."""
        return DEMO_IDENTITY

    async def send_turn(self, request: ModelRequest) -> ModelResponse:
        """The whole answer at once."""
        request.cancellation.raise_if_cancelled()
        reply = _reply(request)
        return ModelResponse(_content(reply, _call_ids(reply)))

    async def send_turn_stream(
        self, request: ModelRequest, events: ProviderEvents
    ) -> ModelResponse:
        """The answer at a human pace. Cancelling the request's token ends it at once."""
        return await request.cancellation.race(self._stream(_reply(request), events))

    async def _stream(self, reply: Reply, events: ProviderEvents) -> ModelResponse:
        for piece in _WORD.findall(reply.text):
            await events.send(OutputDelta(piece))
            if self._pace > 0:
                await self._sleep(self._pace)
        ids = _call_ids(reply)
        for index, (call, call_id) in enumerate(zip(reply.calls, ids, strict=True)):
            await events.send(ToolCallDelta(index, call_id, call.name))
            arguments = canonical_json(call.arguments)
            for start in range(0, len(arguments), _ARGUMENT_CHARACTERS):
                fragment = arguments[start : start + _ARGUMENT_CHARACTERS]
                await events.send(ToolCallDelta(index, arguments=fragment))
        return ModelResponse(_content(reply, ids))


def _reply(request: ModelRequest) -> Reply:
    return next_reply(Conversation.of(request.messages, request.tools))


def _call_ids(reply: Reply) -> list[str]:
    return [f"demo_{uuid.uuid4().hex[:16]}" for _ in reply.calls]


def _content(reply: Reply, ids: list[str]) -> tuple[ContentBlock, ...]:
    calls = [
        ToolCall.of(call_id, call.name, call.arguments)
        for call_id, call in zip(ids, reply.calls, strict=True)
    ]
    return (Text(reply.text), *calls)
