"""Whether a provider's finished answer can be used at all (C80)."""

from __future__ import annotations

from collections.abc import Mapping

from rho_core.history.messages import ToolCall
from rho_core.providers.contract import ModelResponse


def find_malformation(response: ModelResponse) -> str | None:
    """The defects of a response as one message, None when it is well formed."""
    if not response.content:
        return "provider returned an empty assistant response"
    issues: list[str] = []
    seen: set[str] = set()
    for index, block in enumerate(response.content):
        if isinstance(block, ToolCall):
            issues += _defects(block, index, seen)
            seen.add(block.id)
    if not issues:
        return None
    return f"provider returned a malformed assistant response: {'; '.join(issues)}"


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)  # a provider is host code and may ignore its types


def _defects(call: ToolCall, index: int, seen: set[str]) -> list[str]:
    defects = []
    if not call.id:
        defects.append(f"tool call at block {index} has an empty id")
    elif call.id in seen:
        defects.append(f"tool call id '{call.id}' is repeated")
    if not call.name:
        defects.append(f"tool call at block {index} has an empty name")
    if not _is_object(call.arguments):
        defects.append(f"tool call at block {index} has arguments that are not an object")
    return defects
