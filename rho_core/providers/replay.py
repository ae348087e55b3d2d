"""From stored history to the turns that a provider accepts (B40–B44, C72, D56, case:G1).

Vendors refuse a conversation in which a tool call is not followed by its result, and history may
hold results far from their calls, none at all, or a turn that was cut off. The turns built here
are always in order and complete, whatever the history looks like.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rho_core.history.handoff import prepare_assistant
from rho_core.history.messages import (
    ASYNC_TOOL_CALL_KIND,
    AbortedAssistant,
    AssistantMessage,
    ContentBlock,
    EnrichedAssistant,
    Message,
    ModelIdentity,
    ProviderContextBlock,
    SystemMessage,
    Text,
    ToolResult,
    UserMessage,
    text_of,
    tool_calls_of,
)

INTERRUPTED_RESULT = "tool call interrupted before completion"
PENDING_RESULT = "The tool is still running; its result will follow."

_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_TOOL_NAME = 64


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """An assistant turn with the results of its calls, in the order of the calls.

    `context` holds only blocks that this very model may see again, in their original order.
    """

    content: tuple[ContentBlock, ...]
    context: tuple[ProviderContextBlock, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class UserTurn:
    """Input of a person, or the images of a tool."""

    content: tuple[ContentBlock, ...]


Turn: TypeAlias = AssistantTurn | UserTurn


def system_text(messages: Sequence[Message]) -> str:
    """The system prompt: all system messages, in order."""
    return "\n\n".join(m.text for m in messages if isinstance(m, SystemMessage) and m.text.strip())


def replay_turns(messages: Sequence[Message], target: ModelIdentity) -> list[Turn]:
    """The conversation as turns that `target` accepts, without the system prompt."""
    results: dict[str, deque[ToolResult]] = {}
    for message in messages:
        if isinstance(message, ToolResult):
            results.setdefault(message.id, deque()).append(message)
    turns: list[Turn] = []
    for message in messages:
        match message:
            case UserMessage():
                turns.append(UserTurn(message.content))
            case AssistantMessage():
                turns.append(_with_results(message.content, (), (), results))
            case EnrichedAssistant():
                prepared = prepare_assistant(message, target)
                turns.append(
                    _with_results(
                        prepared.content, prepared.replay, message.provider_context, results
                    )
                )
            case AbortedAssistant():
                if text := aborted_text(message):
                    turns.append(AssistantTurn((Text(text),)))
            case _:
                pass  # the system prompt goes elsewhere, and results went to their calls
    return turns


def aborted_text(message: AbortedAssistant) -> str:
    """What a cut-off turn says on replay: its text, and which calls never ran (C66)."""
    text = text_of(message.content).strip()
    names = [call.name for call in tool_calls_of(message.content)]
    names += [p.name for p in message.tool_calls if p.name and p.name not in names]
    if not text and not names:
        return ""
    note = "[interrupted: this reply was cut off here"
    note += f"; not run: {', '.join(wire_tool_name(name) for name in names)}]" if names else "]"
    return f"{text}\n\n{note}" if text else note


def wire_tool_name(name: str) -> str:
    """A tool name as vendors accept it; models invent others, and history keeps them."""
    return _NAME.sub("_", name)[:_MAX_TOOL_NAME] or "unknown_tool"


def _with_results(
    content: tuple[ContentBlock, ...],
    replayed: tuple[ProviderContextBlock, ...],
    context: Sequence[ProviderContextBlock],
    results: dict[str, deque[ToolResult]],
) -> AssistantTurn:
    detached = {block.data for block in context if block.kind == ASYNC_TOOL_CALL_KIND}
    found: list[ToolResult] = []
    for call in tool_calls_of(content):
        queue = results.get(call.id)
        if queue:
            found.append(queue.popleft())
        elif call.id in detached:
            found.append(ToolResult(call.id, True, PENDING_RESULT))
        else:
            found.append(ToolResult(call.id, False, INTERRUPTED_RESULT))
    return AssistantTurn(content, replayed, tuple(found))
