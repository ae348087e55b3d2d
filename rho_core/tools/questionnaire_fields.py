"""Reading the fields of a questionnaire: closed objects, trimmed texts, refusals with a place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rho_core.errors import ToolError
from rho_core.questions import HostQuestion

MAX_TEXT_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question with what the host's value does not keep."""

    host: HostQuestion
    kind: str
    has_explicit_id: bool


def known_keys(value: Mapping[str, Any], accepted: Collection[str], place: str) -> None:
    """Refuse any other key (2.2)."""
    for key in value:
        if key not in accepted:
            shown = key[:80].encode("unicode_escape").decode()
            raise invalid(f"{place}unknown key '{shown}'; accepted keys: {', '.join(accepted)}")


def text_at(value: Mapping[str, Any], key: str, place: str) -> str:
    """An optional text, trimmed; absent, null and blank are all empty (19.3)."""
    text = value.get(key)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise invalid(f"{place}{key} must be text")
    if len(text) > MAX_TEXT_CHARACTERS:
        raise invalid(f"{place}{key} must have at most {MAX_TEXT_CHARACTERS} characters")
    return text.strip()


def invalid(message: str) -> ToolError:
    """A refusal of the arguments."""
    return ToolError.invalid_arguments(message)
