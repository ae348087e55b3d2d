"""The bounded envelope in which every hook event travels (I3, I10)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rho_core.hooks.bounds import BoundsReport, HookBounds
from rho_core.hooks.events import HOOK_SCHEMA_VERSION, HookEvent
from rho_core.hooks.payload import HookPayload
from rho_core.ids import HookEventId
from rho_core.json_values import FrozenObject, canonical_json


@dataclass(frozen=True, slots=True)
class HookIdentity:
    """Which session and run an event belongs to; bounded text."""

    session_id: str | None = None
    parent_session_id: str | None = None
    run_id: str | None = None


class HookEnvelopeTooLarge(Exception):
    """An envelope exceeds its bound; it is refused, never silently shortened (I10)."""

    def __init__(self, event: HookEvent, size: int, limit: int) -> None:
        super().__init__(f"hook envelope of {event.value} has {size} bytes, the limit is {limit}")
        self.event = event
        self.size = size
        self.limit = limit


@dataclass(frozen=True, slots=True)
class HookEnvelope:
    """One event. Every text in it is already bounded; `bounds` names what was cut."""

    payload: HookPayload
    event_id: HookEventId
    timestamp_unix_ms: int
    identity: HookIdentity = field(default_factory=HookIdentity)
    host_labels: FrozenObject = field(default_factory=FrozenObject)
    workspace_root: str | None = None
    bounds: BoundsReport = field(default_factory=BoundsReport)

    @property
    def event(self) -> HookEvent:
        """What happened."""
        return self.payload.event

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, keys in wire order."""
        return {
            "schema_version": HOOK_SCHEMA_VERSION,
            "event": self.event.value,
            "event_id": str(self.event_id),
            "timestamp_unix_ms": self.timestamp_unix_ms,
            "identity": {
                "session_id": self.identity.session_id,
                "parent_session_id": self.identity.parent_session_id,
                "run_id": self.identity.run_id,
            },
            "host_labels": self.host_labels,
            "workspace": {"root": self.workspace_root},
            "bounds": {"truncated": self.bounds.truncated, "fields": self.bounds.fields},
            "payload": self.payload.to_dict(),
        }

    def to_bounded_json(self, bounds: HookBounds) -> str:
        """Compact JSON. Raises `HookEnvelopeTooLarge` above the envelope bound."""
        text = canonical_json(self.to_dict())
        size = len(text.encode())
        if size > bounds.max_envelope_bytes:
            raise HookEnvelopeTooLarge(self.event, size, bounds.max_envelope_bytes)
        return text
