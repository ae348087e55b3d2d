"""Enumerations among the host's facts: the first screen needs these and no others."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How loud a notice is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class TurnEndKind(StrEnum):
    """How a turn ended.

    `INTERRUPTED`: the process died (or the run was dropped) before it could end; only a replay or
    a dropped run has it.
    """

    COMPLETED = "completed"
    MAX_STEPS = "max_steps"
    CANCELLED = "cancelled"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
