"""Judging request bodies by the vendors' own parameter types."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from anthropic.types import message_create_params
from openai.types.chat import completion_create_params
from pydantic import TypeAdapter

_CHAT: TypeAdapter[Any] = TypeAdapter(completion_create_params.CompletionCreateParamsStreaming)
_MESSAGES: TypeAdapter[Any] = TypeAdapter(message_create_params.MessageCreateParamsStreaming)


def accepted_chat_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body as plain JSON, if the OpenAI type describes all of it."""
    return _accepted(_CHAT, body)


def accepted_messages_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body as plain JSON, if the Anthropic type describes all of it."""
    return _accepted(_MESSAGES, body)


def _accepted(adapter: TypeAdapter[Any], body: Mapping[str, Any]) -> dict[str, Any]:
    plain = json.loads(json.dumps(body))
    # unknown keys are dropped by validation and arrays are validated while they are read,
    # so only the comparison after reading all of it proves anything
    assert _read(adapter.validate_python(plain)) == plain
    return dict(plain)


def _read(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _read(item) for key, item in value.items()}
    if isinstance(value, list | tuple | Iterator):
        return [_read(item) for item in value]
    return value
