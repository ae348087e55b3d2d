"""A scripted Chat Completions server."""

from __future__ import annotations

import json
from typing import Any

from tests.servers.model_server import ModelServer
from tests.servers.scenario import Call, Facts, Turn


class ChatServer(ModelServer):
    """Answers `POST /v1/chat/completions`; the base URL ends in `/v1`."""

    base_path = "/v1"
    turn_path = "/chat/completions"

    def facts(self, number: int, body: dict[str, Any]) -> Facts:
        messages = body["messages"]
        users = [i for i, m in enumerate(messages) if m["role"] == "user"]
        since = messages[users[-1] + 1 :] if users else messages
        results = [m["content"] for m in since if m["role"] == "tool"]
        last_user = _text(messages[users[-1]]["content"]) if users else ""
        return Facts(number, len(results), last_user, tuple(map(_text, results)))

    def complaint(self, body: dict[str, Any]) -> str | None:
        waiting: list[str] = []
        for message in body["messages"]:
            if message["role"] == "tool":
                if message["tool_call_id"] not in waiting:
                    return f"tool result {message['tool_call_id']} answers no preceding call"
                waiting.remove(message["tool_call_id"])
                continue
            if waiting:
                return f"tool calls without results: {waiting}"
            calls = message.get("tool_calls") or []
            for call in calls:
                if not isinstance(_parsed(call["function"]["arguments"]), dict):
                    return f"arguments of {call['id']} are not a JSON object"
            waiting = [call["id"] for call in calls]
            if not calls and message.get("content") is None:
                return "a message has neither content nor tool calls"
        return f"tool calls without results: {waiting}" if waiting else None

    def events(self, turn: Turn, body: dict[str, Any]) -> tuple[list[bytes], list[bytes]]:
        model = body.get("model", "test-model")
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": p} for p in pieces(turn.reasoning, turn.chunk_chars)]
        deltas += [{"content": p} for p in pieces(turn.text, turn.chunk_chars)]
        deltas += call_deltas(turn)
        content = [chunk(model, delta) for delta in deltas]
        finish = turn.finish or ("tool_calls" if turn.calls else "stop")
        ending = [chunk(model, {}, finish)]
        if turn.usage is not None and (body.get("stream_options") or {}).get("include_usage"):
            ending.append(usage_chunk(model, turn))
        return content, [*ending, b"data: [DONE]\n\n"]

    def error_body(self, turn: Turn) -> dict[str, Any]:
        return {"error": {"message": turn.error, "type": turn.error_code, "code": turn.error_code}}

    def keep_alive(self) -> bytes:
        return b": keep-alive\n\n"

    def models(self) -> dict[str, Any]:
        return {"object": "list", "data": [{"id": "test-model", "object": "model"}]}


def pieces(text: str, size: int) -> list[str]:
    """`text` in parts of `size` characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def call_deltas(turn: Turn) -> list[dict[str, Any]]:
    """The deltas of the tool calls: first id and name, then the arguments in fragments."""
    streams = [_call_stream(i, call, turn.argument_chars) for i, call in enumerate(turn.calls)]
    if not turn.interleave_calls:
        return [delta for stream in streams for delta in stream]
    longest = max((len(stream) for stream in streams), default=0)
    return [stream[n] for n in range(longest) for stream in streams if n < len(stream)]


def _call_stream(index: int, call: Call, size: int) -> list[dict[str, Any]]:
    function = {"name": call.name, "arguments": ""}
    first = {"index": index, "id": call.id, "type": "function", "function": function}
    rest = [{"index": index, "function": {"arguments": p}} for p in pieces(call.text, size)]
    return [{"tool_calls": [entry]} for entry in (first, *rest)]


def chunk(model: str, delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One `chat.completion.chunk` event."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event({**_head(model), "choices": [choice], "usage": None})


def usage_chunk(model: str, turn: Turn) -> bytes:
    """The last chunk: usage, and no choices."""
    assert turn.usage is not None
    usage = turn.usage
    body = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
    return _event({**_head(model), "choices": [], "usage": body})


def _head(model: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": model,
    }


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
