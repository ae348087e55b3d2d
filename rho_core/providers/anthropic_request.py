"""History as an Anthropic Messages request (case:H16, case:G1).

Roles alternate, tool results open the user message after their calls, and thinking blocks go back
exactly as they came.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from rho_core.history.messages import (
    ContentBlock,
    Image,
    ModelIdentity,
    Text,
    ToolCall,
)
from rho_core.identity_memo import IdentityMemo
from rho_core.json_values import FrozenObject
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

THINKING_KIND = "anthropic.thinking.v1"

RoleBlocks: TypeAlias = tuple[str, list[WirePart]]
"""Blocks that a turn adds, and whose they are."""

_CACHE = {"type": "ephemeral"}
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BAD_ID = re.compile(r"[^a-zA-Z0-9_-]")
_CONTINUE = "Continue."

_tools: IdentityMemo[ToolSpec, WirePart] = IdentityMemo()


def anthropic_system(request: ModelRequest) -> list[dict[str, Any]]:
    """The `system` blocks: at most one, marked for the prompt cache."""
    text = system_text(request.messages)
    return [{"type": "text", "text": text, "cache_control": dict(_CACHE)}] if text else []


def anthropic_tools(tools: Sequence[ToolSpec]) -> WireList[WirePart]:
    """The `tools` array; the cache mark on the last one covers them all."""
    rendered = WireList(_tools.once(spec, _tool) for spec in tools)
    if rendered:
        rendered[-1] = _marked(rendered[-1])
    return rendered


def _tool(spec: ToolSpec) -> WirePart:
    return WirePart(name=spec.name, description=spec.description, input_schema=spec.input_schema)


def anthropic_replay(identity: ModelIdentity) -> Replay[list[RoleBlocks]]:
    """Renders history for one model: what each turn adds, by role."""

    def render(turn: Turn) -> list[RoleBlocks]:
        if isinstance(turn, UserTurn):
            return [("user", _user_blocks(turn.content))]
        return [("assistant", _assistant_blocks(turn)), ("user", _result_blocks(turn))]

    return Replay(identity, render)


def anthropic_messages(
    request: ModelRequest, replay: Replay[list[RoleBlocks]]
) -> WireList[dict[str, Any]]:
    """The `messages` array: alternating, never empty, beginning and ending with the user."""
    messages: WireList[dict[str, Any]] = WireList()
    for turn in replay(request.messages):
        for role, blocks in turn:
            if not messages and role == "assistant":
                # after a compaction an answer may come first; the API wants a question before it
                _append(messages, "user", [_text(_CONTINUE)])
            _append(messages, role, blocks)
    if not messages or messages[-1]["role"] == "assistant":
        _append(messages, "user", [_text(_CONTINUE)])
    _mark_for_cache(messages)
    return messages


def ends_inside_unsigned_tool_turn(messages: Sequence[dict[str, Any]]) -> bool:
    """Whether the tool loop at the end began without thinking.

    With a thinking budget the API then refuses the request: the turn came from another model, or
    its thinking cannot be replayed.
    """
    first: dict[str, Any] | None = None
    for assistant, user in zip(messages[-2::-2], messages[::-2], strict=False):
        if user["content"][0]["type"] != "tool_result":
            break
        first = assistant
    kinds = ("thinking", "redacted_thinking")
    return first is not None and first["content"][0]["type"] not in kinds


def _append(messages: list[dict[str, Any]], role: str, blocks: list[WirePart]) -> None:
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": WireList(blocks)})


def _mark_for_cache(messages: list[dict[str, Any]]) -> None:
    """Mark the newest two user messages: the older mark finds what the last request wrote."""
    users = [message["content"] for message in messages if message["role"] == "user"]
    for content in users[-2:]:
        content[-1] = _marked(content[-1])


def _marked(part: WirePart) -> WirePart:
    return WirePart(part, cache_control=dict(_CACHE))


def _user_blocks(content: Sequence[ContentBlock]) -> list[WirePart]:
    blocks: list[WirePart] = []
    for block in content:
        if isinstance(block, Text) and block.text.strip():
            blocks.append(_text(block.text))
        elif isinstance(block, Image):
            blocks.append(_image(block))
    return blocks


def _assistant_blocks(turn: AssistantTurn) -> list[WirePart]:
    """Content with the thinking blocks put back before the blocks they stood before."""
    thinking = [block for block in turn.context if block.kind == THINKING_KIND]
    blocks: list[WirePart] = []
    for index in range(len(turn.content) + 1):
        last = index == len(turn.content)
        while thinking and (last or (thinking[0].position or 0) <= index):
            data = thinking.pop(0).data
            if isinstance(data, FrozenObject):
                blocks.append(WirePart(data))
        if not last:
            blocks += _assistant_block(turn.content[index])
    return blocks


def _assistant_block(block: ContentBlock) -> list[WirePart]:
    match block:
        case Text(text=text) if text.strip():
            return [_text(text)]
        case ToolCall():
            name, arguments = wire_tool_name(block.name), block.arguments
            return [
                WirePart(type="tool_use", id=wire_call_id(block.id), name=name, input=arguments)
            ]
        case Image():
            return [_text(f"[image: {block.mime_type}]")]
        case _:
            return []


def _result_blocks(turn: AssistantTurn) -> list[WirePart]:
    blocks: list[WirePart] = []
    for result in turn.results:
        block = WirePart(type="tool_result", tool_use_id=wire_call_id(result.id))
        if result.content.strip():
            block["content"] = result.content
        if not result.ok:
            block["is_error"] = True
        blocks.append(block)
    return blocks


def wire_call_id(call_id: str) -> str:
    """A call id in the characters that the API allows; other vendors use more of them."""
    if not _BAD_ID.search(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{_BAD_ID.sub('_', call_id)[:48]}_{digest}"


def _text(text: str) -> WirePart:
    return WirePart(type="text", text=text)


def _image(image: Image) -> WirePart:
    if image.mime_type not in _IMAGE_TYPES:
        return _text(f"[an image of type {image.mime_type} that this model cannot see]")
    source = {"type": "base64", "media_type": image.mime_type, "data": image.data}
    return WirePart(type="image", source=source)
