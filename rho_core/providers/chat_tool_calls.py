"""Putting streamed Chat Completions tool calls together (9.3, case:H5, case:H6, case:H8).

The vendor's own stream gives every fragment an index and the first one an id and a name. Other
servers leave out indexes or ids, use index 0 for every call, repeat id and name in each fragment,
or send arguments as an object. Each rule below answers one of these.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rho_core.history.messages import ToolCall
from rho_core.json_values import canonical_json, parse_json
from rho_core.providers.contract import ToolCallDelta, ToolSpec
from rho_core.providers.json_fields import count_at, object_at, text_at
from rho_core.providers.tool_arguments import finished_call


@dataclass(slots=True)
class _Call:
    number: int
    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def complete(self) -> bool:
        text = self.arguments
        if not text.rstrip().endswith("}"):
            return False
        try:
            parse_json(text)
        except ValueError:
            return False
        return True


class ChatToolCalls:
    """The tool calls of one answer, numbered in the order in which they began."""

    __slots__ = ("_by_index", "_calls")

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def feed(self, fragment: Any) -> tuple[ToolCallDelta, bool] | None:
        """Take one entry of `delta.tool_calls`; tells what is new and whether a call began.

        None when the entry says nothing. A name or an id is passed on only when it is new.
        """
        if not isinstance(fragment, dict):
            return None
        function = object_at(fragment, "function")
        call_id, name = text_at(fragment, "id"), text_at(function, "name")
        arguments = _argument_text(function.get("arguments"))
        if not (call_id or name or arguments) and not self._calls:
            return None
        call, began = self._call_for(count_at(fragment, "index"), call_id, name, arguments)
        new_id = call_id if call_id and not call.id else ""
        new_name = name if name and not call.name else ""
        call.id = call.id or new_id
        call.name = call.name or new_name
        if arguments:
            call.pieces.append(arguments)
        if not (new_id or new_name or arguments or began):
            return None
        return ToolCallDelta(call.number, new_id or None, new_name or None, arguments), began

    def generated_ids(self) -> list[ToolCallDelta]:
        """Give an id to every call that came without one, and tell it."""
        deltas = []
        for call in self._calls:
            if not call.id:
                call.id = f"call_{uuid.uuid4().hex[:24]}"
                deltas.append(ToolCallDelta(call.number, id=call.id))
        return deltas

    def finish(self, tools: Sequence[ToolSpec]) -> dict[int, ToolCall]:
        """The complete calls by number."""
        return {
            call.number: finished_call(call.id, call.name, call.arguments, tools)
            for call in self._calls
        }

    @property
    def cut_off(self) -> str | None:
        """The name of a call whose arguments began and did not end, if there is one."""
        return next((call.name for call in self._calls if call.pieces and not call.complete), None)

    def _call_for(
        self, index: int | None, call_id: str, name: str, arguments: str
    ) -> tuple[_Call, bool]:
        known = self._by_index.get(index) if index is not None else self._last()
        if index is None and call_id:
            known = next((call for call in self._calls if call.id == call_id), known)
        if known is not None and not _starts_another(known, call_id, name, arguments, index):
            return known, False
        call = _Call(len(self._calls), index)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call, True

    def _last(self) -> _Call | None:
        return self._calls[-1] if self._calls else None


def _starts_another(
    known: _Call, call_id: str, name: str, arguments: str, index: int | None
) -> bool:
    """Whether a fragment that points at `known` belongs to a further call after all."""
    if call_id and known.id:
        return call_id != known.id
    if name and known.name and name != known.name:
        return True
    # without ids only a finished object tells that the next named piece is another call
    return bool(name and known.name and arguments and known.complete)


def _argument_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return canonical_json(value) if isinstance(value, dict) else ""
