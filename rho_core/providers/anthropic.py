"""Anthropic Messages (9.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rho_core.history.messages import ModelIdentity
from rho_core.providers.anthropic_models import ThinkingStyle, anthropic_model
from rho_core.providers.anthropic_request import (
    anthropic_messages,
    anthropic_replay,
    anthropic_system,
    anthropic_tools,
    ends_inside_unsigned_tool_turn,
)
from rho_core.providers.anthropic_stream import AnthropicStream
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

ANTHROPIC_BASE_URL = "https://api.anthropic.com"
MESSAGES_API = "messages"
API_VERSION = "2023-06-01"

_MIN_BUDGET = 1_024
_BUDGETS = {
    ReasoningLevel.MINIMAL: _MIN_BUDGET,
    ReasoningLevel.LOW: 2_048,
    ReasoningLevel.MEDIUM: 8_192,
    ReasoningLevel.HIGH: 16_384,
    ReasoningLevel.XHIGH: 24_576,
    ReasoningLevel.MAX: 32_768,
}
_MIN_ANSWER = 1_024


class AnthropicProvider(HttpProvider):
    """A model behind the Messages API.

    Args:
        base_url: With or without the trailing `/v1`.
        api_key: Sent as `x-api-key`; None for servers without keys.
        model: The model's name on the wire.
        name: The provider part of the identity.
        headers: Further headers; their values are treated as secrets.
        context_window: Tokens the model can hold, reported with the usage.
        max_output_tokens: `max_tokens` of each request; by default what the model's name tells.
        thinking_style: How to ask for thinking; by default what the model's name tells.
        connect_timeout: Seconds to reach the server.
        idle_timeout: Seconds without a meaningful payload (pings do not count) before a turn fails.

    Raises:
        InvalidConfiguration: The URL or the key cannot be used.
    """

    optional_fields = ("output_config", "thinking", "service_tier")

    def __init__(
        self,
        base_url: str,
        api_key: SecretLike | str | None,
        model: str,
        *,
        name: str = "anthropic",
        headers: Mapping[str, str] | None = None,
        context_window: int | None = None,
        max_output_tokens: int | None = None,
        thinking_style: ThinkingStyle | None = None,
        connect_timeout: float = CONNECT_TIMEOUT_SECONDS,
        idle_timeout: float = IDLE_TIMEOUT_SECONDS,
    ) -> None:
        key = secret_text(api_key)
        sent = {"anthropic-version": API_VERSION, **(headers or {})}
        secrets = tuple((headers or {}).values())
        if key is not None:
            sent["x-api-key"] = key
            secrets += (key,)
        transport = HttpTransport(
            base_url,
            sent,
            secrets=secrets,
            connect_timeout=connect_timeout,
            idle_timeout=idle_timeout,
        )
        super().__init__(transport, ModelIdentity(name, MESSAGES_API, model), context_window)
        self.path = "/messages" if transport.base_url.endswith("/v1") else "/v1/messages"
        known = anthropic_model(model)
        self._max_tokens = max_output_tokens or known.max_tokens
        self._style = thinking_style or known.thinking
        self._replay = anthropic_replay(self._identity)

    def request_body(self, request: ModelRequest) -> dict[str, Any]:
        """The JSON body of a turn."""
        messages = anthropic_messages(request, self._replay)
        body: dict[str, Any] = {
            "model": self._identity.model,
            "max_tokens": self._max_tokens,
            "messages": messages,
            "stream": True,
        }
        if system := anthropic_system(request):
            body["system"] = system
        if request.tools:
            body["tools"] = anthropic_tools(request.tools)
        body.update(self._thinking(request.reasoning, messages))
        if request.service_tier is not None:
            body["service_tier"] = "auto"  # priority capacity where the account has it
        return body

    def new_reader(self, request: ModelRequest, events: EventSink) -> AnthropicStream:
        """A reader for one answer."""
        return AnthropicStream(request, events, self._transport.host, self._transport.redact)

    def _thinking(self, level: ReasoningLevel, messages: list[dict[str, Any]]) -> dict[str, Any]:
        if self._style is ThinkingStyle.NONE:
            return {}
        if self._style is ThinkingStyle.ADAPTIVE:
            if level is ReasoningLevel.OFF:
                return {"thinking": {"type": "disabled"}}
            effort = "low" if level is ReasoningLevel.MINIMAL else level.value
            thinking = {"type": "adaptive", "display": "summarized"}
            return {"thinking": thinking, "output_config": {"effort": effort}}
        if level is ReasoningLevel.OFF or ends_inside_unsigned_tool_turn(messages):
            return {}
        budget = min(_BUDGETS[level], self._max_tokens - _MIN_ANSWER)
        if budget < _MIN_BUDGET:
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
