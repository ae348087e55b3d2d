"""History as a Chat Completions request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rho_core.history.messages import (
    ContentBlock,
    Image,
    ModelIdentity,
    Text,
    text_of,
    tool_calls_of,
)
from rho_core.identity_memo import IdentityMemo
from rho_core.json_values import canonical_json
from rho_core.providers.contract import ModelRequest, ToolSpec
from rho_core.providers.replay import (
    AssistantTurn,
    Replay,
    Turn,
    UserTurn,
    system_text,
    wire_tool_name,
)
from rho_core.providers.wire_json import WireList, WirePart

REASONING_KIND = "openai.reasoning_content.v1"

_tools: IdentityMemo[ToolSpec, WirePart] = IdentityMemo()


def chat_replay(identity: ModelIdentity, *, replay_reasoning: bool) -> Replay[list[WirePart]]:
    """Renders history for one model: the messages of each turn."""

    def render(turn: Turn) -> list[WirePart]:
        if isinstance(turn, UserTurn):
            return [WirePart(role="user", content=_user_content(turn.content))]
        return _assistant_messages(turn, replay_reasoning)

    return Replay(identity, render)


def chat_messages(
    request: ModelRequest, replay: Replay[list[WirePart]]
) -> WireList[dict[str, Any]]:
    """The `messages` array: every tool call is followed by its result."""
    messages: WireList[dict[str, Any]] = WireList()
    if system := system_text(request.messages):
        messages.append({"role": "system", "content": system})
    for turn in replay(request.messages):
        messages += turn
    return messages


def chat_tools(tools: Sequence[ToolSpec]) -> WireList[WirePart]:
    """The `tools` array."""
    return WireList(_tools.once(spec, _tool) for spec in tools)


def _tool(spec: ToolSpec) -> WirePart:
    function = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.input_schema,
    }
    return WirePart(type="function", function=function)


def _user_content(content: Sequence[ContentBlock]) -> str | list[dict[str, Any]]:
    if not any(isinstance(block, Image) for block in content):
        # plain text is what every local server understands
        return "\n\n".join(block.text for block in content if isinstance(block, Text))
    parts: list[dict[str, Any]] = []
    for block in content:
        if isinstance(block, Text) and block.text:
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, Image):
            url = f"data:{block.mime_type};base64,{block.data}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts


def _assistant_messages(turn: AssistantTurn, replay_reasoning: bool) -> list[WirePart]:
    calls = tool_calls_of(turn.content)
    text = text_of(turn.content)
    if not calls and not text:
        return []
    message = WirePart(role="assistant", content=text or None)
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": wire_tool_name(call.name),
                    "arguments": canonical_json(call.arguments),
                },
            }
            for call in calls
        ]
    if replay_reasoning:
        message["reasoning_content"] = "".join(
            str(block.data) for block in turn.context if block.kind == REASONING_KIND
        )
    results = [
        WirePart(role="tool", tool_call_id=result.id, content=result.content)
        for result in turn.results
    ]
    return [message, *results]
