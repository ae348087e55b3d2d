"""Feeding one Chat Completions answer to the adapter, and shapes that no SDK type allows."""

from __future__ import annotations

import json
from typing import Any

from rho_core.history.messages import ToolCall
from rho_core.providers.contract import ModelRequest
from tests.providers.harness import Outcome, chat, request_of, run_turn
from tests.providers.sdk_wire import CHAT_DONE, chat_chunk
from tests.servers import ChatServer, Turn

END = chat_chunk({}, "stop") + CHAT_DONE
CALLS_END = chat_chunk({}, "tool_calls") + CHAT_DONE


async def stream(raw: bytes, request: ModelRequest | None = None, **options: Any) -> Outcome:
    turn = options.pop("turn", Turn(raw=raw))
    async with ChatServer(turn) as server, chat(server, **options) as provider:
        return await run_turn(provider, request or request_of())


def fragment(index: int | None, **fields: Any) -> bytes:
    """A tool call fragment as loose JSON, for the shapes that no SDK type allows."""
    entry: dict[str, Any] = {} if index is None else {"index": index}
    if "id" in fields:
        entry["id"] = fields.pop("id")
    entry["function"] = fields
    return loose_event({"choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]})


def loose_event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def calls_in(outcome: Outcome) -> list[tuple[str, dict[str, Any]]]:
    assert outcome.response is not None, outcome.error
    return [(c.name, c.arguments) for c in outcome.response.content if isinstance(c, ToolCall)]
