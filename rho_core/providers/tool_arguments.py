"""The arguments of a streamed tool call, once complete (C80, C87, case:H5, case:H11, case:H12).

Malformed arguments are never replaced by an empty object. They are handed on as the JSON string
that arrived: not an object, which is what the loop's rule for malformed responses looks for.
"""

from __future__ import annotations

from collections.abc import Sequence

from rho_core.history.messages import ToolCall
from rho_core.json_values import FrozenObject, parse_json
from rho_core.providers.contract import ToolSpec


def finished_call(id: str, name: str, arguments: str, tools: Sequence[ToolSpec]) -> ToolCall:
    """The call as it is stored.

    An empty argument text means `{}` for a tool without required fields, and for an unknown tool.
    """
    return ToolCall(id, name, _arguments(name, arguments, tools))


def _arguments(name: str, text: str, tools: Sequence[ToolSpec]) -> FrozenObject:
    if not text.strip():
        if not any(spec.name == name and spec.input_schema.get("required") for spec in tools):
            return FrozenObject()
        return _malformed(text)
    try:
        value = parse_json(text)
    except ValueError:
        return _malformed(text)
    return value if isinstance(value, FrozenObject) else _malformed(text)


def _malformed(text: str) -> FrozenObject:
    valid = text.encode("utf-8", "replace").decode("utf-8")
    return valid  # type: ignore[return-value]  # deliberately no object: C80 rejects the response
