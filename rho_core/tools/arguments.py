"""Strict parsing of tool arguments, and the schemas that advertise them (2.1–2.4, L7).

Arguments are hostile JSON: unknown keys are refused by every built-in tool, nothing is coerced,
and a JSON null for an optional key is the same as leaving the key out.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from rho_core.errors import ToolError
from rho_core.json_values import freeze
from rho_core.providers.contract import ToolSpec

_MAX_KEY_CHARACTERS = 80
_MAX_REPORTED_ERRORS = 5


class ToolArguments(BaseModel):
    """Base of every argument model, at each level: closed, strict and immutable.

    Declare an optional key as `name: X | None = None`, or with another default.
    """

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )


A = TypeVar("A", bound=ToolArguments)


def parse_arguments(model: type[A], arguments: Mapping[str, Any]) -> A:
    """The arguments as an instance of `model`.

    Raises `ToolError` (`invalid_arguments`): the message names each offending key, says what is
    wrong with it and lists the accepted keys. It never repeats a value.
    """
    try:
        # JSON mode: arrays become tuples and strings become enum members, and nothing else changes
        return model.model_validate_json(json.dumps(_without_nulls(model, arguments)))
    except ValidationError as error:
        raise ToolError.invalid_arguments(_describe(model, error)) from None
    except (RecursionError, TypeError, ValueError):
        raise ToolError.invalid_arguments("the arguments are not a plain JSON object") from None


def tool_spec(name: str, description: str, model: type[ToolArguments]) -> ToolSpec:
    """What the model is told of a tool: a compact JSON schema, without titles and references."""
    return ToolSpec(name, description, freeze(argument_schema(model)))


def argument_schema(model: type[ToolArguments]) -> dict[str, Any]:
    """The JSON schema of `model` with definitions inlined and nullable keys shown as optional."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    compact: dict[str, Any] = _compact(schema, definitions)
    compact.pop("description", None)  # the model's docstring is for readers of the code
    compact.setdefault("properties", {})
    return compact


def _without_nulls(model: type[ToolArguments], value: Any) -> Any:
    """The value without keys that hold null and may be left out, at each level of the model."""
    if isinstance(value, list | tuple):
        return [_without_nulls(model, item) for item in value]
    if not isinstance(value, Mapping):
        return value
    kept: dict[str, Any] = {}
    for key, item in value.items():
        field = model.model_fields.get(key)
        if field is not None and item is None and not field.is_required():
            continue
        nested = None if field is None else _nested_model(field.annotation)
        kept[key] = item if nested is None else _without_nulls(nested, item)
    return kept


def _nested_model(annotation: Any) -> type[ToolArguments] | None:
    """The argument model inside an annotation such as `tuple[Question, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, ToolArguments):
        return annotation
    found = (_nested_model(argument) for argument in get_args(annotation))
    return next((model for model in found if model is not None), None)


def _compact(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_compact(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[str(node["$ref"]).rsplit("/", 1)[-1]]
        overrides = {key: value for key, value in node.items() if key != "$ref"}
        inlined = {key: value for key, value in target.items() if key != "description"}
        return _compact({**inlined, **overrides}, definitions)
    if "anyOf" in node:
        choices = [choice for choice in node["anyOf"] if choice != {"type": "null"}]
        if len(choices) == 1:
            rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
            return _compact({**choices[0], **rest}, definitions)
        node = {**node, "anyOf": choices}
    result: dict[str, Any] = {}
    for key, value in node.items():
        if key == "title" and isinstance(value, str):
            continue
        if key == "default" and value is None:
            continue
        if key == "exclusiveMinimum" and node.get("type") == "integer":
            result["minimum"] = value + 1
        elif key == "properties":
            # names of properties are not keywords: a property may be called "title"
            result[key] = {name: _compact(item, definitions) for name, item in value.items()}
        else:
            result[key] = _compact(value, definitions)
    return result


def _describe(model: type[ToolArguments], error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=True, include_input=False)
    unknown_first = sorted(problems, key=lambda item: item["type"] != "extra_forbidden")
    parts = [
        _describe_one(model, tuple(item["loc"]), item["type"], item["msg"])
        for item in unknown_first[:_MAX_REPORTED_ERRORS]
    ]
    if len(problems) > _MAX_REPORTED_ERRORS:
        parts.append(f"and {len(problems) - _MAX_REPORTED_ERRORS} more")
    return f"{'; '.join(parts)}; accepted keys: {_accepted(model)}"


def _describe_one(
    model: type[ToolArguments], location: tuple[int | str, ...], kind: str, message: str
) -> str:
    key = _location(location)
    if kind == "extra_forbidden":
        guess = _nearest(str(location[-1]), model) if len(location) == 1 else None
        hint = f" (did you mean '{guess}'?)" if guess else ""
        return f"unknown key '{key}'{hint}"
    if kind == "missing":
        return f"missing key '{key}'"
    if kind == "json_invalid":
        return "the arguments are not valid JSON text"
    # "Input should be greater than 0" reads "offset must be greater than 0"
    said = message.removeprefix("Value error, ").removeprefix("Input ")
    said = f"must {said.removeprefix('should ')}" if said.startswith("should ") else said
    return f"{key} {said}" if key else said


def _location(location: tuple[int | str, ...]) -> str:
    shown = ".".join(str(part) for part in location)
    shown = shown.encode("unicode_escape").decode("ascii") if not shown.isprintable() else shown
    return shown if len(shown) <= _MAX_KEY_CHARACTERS else f"{shown[:_MAX_KEY_CHARACTERS]}…"


def _nearest(key: str, model: type[ToolArguments]) -> str | None:
    matches = difflib.get_close_matches(key[:_MAX_KEY_CHARACTERS], list(model.model_fields), n=1)
    return matches[0] if matches else None


def _accepted(model: type[ToolArguments]) -> str:
    names = [
        name if field.is_required() else f"{name} (optional)"
        for name, field in model.model_fields.items()
    ]
    return ", ".join(names) if names else "none"
