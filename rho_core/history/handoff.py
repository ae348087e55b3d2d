"""Handing a conversation to another model: what replays, and what stands in (B40–B44)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from rho_core.history.messages import (
    ASYNC_TOOL_CALL_KIND,
    PORTABLE_FALLBACK_KIND,
    AbortedAssistant,
    AssistantMessage,
    ContentBlock,
    EnrichedAssistant,
    Message,
    ModelIdentity,
    ProviderContextBlock,
    Text,
)

AnyAssistant: TypeAlias = AssistantMessage | EnrichedAssistant | AbortedAssistant

_NO_IDENTITY = ModelIdentity("", "", "")


@dataclass(frozen=True, slots=True)
class HandoffReport:
    """What a provider of another identity will not see again (B41)."""

    omitted_count: int
    omitted_kinds: tuple[str, ...]

    @property
    def has_omissions(self) -> bool:
        """Whether anything is lost."""
        return self.omitted_count > 0


@dataclass(frozen=True, slots=True)
class PreparedAssistant:
    """An assistant turn as one provider is to see it: content, and the blocks it may replay."""

    content: tuple[ContentBlock, ...]
    replay: tuple[ProviderContextBlock, ...] = ()


def is_portable_fallback(block: ProviderContextBlock) -> bool:
    """Whether the block is the portable stand-in; a malformed one is ordinary context (B43)."""
    return (
        block.kind == PORTABLE_FALLBACK_KIND
        and isinstance(block.data, str)
        and block.position is None
    )


def portable_fallback(message: EnrichedAssistant) -> str | None:
    """The text that stands in where opaque context cannot replay, if one was set."""
    for block in message.provider_context:
        if is_portable_fallback(block):
            return str(block.data)
    return None


def with_portable_fallback(message: EnrichedAssistant, text: str) -> EnrichedAssistant:
    """A copy that carries `text` as its stand-in, in place of an earlier one (B43)."""
    kept = tuple(block for block in message.provider_context if not is_portable_fallback(block))
    identity = message.provenance or _NO_IDENTITY
    block = ProviderContextBlock(PORTABLE_FALLBACK_KIND, identity, text)
    return replace(message, provider_context=(*kept, block))


def replays_to(block: ProviderContextBlock, target: ModelIdentity) -> bool:
    """Whether `block` may be sent to `target`: only to the very same model (B40)."""
    return not _is_sdk_metadata(block) and block.identity == target


def report_message_omissions(history: Iterable[Message], target: ModelIdentity) -> HandoffReport:
    """Count the context that `target` will not see, without changing anything (B41)."""
    kinds: list[str] = []
    for message in history:
        if isinstance(message, EnrichedAssistant | AbortedAssistant):
            kinds += [
                block.kind
                for block in message.provider_context
                if not _is_sdk_metadata(block) and block.identity != target
            ]
    return HandoffReport(len(kinds), tuple(sorted(set(kinds))))


def prepare_assistant(message: AnyAssistant, target: ModelIdentity) -> PreparedAssistant:
    """The turn as `target` is to see it (B42, B44).

    Where nothing replays, one text block is appended: the portable fallback, else the reasoning
    summary in a `<reasoning_summary>` element. A turn with a detached call gets neither.
    """
    if isinstance(message, AssistantMessage):
        return PreparedAssistant(message.content)
    replay = tuple(block for block in message.provider_context if replays_to(block, target))
    detached = any(block.kind == ASYNC_TOOL_CALL_KIND for block in message.provider_context)
    stand_in = None if replay or detached else _stand_in(message)
    if stand_in is None:
        return PreparedAssistant(message.content, replay)
    return PreparedAssistant((*message.content, Text(stand_in)))


def _stand_in(message: EnrichedAssistant | AbortedAssistant) -> str | None:
    fallback = portable_fallback(message) if isinstance(message, EnrichedAssistant) else None
    if fallback is not None and fallback.strip():
        return fallback
    summary = message.reasoning_summary
    if summary is not None and summary.strip():
        return f"<reasoning_summary>\n{summary}\n</reasoning_summary>"
    return None


def _is_sdk_metadata(block: ProviderContextBlock) -> bool:
    """Blocks that the core itself wrote: no provider ever sees them, none is an omission."""
    return is_portable_fallback(block) or block.kind == ASYNC_TOOL_CALL_KIND
