"""The lifecycle events that hooks may see (I1, I2)."""

from __future__ import annotations

from enum import StrEnum

#: The version of the wire shape that an envelope announces.
HOOK_SCHEMA_VERSION = 2


class HookEvent(StrEnum):
    """What happened; the value is the name on the wire."""

    SESSION_STARTED = "session_started"
    BEFORE_TOOL_USE = "before_tool_use"
    AFTER_TOOL_USE = "after_tool_use"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"
    SESSION_COMPLETED = "session_completed"
    SESSION_FAILED = "session_failed"

    @classmethod
    def from_wire(cls, name: str) -> HookEvent | None:
        """The event of that name, None for an unknown one."""
        return cls._value2member_map_.get(name)  # type: ignore[return-value]  # members only

    @property
    def is_blocking(self) -> bool:
        """Whether the run waits for a gate; such an event never goes to the observer."""
        return self is HookEvent.BEFORE_TOOL_USE

    @property
    def is_post_action(self) -> bool:
        """Whether the event reports something that has already happened."""
        return self in (
            HookEvent.AFTER_TOOL_USE,
            HookEvent.RUN_COMPLETED,
            HookEvent.RUN_FAILED,
            HookEvent.SESSION_FAILED,
        )
