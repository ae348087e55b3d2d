"""A history as plain text for a model that is to read it, not to continue it.

Plain text needs no tool specifications, no paired calls and no replayable context, so that even
a history which its provider refuses can be summarised (case:G1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rho_core.history.messages import (
    AbortedAssistant,
    AssistantMessage,
    ContentBlock,
    EnrichedAssistant,
    Image,
    Message,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    as_tool_image_supplement,
)
from rho_core.json_values import canonical_json
from rho_core.text import truncate_utf8


def render_transcript(messages: Sequence[Message], *, max_part_bytes: int, max_bytes: int) -> str:
    """The messages as headed sections, each part cut to `max_part_bytes`.

    When the whole exceeds `max_bytes`, the oldest sections give way to a line that says so.
    """
    kept: list[str] = []
    room = max_bytes
    for message in reversed(messages):
        section = _section(message, max_part_bytes)
        room -= len(section.encode("utf-8", "surrogatepass")) + 2
        if room < 0 and kept:
            kept.append(f"[{len(messages) - len(kept)} older messages left out]")
            break
        kept.append(section)
    return "\n\n".join(reversed(kept))


def _section(message: Message, limit: int) -> str:
    match message:
        case SystemMessage(text=text):
            return f"## System\n{truncate_utf8(text, limit)}"
        case UserMessage(content=content):
            heading = "User" if as_tool_image_supplement(message) is None else "Tool images"
            return f"## {heading}\n{_parts(content, limit)}"
        case ToolResult(id=call_id, ok=ok, content=text):
            state = "succeeded" if ok else "failed"
            return f"## Tool result {call_id} ({state})\n{truncate_utf8(text, limit)}"
        case AssistantMessage(content=content) | EnrichedAssistant(content=content):
            return f"## Assistant\n{_parts(content, limit)}"
        case AbortedAssistant(content=content):
            return f"## Assistant (cut off)\n{_parts(content, limit)}"


def _parts(content: Iterable[ContentBlock], limit: int) -> str:
    return "\n".join(_part(block, limit) for block in content)


def _part(block: ContentBlock, limit: int) -> str:
    match block:
        case Text(text=text):
            return truncate_utf8(text, limit)
        case Image(mime_type=mime_type):
            return f"[image {mime_type}]"
        case ToolCall(id=call_id, name=name, arguments=arguments):
            return f"[calls {name} as {call_id}: {truncate_utf8(canonical_json(arguments), limit)}]"
