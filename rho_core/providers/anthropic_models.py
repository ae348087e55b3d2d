"""What is known of Anthropic models by name: how they think, and how much they may answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_VERSION = re.compile(r"(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


class ThinkingStyle(StrEnum):
    """How thinking is asked for: not at all, with a token budget, or adaptive with an effort."""

    NONE = "none"
    BUDGET = "budget"
    ADAPTIVE = "adaptive"


@dataclass(frozen=True, slots=True)
class AnthropicModel:
    """The thinking style of a model and the default for `max_tokens`."""

    thinking: ThinkingStyle
    max_tokens: int


def anthropic_model(name: str) -> AnthropicModel:
    """Judge a model by its version. A foreign model behind the same API gets no thinking."""
    lowered = name.lower()
    if "claude" not in lowered:
        return AnthropicModel(ThinkingStyle.NONE, 8_192)
    if "mythos" in lowered:
        return AnthropicModel(ThinkingStyle.ADAPTIVE, 64_000)
    found = _VERSION.search(lowered)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    if version >= (4, 6):
        return AnthropicModel(ThinkingStyle.ADAPTIVE, 64_000)
    if version >= (4, 0):
        return AnthropicModel(ThinkingStyle.BUDGET, 32_000)
    if version >= (3, 7):
        return AnthropicModel(ThinkingStyle.BUDGET, 64_000)
    return AnthropicModel(ThinkingStyle.NONE, 8_192 if version >= (3, 5) else 4_096)
