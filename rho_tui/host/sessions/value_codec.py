"""How the core's values stand in a session file: tool facts, questions, usage."""

from __future__ import annotations

import base64
import binascii
from dataclasses import asdict, fields
from typing import Any

from rho_core.errors import InvalidHostResponse, ToolErrorKind
from rho_core.history.messages import Image
from rho_core.ids import HostInputId
from rho_core.json_values import FrozenObject, freeze
from rho_core.questions import (
    DefaultSelection,
    HostChoice,
    HostInputRequest,
    HostInputResponse,
    HostQuestion,
    SelectionMode,
)
from rho_core.tooling.values import (
    ToolAsset,
    ToolCompletion,
    ToolFailed,
    ToolMetadata,
    ToolOperation,
    ToolOutput,
    ToolSucceeded,
    ToolUnavailable,
)
from rho_core.usage import ModelUsage
from rho_tui.host.facts import QuestionReply
from rho_tui.host.sessions.fields import Fields, RecordError

MAX_ASSET_BYTES = 256 * 1024
"""Thumbnails above this, counted per call, are shown live but not kept."""

Json = dict[str, Any]


def without_defaults(members: Json) -> Json:
    """The members that say something: no None, no empty text, list or object."""
    return {
        name: value
        for name, value in members.items()
        if value is not None and value not in ("", [], {})
    }


def without_none(members: Json) -> Json:
    """The members that are there."""
    return {name: value for name, value in members.items() if value is not None}


def encode_metadata(metadata: ToolMetadata) -> Json:
    """Presentation facts of a call."""
    assets = metadata.assets
    if sum(len(asset.data) for asset in assets) > MAX_ASSET_BYTES:
        assets = ()
    return without_defaults(
        {
            "operation": metadata.operation.value,
            "paths": list(metadata.affected_paths),
            "command": metadata.command_summary,
            "urls": list(metadata.urls),
            "diff": metadata.diff,
            "assets": [
                {"media_type": asset.media_type, "data": base64.b64encode(asset.data).decode()}
                for asset in assets
            ],
            "notices": list(metadata.presentation_notices),
            "details": metadata.details,
        }
    )


def decode_metadata(value: Fields) -> ToolMetadata:
    """The inverse of `encode_metadata`."""
    return ToolMetadata(
        operation=value.word("operation", ToolOperation, ToolOperation.OTHER),
        affected_paths=value.texts("paths"),
        command_summary=value.optional_text("command"),
        urls=value.texts("urls"),
        diff=value.optional_text("diff"),
        assets=tuple(
            ToolAsset(asset.text("media_type"), _bytes(asset.text("data")))
            for asset in value.objects("assets")
        ),
        presentation_notices=value.texts("notices"),
        details=_frozen_object(value.raw("details")) if value.has("details") else FrozenObject(),
    )


def encode_completion(completion: ToolCompletion) -> Json:
    """How a call ended."""
    match completion:
        case ToolSucceeded(output=output):
            members = {
                "content": output.content,
                "metadata": encode_metadata(output.metadata),
                "images": [encode_image(image) for image in output.images],
            }
            return {"kind": "succeeded", **without_defaults(members)}
        case ToolFailed(kind=kind, message=message, metadata=metadata):
            members = {"message": message, "metadata": encode_metadata(metadata)}
            return {"kind": "failed", "error": kind.value, **without_defaults(members)}
        case ToolUnavailable(instead=instead):
            return {"kind": "unavailable", **without_defaults({"instead": instead})}


def decode_completion(value: Fields) -> ToolCompletion:
    """The inverse of `encode_completion`."""
    match value.text("kind"):
        case "succeeded":
            images = tuple(decode_image(image) for image in value.objects("images"))
            metadata = decode_metadata(value.object("metadata"))
            return ToolSucceeded(ToolOutput(value.text("content", ""), metadata, images))
        case "failed":
            return ToolFailed(
                value.word("error", ToolErrorKind),
                value.text("message", ""),
                decode_metadata(value.object("metadata")),
            )
        case "unavailable":
            return ToolUnavailable(value.text("instead", ""))
        case kind:
            raise RecordError(f"unknown completion {kind!r}")


