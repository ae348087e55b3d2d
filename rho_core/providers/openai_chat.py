"""OpenAI Chat Completions, and the many servers that speak it (9.2, 9.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from rho_core.history.messages import ModelIdentity
from rho_core.providers.chat_request import chat_messages, chat_replay, chat_tools
from rho_core.providers.chat_stream import ChatStream
from rho_core.providers.contract import ModelRequest
from rho_core.providers.http_provider import HttpProvider
from rho_core.providers.http_transport import (
    CONNECT_TIMEOUT_SECONDS,
    IDLE_TIMEOUT_SECONDS,
    HttpTransport,
    SecretLike,
    secret_text,
)
from rho_core.providers.turn_output import EventSink
from rho_core.reasoning import ReasoningLevel

OPENAI_BASE_URL = "https://api.openai.com/v1"
CHAT_API = "chat_completions"

_REASONING_MODEL = re.compile(r"(^|/)(o\d|gpt-[5-9]|gpt-oss|.*codex)", re.IGNORECASE)
_DEFAULT_LEVELS = (
    ReasoningLevel.MINIMAL,
    ReasoningLevel.LOW,
    ReasoningLevel.MEDIUM,
    ReasoningLevel.HIGH,
)


class ReasoningStyle(StrEnum):
    """How a reasoning level is put into the request."""

    AUTO = "auto"
    NONE = "none"
    EFFORT = "effort"
    OPENROUTER = "openrouter"


class OpenAIChatProvider(HttpProvider):
    """A model behind a Chat Completions API.

    Args:
        base_url: Up to and including the version, such as `http://127.0.0.1:8080/v1`.
        api_key: Sent as a bearer token; None for servers without keys.
        model: The model's name on the wire.
        name: The provider part of the identity.
        headers: Further headers; their values are treated as secrets.
        context_window: Tokens the model can hold, reported with the usage.
        reasoning_style: How to ask for reasoning; AUTO decides by model and host.
        reasoning_levels: What the model supports; others are moved to the nearest (B47).
        replay_reasoning: Send `reasoning_content` back with assistant turns. Some servers demand
            it and others refuse it (case:H17).
        connect_timeout: Seconds to reach the server.
        idle_timeout: Seconds without a meaningful payload before a turn fails.

    Raises:
        InvalidConfiguration: The URL or the key cannot be used.
    """

    path = "/chat/completions"
    optional_fields = (
        "stream_options",
        "reasoning_effort",
        "reasoning",
        "prompt_cache_key",
        "service_tier",
    )

    def __init__(
        self,
        base_url: str,
        api_key: SecretLike | str | None,
        model: str,
        *,
        name: str = "openai",
        headers: Mapping[str, str] | None = None,
        context_window: int | None = None,
        reasoning_style: ReasoningStyle = ReasoningStyle.AUTO,
        reasoning_levels: Sequence[ReasoningLevel] = _DEFAULT_LEVELS,
        replay_reasoning: bool = False,
        connect_timeout: float = CONNECT_TIMEOUT_SECONDS,
        idle_timeout: float = IDLE_TIMEOUT_SECONDS,
    ) -> None:
        key = secret_text(api_key)
        sent = dict(headers or {})
        secrets = tuple(sent.values())
        if key is not None:
            sent["authorization"] = f"Bearer {key}"
            secrets += (key,)
        transport = HttpTransport(
            base_url,
            sent,
            secrets=secrets,
            connect_timeout=connect_timeout,
            idle_timeout=idle_timeout,
        )
        super().__init__(transport, ModelIdentity(name, CHAT_API, model), context_window)
        self._levels = tuple(reasoning_levels)
        self._style = _resolve_style(reasoning_style, model, transport.host)
        self._replay_reasoning = replay_reasoning
        self._replay = chat_replay(self._identity, replay_reasoning=replay_reasoning)

    def request_body(self, request: ModelRequest) -> dict[str, Any]:
        """The JSON body of a turn."""
        body: dict[str, Any] = {
            "model": self._identity.model,
            "messages": chat_messages(request, self._replay),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = chat_tools(request.tools)
        effort = self._effort(request.reasoning)
        if effort is not None and self._style is ReasoningStyle.EFFORT:
            body["reasoning_effort"] = effort
        elif effort is not None and self._style is ReasoningStyle.OPENROUTER:
            body["reasoning"] = {"effort": effort}
        if request.prompt_cache_key is not None:
            body["prompt_cache_key"] = request.prompt_cache_key
        if request.service_tier is not None:
            body["service_tier"] = request.service_tier.value
        return body

    def new_reader(self, request: ModelRequest, events: EventSink) -> ChatStream:
        """A reader for one answer."""
        return ChatStream(
            request,
            events,
            self._transport.host,
            self._transport.redact,
            keep_reasoning=self._replay_reasoning,
        )

    def _effort(self, level: ReasoningLevel) -> str | None:
        if level is ReasoningLevel.OFF:
            return "none" if ReasoningLevel.OFF in self._levels else None
        return level.normalize(self._levels).effort


def _resolve_style(style: ReasoningStyle, model: str, host: str) -> ReasoningStyle:
    if style is not ReasoningStyle.AUTO:
        return style
    if host == "openrouter.ai":
        return ReasoningStyle.OPENROUTER
    return ReasoningStyle.EFFORT if _REASONING_MODEL.search(model) else ReasoningStyle.NONE
