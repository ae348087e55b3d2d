"""Messages as JSON values, externally tagged: `{"User":[{"Text":"hi"}]}` (B38).

Encoding gives plain JSON values; what is absent is left out. Decoding is strict about types and
ignores extra keys; it raises `PersistenceError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from rho_core.history.handoff import with_portable_fallback
from rho_core.history.messages import (
    AbortedAssistant,
    AssistantMessage,
    ContentBlock,
    EnrichedAssistant,
    History,
    Image,
    Message,
    ModelIdentity,
    PartialToolCall,
    ProviderContextBlock,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from rho_core.history.strict_fields import (
    as_array,
    as_bool,
    as_object,
    as_string,
    as_u64,
    malformed,
    optional,
    required,
)
from rho_core.json_values import FrozenObject, freeze
from rho_core.usage import ModelUsage

_USAGE_FIELDS = tuple(field.name for field in fields(ModelUsage))


def encode_message(message: Message) -> dict[str, Any]:
    """The JSON object of one message. Raw reasoning is kept: a snapshot blanks it (B34)."""
    match message:
        case SystemMessage(text=text):
            return {"System": text}
        case UserMessage(content=content):
            return {"User": _encode_blocks(content)}
        case AssistantMessage(content=content):
            return {"Assistant": _encode_blocks(content)}
        case ToolResult(id=call_id, ok=ok, content=text):
            return {"ToolResult": {"id": call_id, "ok": ok, "content": text}}
        case EnrichedAssistant():
            return {"EnrichedAssistant": _encode_turn(message)}
        case AbortedAssistant():
            turn = _encode_turn(message)
            turn["reasoning"] = message.reasoning
            turn["tool_calls"] = [
                _present(id=call.id, name=call.name, arguments=call.arguments)
                for call in message.tool_calls
            ]
            turn["usage"] = _present(**{n: getattr(message.usage, n) for n in _USAGE_FIELDS})
            return {"AbortedAssistant": turn}


def encode_identity(identity: ModelIdentity) -> dict[str, Any]:
    """The JSON object of a model identity."""
    return {"provider": identity.provider, "api": identity.api, "model": identity.model}


def decode_message(value: object, where: str = "message") -> Message:
    """The message of a JSON value. Raises `PersistenceError` naming the place."""
    tagged = as_object(value, where)
    if len(tagged) != 1:
        raise malformed(where, "an object with exactly one message tag")
    [(tag, body)] = tagged.items()
    reader = _READERS.get(tag)
    if reader is None:
        raise malformed(where, f"one of {', '.join(_READERS)}, not {tag!r}")
    return reader(body, f"{where}.{tag}")


def decode_history(value: object, where: str = "history") -> History:
    """The messages of a JSON array."""
    items = enumerate(as_array(value, where))
    return tuple(decode_message(item, f"{where}[{index}]") for index, item in items)


def decode_identity(value: object, where: str) -> ModelIdentity:
    """The model identity of a JSON object."""
    body = as_object(value, where)
    return ModelIdentity(
        required(body, "provider", where, as_string),
        required(body, "api", where, as_string),
        required(body, "model", where, as_string),
    )


def _present(**values: object) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _encode_blocks(content: tuple[ContentBlock, ...]) -> list[dict[str, Any]]:
    return [_encode_block(block) for block in content]


def _encode_block(block: ContentBlock) -> dict[str, Any]:
    match block:
        case Text(text=text):
            return {"Text": text}
        case Image(data=data, mime_type=mime_type):
            return {"Image": {"data": data, "mime_type": mime_type}}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            return {"ToolCall": {"id": call_id, "name": name, "arguments": arguments}}


def _encode_turn(turn: EnrichedAssistant | AbortedAssistant) -> dict[str, Any]:
    body: dict[str, Any] = {"content": _encode_blocks(turn.content)}
    if turn.provenance is not None:
        body["provenance"] = encode_identity(turn.provenance)
    if turn.reasoning_summary is not None:
        body["reasoning_summary"] = turn.reasoning_summary
    body["provider_context"] = [_encode_context(block) for block in turn.provider_context]
    return body


def _encode_context(block: ProviderContextBlock) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": block.kind, "identity": encode_identity(block.identity)}
    if block.position is not None:
        body["position"] = block.position
    body["data"] = block.data
    return body


def _decode_blocks(value: object, where: str) -> tuple[ContentBlock, ...]:
    items = enumerate(as_array(value, where))
    return tuple(_decode_block(item, f"{where}[{index}]") for index, item in items)


def _decode_block(value: object, where: str) -> ContentBlock:
    tagged = as_object(value, where)
    if len(tagged) != 1:
        raise malformed(where, "an object with exactly one block tag")
    [(tag, body)] = tagged.items()
    where = f"{where}.{tag}"
    match tag:
        case "Text":
            return Text(as_string(body, where))
        case "Image":
            image = as_object(body, where)
            return Image(
                required(image, "data", where, as_string),
                required(image, "mime_type", where, as_string),
            )
        case "ToolCall":
            call = as_object(body, where)
            return ToolCall(
                required(call, "id", where, as_string),
                required(call, "name", where, as_string),
                required(call, "arguments", where, _read_arguments),
            )
        case _:
            raise malformed(where, "one of Text, Image, ToolCall")


def _read_arguments(value: object, where: str) -> FrozenObject:
    arguments = freeze(as_object(value, where))
    assert isinstance(arguments, FrozenObject)
    return arguments


def _decode_context(value: object, where: str) -> ProviderContextBlock:
    body = as_object(value, where)
    if "data" not in body:
        raise malformed(where, "a context block with data")
    return ProviderContextBlock(
        kind=required(body, "kind", where, as_string),
        identity=required(body, "identity", where, decode_identity),
        data=freeze(body["data"]),
        position=optional(body, "position", where, as_u64),
    )


def _decode_contexts(value: object, where: str) -> tuple[ProviderContextBlock, ...]:
    items = enumerate(as_array(value, where))
    return tuple(_decode_context(item, f"{where}[{index}]") for index, item in items)


def _read_system(value: object, where: str) -> Message:
    return SystemMessage(as_string(value, where))


def _read_user(value: object, where: str) -> Message:
    return UserMessage(_decode_blocks(value, where))


def _read_assistant(value: object, where: str) -> Message:
    return AssistantMessage(_decode_blocks(value, where))


def _read_enriched(value: object, where: str) -> Message:
    body = as_object(value, where)
    message = EnrichedAssistant(
        content=required(body, "content", where, _decode_blocks),
        provenance=optional(body, "provenance", where, decode_identity),
        reasoning_summary=optional(body, "reasoning_summary", where, as_string),
        provider_context=optional(body, "provider_context", where, _decode_contexts) or (),
    )
    legacy = optional(body, "portable_fallback", where, as_string)
    return message if legacy is None else with_portable_fallback(message, legacy)


def _read_aborted(value: object, where: str) -> Message:
    body = as_object(value, where)
    return AbortedAssistant(
        content=required(body, "content", where, _decode_blocks),
        reasoning=optional(body, "reasoning", where, as_string) or "",
        provenance=optional(body, "provenance", where, decode_identity),
        reasoning_summary=optional(body, "reasoning_summary", where, as_string),
        provider_context=optional(body, "provider_context", where, _decode_contexts) or (),
        tool_calls=optional(body, "tool_calls", where, _decode_fragments) or (),
        usage=optional(body, "usage", where, _decode_usage) or ModelUsage(),
    )


def _read_result(value: object, where: str) -> Message:
    body = as_object(value, where)
    return ToolResult(
        required(body, "id", where, as_string),
        required(body, "ok", where, as_bool),
        required(body, "content", where, as_string),
    )


def _decode_fragments(value: object, where: str) -> tuple[PartialToolCall, ...]:
    items = enumerate(as_array(value, where))
    return tuple(_decode_fragment(item, f"{where}[{index}]") for index, item in items)


def _decode_fragment(value: object, where: str) -> PartialToolCall:
    body: Mapping[str, Any] = as_object(value, where)
    return PartialToolCall(
        optional(body, "id", where, as_string),
        optional(body, "name", where, as_string),
        optional(body, "arguments", where, as_string) or "",
    )


def _decode_usage(value: object, where: str) -> ModelUsage:
    body = as_object(value, where)
    return ModelUsage(**{name: optional(body, name, where, as_u64) for name in _USAGE_FIELDS})


_READERS: dict[str, Callable[[object, str], Message]] = {
    "System": _read_system,
    "User": _read_user,
    "Assistant": _read_assistant,
    "EnrichedAssistant": _read_enriched,
    "AbortedAssistant": _read_aborted,
    "ToolResult": _read_result,
}