def encode_image(image: Image) -> Json:
    """An image for the model."""
    return {"data": image.data, "mime_type": image.mime_type}


def decode_image(value: Fields) -> Image:
    """The inverse of `encode_image`."""
    return Image(value.text("data"), value.text("mime_type"))


def encode_usage(usage: ModelUsage) -> Json:
    """Token counts; what is unknown is left out."""
    return without_defaults(asdict(usage))


def decode_usage(value: Fields) -> ModelUsage:
    """The inverse of `encode_usage`."""
    return ModelUsage(**{f.name: value.optional_count(f.name) for f in fields(ModelUsage)})


def encode_replies(replies: tuple[QuestionReply, ...]) -> list[Json]:
    """Answers as people read them."""
    return [{"prompt": reply.prompt, "answers": list(reply.answers)} for reply in replies]


def decode_replies(value: Fields) -> tuple[QuestionReply, ...]:
    """The inverse of `encode_replies`."""
    return tuple(
        QuestionReply(reply.text("prompt"), reply.texts("answers"))
        for reply in value.objects("replies")
    )


def encode_request(request: HostInputRequest) -> Json:
    """A form with its timeout fallback."""
    fallback = request.timeout_fallback
    members: Json = {"id": str(request.id), "title": request.title}
    if fallback is not None:
        answers = {name: list(values) for name, values in fallback.answers.items()}
        members["fallback"] = {"answers": answers, "reason": request.timeout_reason or ""}
    members["questions"] = [_encode_question(question) for question in request.questions]
    return without_none(members)


def decode_request(value: Fields) -> HostInputRequest:
    """The inverse of `encode_request`; a form that could not be asked is refused."""
    questions = tuple(_decode_question(question) for question in value.objects("questions"))
    try:
        request = HostInputRequest(
            HostInputId(value.identifier("id")), value.optional_text("title"), questions
        )
        if not value.has("fallback"):
            return request
        fallback = value.object("fallback")
        response = HostInputResponse()
        answers = fallback.object("answers")
        for question in questions:
            if answers.has(question.id):
                response = response.answer(question.id, answers.texts(question.id))
        return request.with_timeout_fallback(response, fallback.text("reason"))
    except InvalidHostResponse as error:
        raise RecordError(error.message) from None


def _encode_question(question: HostQuestion) -> Json:
    members = {
        "id": question.id,
        "prompt": question.prompt,
        "choices": [
            without_none({"value": c.value, "label": c.label, "description": c.description})
            for c in question.choices
        ],
        "selection": question.selection.value,
        "allow_other": question.allow_other,
        "header": question.header,
        "help": question.help,
        "default": question.default_value,
        "default_selection": question.default_selection.value,
        "required": question.required,
    }
    return without_none(members)


def _decode_question(value: Fields) -> HostQuestion:
    default = value.raw("default") if value.has("default") else None
    try:
        return HostQuestion(
            id=value.identifier("id"),
            prompt=value.text("prompt", ""),
            choices=tuple(
                HostChoice(
                    choice.text("value", ""),
                    choice.text("label", ""),
                    choice.optional_text("description"),
                )
                for choice in value.objects("choices")
            ),
            selection=value.word("selection", SelectionMode, SelectionMode.ONE),
            allow_other=value.flag("allow_other", False),
            header=value.optional_text("header"),
            help=value.optional_text("help"),
            default_value=default,
            default_selection=value.word(
                "default_selection", DefaultSelection, DefaultSelection.SELECTED
            ),
            required=value.flag("required", True),
        )
    except InvalidHostResponse as error:
        raise RecordError(error.message) from None


def _frozen_object(value: object) -> FrozenObject:
    if not isinstance(value, dict):
        raise RecordError("details is not an object")
    try:
        frozen: FrozenObject = freeze(value)
    except ValueError as error:
        raise RecordError(str(error)) from None
    return frozen


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise RecordError("an asset is not base64") from None
