"""Streams as bytes that the vendors' own SDK types produce."""

from __future__ import annotations

from typing import Any

from anthropic import types as anthropic_types
from openai.types.chat import ChatCompletionChunk
from pydantic import TypeAdapter


def chat_chunk(delta: dict[str, Any], finish: str | None = None, **top: Any) -> bytes:
    """One Chat Completions chunk as an event."""
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return chat_event(choices, **top)


def chat_event(choices: list[dict[str, Any]], **top: Any) -> bytes:
    value = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "test-model",
        "choices": choices,
        **top,
    }
    chunk = ChatCompletionChunk.model_validate(value)
    return f"data: {chunk.model_dump_json(exclude_unset=True)}\n\n".encode()


CHAT_DONE = b"data: [DONE]\n\n"

_RAW_EVENT: TypeAdapter[Any] = TypeAdapter(anthropic_types.RawMessageStreamEvent)


def messages_event(kind: str, **fields: Any) -> bytes:
    """One Messages stream event, validated and dumped by the SDK's union of event types."""
    event = _RAW_EVENT.validate_python({"type": kind, **fields})
    return f"event: {kind}\ndata: {event.model_dump_json(exclude_unset=True)}\n\n".encode()


def message_start(**usage: int) -> bytes:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1, **usage},
    }
    return messages_event("message_start", message=message)


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    """A whole content block."""
    return b"".join(
        [
            messages_event("content_block_start", index=index, content_block=start),
            *(messages_event("content_block_delta", index=index, delta=d) for d in deltas),
            messages_event("content_block_stop", index=index),
        ]
    )


def text_block(index: int, *pieces: str) -> bytes:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def thinking_block(index: int, signature: str, *pieces: str) -> bytes:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    deltas.append({"type": "signature_delta", "signature": signature})
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas)


def tool_block(index: int, call_id: str, name: str, *pieces: str) -> bytes:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    start = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return block(index, start, *deltas)


def message_end(stop_reason: str, output_tokens: int = 20) -> bytes:
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    end = messages_event("message_delta", delta=delta, usage={"output_tokens": output_tokens})
    return end + messages_event("message_stop")
