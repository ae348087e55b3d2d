"""Driving a provider as the loop does, and keeping everything it sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from rho_core.channels import Channel, ChannelClosed
from rho_core.errors import ProviderError
from rho_core.history.messages import Message, UserMessage
from rho_core.json_values import freeze
from rho_core.providers.anthropic import AnthropicProvider
from rho_core.providers.contract import (
    PROVIDER_EVENT_CAPACITY,
    ModelEvent,
    ModelProvider,
    ModelRequest,
    ModelResponse,
    ObservedEvent,
    OutputDelta,
    ProviderEvents,
    ReasoningDelta,
    ToolSpec,
    UsageReported,
)
from rho_core.providers.openai_chat import OpenAIChatProvider
from tests.servers import ModelServer

KEY = "plain.secret.value.0123"  # of no known shape: only knowing it can redact it
HELLO: tuple[Message, ...] = (UserMessage.of_text("hello"),)


class Outcome:
    """The response or the error of a turn, and the events before it."""

    def __init__(self) -> None:
        self.observed: list[ObservedEvent] = []
        self.response: ModelResponse | None = None
        self.error: ProviderError | None = None

    @property
    def events(self) -> list[ModelEvent]:
        return [item.event for item in self.observed]

    @property
    def text(self) -> str:
        return "".join(e.text for e in self.events if isinstance(e, OutputDelta))

    @property
    def reasoning(self) -> str:
        return "".join(e.text for e in self.events if isinstance(e, ReasoningDelta))

    @property
    def usages(self) -> list[Any]:
        return [e.usage for e in self.events if isinstance(e, UsageReported)]

    def of(self, kind: type) -> list[Any]:
        return [e for e in self.events if isinstance(e, kind)]


async def run_turn(provider: ModelProvider, request: ModelRequest) -> Outcome:
    """Stream one turn through a channel of the real capacity."""
    channel: Channel[ObservedEvent] = Channel(PROVIDER_EVENT_CAPACITY)
    outcome = Outcome()

    async def collect() -> None:
        try:
            while True:
                outcome.observed.append(await channel.receive())
        except ChannelClosed:
            return

    collecting = asyncio.create_task(collect())
    try:
        outcome.response = await provider.send_turn_stream(request, ProviderEvents(channel))
    except ProviderError as error:
        outcome.error = error
    finally:
        channel.close()
        await collecting
    return outcome


@asynccontextmanager
async def chat(server: ModelServer, **options: Any) -> AsyncIterator[OpenAIChatProvider]:
    model = options.pop("model", "test-model")
    provider = OpenAIChatProvider(server.base_url, KEY, model, **options)
    try:
        yield provider
    finally:
        await provider.aclose()


@asynccontextmanager
async def anthropic(server: ModelServer, **options: Any) -> AsyncIterator[AnthropicProvider]:
    model = options.pop("model", "claude-sonnet-4-5")
    provider = AnthropicProvider(server.base_url, KEY, model, **options)
    try:
        yield provider
    finally:
        await provider.aclose()


async def ask(server: ModelServer, provider: Any, request: ModelRequest) -> Outcome:
    return await run_turn(provider, request)


def spec(name: str, *required: str, **properties: str) -> ToolSpec:
    """A tool with string properties; the required ones are named first."""
    names = {**dict.fromkeys(required, "string"), **properties}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in names.items()},
        "additionalProperties": False,
    }
    if required:
        schema["required"] = list(required)
    return ToolSpec(name, f"The tool {name}.", freeze(schema))


def request_of(messages: Sequence[Message] = HELLO, **options: Any) -> ModelRequest:
    return ModelRequest(tuple(messages), **options)
