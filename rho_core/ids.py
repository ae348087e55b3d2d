"""Opaque identifiers and the session revision (B1, B2)."""

from __future__ import annotations

import uuid
from typing import Self

_MAX_REVISION = 2**64 - 1


class _Id(str):
    """A non-empty opaque string; called without an argument it makes a random one."""

    __slots__ = ()

    def __new__(cls, value: str | None = None) -> Self:
        text = str(uuid.uuid4()) if value is None else value
        if not text:
            raise ValueError("identifier must not be empty")
        return super().__new__(cls, text)


class SessionId(_Id):
    """Names a conversation."""


class RunId(_Id):
    """Names one run of a session."""


class ToolCallId(_Id):
    """Names a tool call; chosen by the provider."""


class SteeringId(_Id):
    """Names a staged steering input."""


class HostInputId(_Id):
    """Names a question put to the host."""


class HookEventId(_Id):
    """Names one hook envelope."""


class UsageEventId(_Id):
    """Names one recorded provider request."""


class Revision(int):
    """An unsigned 64-bit counter of commits; it never wraps."""

    def __new__(cls, value: int = 0) -> Self:
        if isinstance(value, bool) or not 0 <= value <= _MAX_REVISION:
            raise ValueError("revision must be an unsigned 64-bit integer")
        return super().__new__(cls, value)

    def checked_next(self) -> Revision | None:
        """The following revision, or None when there is none."""
        return None if self == _MAX_REVISION else Revision(int(self) + 1)
