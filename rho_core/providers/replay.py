"""From stored history to the turns that a provider accepts (B40–B44, C72, D56, case:G1).

Vendors refuse a conversation in which a tool call is not followed by its result, and history may
hold results far from their calls, none at all, or a turn that was cut off. The turns built here
are always in order and complete, whatever the history looks like.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from rho_core.history.handoff import AnyAssistant, prepare_assistant
from rho_core.history.messages import (
    ASYNC_TOOL_CALL_KIND,
    AbortedAssistant,
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
from rho_core.identity_memo import IdentityMemo

W = TypeVar("W")

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


class Replay(Generic[W]):
    """Renders the conversation as turns that `target` accepts, without the system prompt.

    `render` makes what one turn is on the wire. A message that comes with the results it came with
    before is not rendered again: each step sends the whole history, with one turn more.
    """

    def __init__(self, target: ModelIdentity, render: Callable[[Turn], W]) -> None:
        self._target = target
        self._render = render
        self._rendered: IdentityMemo[Message, tuple[tuple[ToolResult, ...], W]] = IdentityMemo()

    def __call__(self, messages: Sequence[Message]) -> Iterator[W]:
        """What each turn is on the wire, in order."""
        results: dict[str, deque[ToolResult]] = {}
        for message in messages:
            if isinstance(message, ToolResult):
                results.setdefault(message.id, deque()).append(message)
        for message in messages:
            if isinstance(message, SystemMessage | ToolResult):
                continue  # the system prompt goes elsewhere, and results go to their calls
            found = _results_of(message, results)
            known = self._rendered.get(message)
            if known is None or known[0] != found:
                turn = _turn_of(message, self._target, found)
                if turn is None:
                    continue
                known = self._rendered.put(message, (found, self._render(turn)))
            yield known[1]


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


def _turn_of(
    message: UserMessage | AnyAssistant, target: ModelIdentity, results: tuple[ToolResult, ...]
) -> Turn | None:
    match message:
        case UserMessage():
            return UserTurn(message.content)
        case AbortedAssistant():
            text = aborted_text(message)
            return AssistantTurn((Text(text),)) if text else None
        case _:
            prepared = prepare_assistant(message, target)
            return AssistantTurn(prepared.content, prepared.replay, results)


def _results_of(
    message: UserMessage | AnyAssistant, results: dict[str, deque[ToolResult]]
) -> tuple[ToolResult, ...]:
    """One result for each call of the message, in order; they are taken from `results`."""
    if isinstance(message, UserMessage | AbortedAssistant):
        return ()
    context = message.provider_context if isinstance(message, EnrichedAssistant) else ()
    found: list[ToolResult] = []
    for call in tool_calls_of(message.content):
        queue = results.get(call.id)
        if queue:
            found.append(queue.popleft())
        elif any(b.kind == ASYNC_TOOL_CALL_KIND and b.data == call.id for b in context):
            found.append(ToolResult(call.id, True, PENDING_RESULT))
        else:
            found.append(ToolResult(call.id, False, INTERRUPTED_RESULT))
    return tuple(found)
