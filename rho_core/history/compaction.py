"""Compaction: policy, request, outcome and the state that survives it (J6–J13)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompactionOutcome:
    """What a compaction did. Token figures are estimates (J12)."""

    previous_messages: int
    current_messages: int
    previous_tokens: int
    current_tokens: int
