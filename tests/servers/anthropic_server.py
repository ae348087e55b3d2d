"""A scripted Anthropic Messages server."""

from __future__ import annotations

import json
from typing import Any

from tests.servers.chat_server import pieces
from tests.servers.model_server import ModelServer
from tests.servers.scenario import Call, Facts, Turn


class AnthropicServer(ModelServer):
    """Answers `POST /v1/messages`; the base URL is the bare address."""

    turn_path = "/v1/messages"

    def facts(self, number: int, body: dict[str, Any]) -> Facts:
        messages = body["messages"]
        results: list[str] = []
        for message in reversed(messages):
            found = [b for b in _blocks(message) if b["type"] == "tool_result"]
            if message["role"] == "user" and not found:
                return Facts(number, len(results), _text(message["content"]), tuple(results))
            results[:0] = [_text(b.get("content", "")) for b in found]
        return Facts(number, len(results), "", tuple(results))

    def complaint(self, body: dict[str, Any]) -> str | None:
        messages = body["messages"]
        if not messages or messages[0]["role"] != "user":
            return "messages: first message must use the user role"
        if messages[-1]["role"] != "user":
            return "messages: the conversation must end with a user message"
        waiting: list[str] = []
        for number, message in enumerate(messages):
            if number and message["role"] == messages[number - 1]["role"]:
                return f"messages.{number}: roles must alternate"
            if problem := _block_problem(message, waiting):
                return f"messages.{number}: {problem}"
            waiting = [b["id"] for b in _blocks(message) if b["type"] == "tool_use"]
        marks = json.dumps(body).count('"cache_control"')
        return f"too many cache_control blocks: {marks}" if marks > 4 else None

    def events(self, turn: Turn, body: dict[str, Any]) -> tuple[list[bytes], list[bytes]]:
        content = [_message_start(body.get("model", "test-model"), turn)]
        content.append(event("ping", {}))
        index = 0
        if turn.reasoning:
            content += _thinking(index, turn)
            index += 1
        if turn.text:
            content += _text_block(index, turn)
            index += 1
        for call in turn.calls:
            content += _tool_use(index, call, turn.argument_chars)
            index += 1
        stop = turn.finish or ("tool_use" if turn.calls else "end_turn")
        output = turn.usage.completion if turn.usage else 0
        delta = {
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": output},
        }
        return content, [event("message_delta", delta), event("message_stop", {})]

    def error_body(self, turn: Turn) -> dict[str, Any]:
        kind = turn.error_code or _ERROR_TYPES.get(turn.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": turn.error}}

    def keep_alive(self) -> bytes:
        return event("ping", {})

    def models(self) -> dict[str, Any]:
        return {"data": [{"id": "test-model", "type": "model"}], "has_more": False}


_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def event(name: str, data: dict[str, Any]) -> bytes:
    """One named server-sent event."""
    text = json.dumps({"type": name, **data}, ensure_ascii=False)
    return f"event: {name}\ndata: {text}\n\n".encode()


def _message_start(model: str, turn: Turn) -> bytes:
    usage = turn.usage
    counts = {
        "input_tokens": usage.prompt - usage.cached - usage.cache_write if usage else 0,
        "cache_creation_input_tokens": usage.cache_write if usage else 0,
        "cache_read_input_tokens": usage.cached if usage else 0,
        "output_tokens": 1,
    }
    message = {
        "id": "msg_test",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": counts,
    }
    return event("message_start", {"message": message})


def _block(index: int, start: dict[str, Any], deltas: list[dict[str, Any]]) -> list[bytes]:
    return [
        event("content_block_start", {"index": index, "content_block": start}),
        *(event("content_block_delta", {"index": index, "delta": delta}) for delta in deltas),
        event("content_block_stop", {"index": index}),
    ]


def _thinking(index: int, turn: Turn) -> list[bytes]:
    start = {"type": "thinking", "thinking": "", "signature": ""}
    deltas = [
        {"type": "thinking_delta", "thinking": piece}
        for piece in pieces(turn.reasoning, turn.chunk_chars)
    ]
    deltas.append({"type": "signature_delta", "signature": turn.signature})
    return _block(index, start, deltas)


def _text_block(index: int, turn: Turn) -> list[bytes]:
    deltas = [{"type": "text_delta", "text": p} for p in pieces(turn.text, turn.chunk_chars)]
    return _block(index, {"type": "text", "text": ""}, deltas)


def _tool_use(index: int, call: Call, size: int) -> list[bytes]:
    start = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces(call.text, size)]
    return _block(index, start, deltas)


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _block_problem(message: dict[str, Any], waiting: list[str]) -> str | None:
    blocks = _blocks(message)
    if not blocks:
        return "content must not be empty"
    results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
    if sorted(results) != sorted(waiting):
        return f"tool_use ids {waiting} need tool_result blocks, found {results}"
    kinds = [b["type"] for b in blocks]
    if results and kinds[: len(results)] != ["tool_result"] * len(results):
        return "tool_result blocks must come first"
    if any(b["type"] == "text" and not b["text"].strip() for b in blocks):
        return "text content blocks must contain non-whitespace text"
    return None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())
