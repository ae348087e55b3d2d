"""Where a history may be cut in two without tearing a tool call from its result (case:G8)."""

from __future__ import annotations

from collections.abc import Sequence

from rho_core.history.messages import (
    AbortedAssistant,
    AssistantMessage,
    EnrichedAssistant,
    Message,
    ToolResult,
    UserMessage,
    as_tool_image_supplement,
    tool_calls_of,
)
from rho_core.history.tokens import estimate_message_tokens


def safe_cuts(messages: Sequence[Message]) -> tuple[int, ...]:
    """All indexes, 0 and the length included, at which both halves keep their calls paired.

    A result may lie far behind its call (a detached job's does), and images follow results: all
    of them stay on the side of the call. A call that never got a result binds nothing.
    """
    bound_until = _last_uses(messages)
    cuts = [0]
    bound = -1
    for index in range(len(messages)):
        bound = max(bound, bound_until[index])
        if index >= bound:
            cuts.append(index + 1)
    return tuple(cuts)


def recent_cut(messages: Sequence[Message], keep_tokens: int) -> int:
    """The first safe cut whose tail is estimated at `keep_tokens` or less.

    A person's input at the very end is always kept: it has not been answered yet.
    """
    cuts = set(safe_cuts(messages))
    best = len(messages)
    tail = 0
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        tail += estimate_message_tokens(message)
        is_open_input = index == len(messages) - 1 and isinstance(message, UserMessage)
        if tail > keep_tokens and not is_open_input:
            break
        if index in cuts:
            best = index
    return best


def _last_uses(messages: Sequence[Message]) -> list[int]:
    """For each message, the index of the last answer to a call in it, -1 without any.

    Read backwards, so that an id which a provider uses again binds to the nearest call only.
    """
    bound_until = [-1] * len(messages)
    answered: dict[str, int] = {}
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        subject = _answered_call(message)
        if subject is not None:
            answered.setdefault(subject, index)
        elif isinstance(message, AssistantMessage | EnrichedAssistant | AbortedAssistant):
            uses = [answered.pop(call.id, -1) for call in tool_calls_of(message.content)]
            bound_until[index] = max(uses, default=-1)
    return bound_until


def _answered_call(message: Message) -> str | None:
    if isinstance(message, ToolResult):
        return message.id
    supplement = as_tool_image_supplement(message)
    return None if supplement is None else supplement.tool_call_id
