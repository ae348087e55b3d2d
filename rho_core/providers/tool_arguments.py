"""The arguments of a streamed tool call, once complete (C80, C87, L7, case:H5, H11, H12).

What is no JSON object is never replaced by one: it is handed on as the JSON string that arrived,
which is what the loop's rule for malformed responses looks for. What is an object but breaks the
rules of JSON (half a surrogate pair, a key given twice, NaN) becomes a call that fails: the model
reads what is wrong with it, and what goes back as history is valid.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from rho_core.history.messages import ToolCall
from rho_core.json_values import FrozenObject, freeze, parse_json
from rho_core.providers.contract import ToolSpec

_MAX_PROBLEMS = 3
_MAX_KEY = 80


def finished_call(id: str, name: str, arguments: str, tools: Sequence[ToolSpec]) -> ToolCall:
    """The call as it is stored.

    An empty argument text means `{}` for a tool without required fields, and for an unknown tool.
    """
    if not arguments.strip():
        if any(spec.name == name and spec.input_schema.get("required") for spec in tools):
            return ToolCall(id, name, _malformed(arguments))
        return ToolCall(id, name, FrozenObject())
    try:
        value = parse_json(arguments)
    except ValueError:
        return _mended(id, name, arguments)
    return ToolCall(id, name, value if isinstance(value, FrozenObject) else _malformed(arguments))


def _malformed(text: str) -> FrozenObject:
    valid = text.encode("utf-8", "replace").decode("utf-8")
    return valid  # type: ignore[return-value]  # deliberately no object: C80 rejects the response


def _mended(id: str, name: str, text: str) -> ToolCall:
    """A call that only says what is wrong with its arguments, if they are an object at all."""
    reader = _LenientReader()
    try:
        value = reader.read(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return ToolCall(id, name, _malformed(text))
    return ToolCall(id, name, freeze(value), argument_error=reader.complaint())


class _LenientReader:
    """Reads what is nearly JSON into valid values, and notes each place where it was not."""

    def __init__(self) -> None:
        self._problems: dict[str, None] = {}  # in order, each once

    def read(self, text: str) -> Any:
        """The value with U+FFFD for half surrogate pairs and null for what is no number."""
        loaded = json.loads(
            text, strict=False, parse_constant=self._constant, object_pairs_hook=self._object
        )
        return self._valid(loaded, "")

    def complaint(self) -> str:
        """What is wrong, for the model to put right."""
        problems = list(self._problems) or ["a control character in a string is not escaped"]
        more = len(problems) - _MAX_PROBLEMS
        shown = problems[:_MAX_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])
        return f"{'; '.join(shown)}. Nothing was done; send the call again with valid JSON"

    def _note(self, problem: str) -> None:
        self._problems.setdefault(problem)

    def _constant(self, name: str) -> None:
        self._note(f"{name} is not JSON")

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, value in pairs:
            if key in members:
                self._note(f"the key '{_shown(key)}' is given more than once")
            members[key] = value
        return members

    def _valid(self, value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return {
                self._valid(key, f"{path}.{_shown(key)}".lstrip(".")): self._valid(
                    item, f"{path}.{_shown(key)}".lstrip(".")
                )
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._valid(item, f"{path}.{index}") for index, item in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            self._note(f"'{path}' is too large for a number")
            return None
        if isinstance(value, str) and not value.isascii():
            valid = _whole(value)
            if valid != value:
                self._note(f"'{path}' holds half of a surrogate pair, which is no character")
            return valid
        return value


def _whole(text: str) -> str:
    """The text with U+FFFD for every lone surrogate."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _shown(key: str) -> str:
    return _whole(key if len(key) <= _MAX_KEY else f"{key[:_MAX_KEY]}…")
