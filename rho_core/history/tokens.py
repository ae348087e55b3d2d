"""Token estimates that need no tokenizer: a quarter of the characters, plus overheads (J14–J22).

A message or tool is measured once: estimates are kept beside the object and die with it, so that
estimating a long history before every step costs a lookup per message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rho_core.history.handoff import is_portable_fallback, portable_fallback
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
)
from rho_core.identity_memo import IdentityMemo
from rho_core.json_values import canonical_json
from rho_core.providers.contract import ToolSpec
from rho_core.usage import ModelUsage

_U64_MAX = 2**64 - 1
_REQUEST_OVERHEAD = 3
_MESSAGE_OVERHEAD = 4
_RESULT_OVERHEAD = 6
_TOOL_OVERHEAD = 12
_CALL_OVERHEAD = 8
_IMAGE_TOKENS = 85

_measured_messages: IdentityMemo[Message, int] = IdentityMemo()
_measured_tools: IdentityMemo[ToolSpec, int] = IdentityMemo()


class ContextSource(StrEnum):
    """Where a context figure comes from."""

    ESTIMATED = "estimated"
    PROVIDER_REPORTED = "provider_reported"
    UNKNOWN_AFTER_COMPACTION = "unknown_after_compaction"


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """How full the context window is, as far as anybody knows (J21)."""

    tokens: int | None
    context_window: int | None
    source: ContextSource

    @classmethod
    def from_usage(cls, usage: ModelUsage) -> ContextUsage:
        """What a provider reported: its inclusive prompt tokens."""
        return cls(
            usage.inclusive_prompt_tokens, usage.context_window, ContextSource.PROVIDER_REPORTED
        )

    @classmethod
    def estimated(cls, tokens: int, context_window: int | None = None) -> ContextUsage:
        """An estimate of this module."""
        return cls(tokens, context_window, ContextSource.ESTIMATED)

    @classmethod
    def unknown_after_compaction(cls, context_window: int | None = None) -> ContextUsage:
        """The last report is void and the next one has not come."""
        return cls(None, context_window, ContextSource.UNKNOWN_AFTER_COMPACTION)


def estimate_request_tokens(messages: Iterable[Message], tools: Sequence[ToolSpec] = ()) -> int:
    """The tokens of a whole request (J15)."""
    return request_tokens(sum(map(estimate_message_tokens, messages)), tools)


def request_tokens(message_tokens: int, tools: Sequence[ToolSpec] = ()) -> int:
    """The tokens of a request whose messages are measured already (J15)."""
    total = _REQUEST_OVERHEAD + message_tokens + sum(map(estimate_tool_tokens, tools))
    return min(total, _U64_MAX)


def estimate_messages_tokens(messages: Iterable[Message]) -> int:
    """The tokens of messages alone, as compaction counts them (J19)."""
    return min(sum(map(estimate_message_tokens, messages)), _U64_MAX)


def estimate_message_tokens(message: Message) -> int:
    """The tokens of one message (J16); measured once per object."""
    return _measured_messages.once(message, _measure)


def estimate_tool_tokens(tool: ToolSpec) -> int:
    """The tokens of one advertised tool (J15); measured once per object."""
    return _measured_tools.once(tool, _measure_tool)


def _measure_tool(tool: ToolSpec) -> int:
    spec = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }
    return _TOOL_OVERHEAD + _json(spec)


def _measure(message: Message) -> int:
    match message:
        case SystemMessage(text=text):
            return _MESSAGE_OVERHEAD + _text(text)
        case UserMessage(content=content) | AssistantMessage(content=content):
            return _MESSAGE_OVERHEAD + _blocks(content)
        case ToolResult(id=call_id, ok=ok, content=text):
            return _RESULT_OVERHEAD + _json({"id": call_id, "ok": ok, "content": text})
        case EnrichedAssistant() | AbortedAssistant():
            return _MESSAGE_OVERHEAD + _blocks(message.content) + _replayed(message)


def _replayed(message: EnrichedAssistant | AbortedAssistant) -> int:
    """Either the opaque context or its portable stand-in is sent; the larger counts (J18)."""
    fallback = portable_fallback(message) if isinstance(message, EnrichedAssistant) else None
    portable = _text(message.reasoning_summary or "") + _text(fallback or "")
    opaque = sum(
        _json(block.data) for block in message.provider_context if not is_portable_fallback(block)
    )
    return max(portable, opaque)


def _blocks(content: Iterable[ContentBlock]) -> int:
    return sum(map(_block, content))


def _block(block: ContentBlock) -> int:
    match block:
        case Text(text=text):
            return 1 + _text(text)
        case Image(data=data):
            return 1 + _IMAGE_TOKENS + -(-len(data) // 4096)
        case ToolCall(id=call_id, name=name, arguments=arguments):
            call = {"id": call_id, "name": name, "arguments": arguments}
            return 1 + _CALL_OVERHEAD + _json(call)


def _text(text: str) -> int:
    return -(-len(text) // 4)


def _json(value: object) -> int:
    return -(-len(canonical_json(value)) // 4)
