"""The closed set of errors that the core raises (C96–C100)."""

from __future__ import annotations

from enum import StrEnum

MAX_DIAGNOSTIC_BYTES = 16_384
_DIAGNOSTIC_MARKER = "\n[diagnostic truncated]"


class ErrorKind(StrEnum):
    """The stable label of an error, as hooks and hosts see it (I6)."""

    INVALID_CONFIGURATION = "invalid_configuration"
    AUTHENTICATION = "authentication"
    PROVIDER = "provider"
    TOOL = "tool"
    PERSISTENCE = "persistence"
    POLICY_DENIED = "policy_denied"
    RUNTIME_SHUTDOWN = "runtime_shutdown"
    SESSION_BUSY = "session_busy"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    INVALID_HOST_RESPONSE = "invalid_host_response"


class RhoError(Exception):
    """Base of every error that a host can meet. `message` has no prefix, `str()` has it (C97)."""

    kind: ErrorKind
    prefix: str = ""

    def __init__(self, message: str = "") -> None:
        self.message = message
        super().__init__(f"{self.prefix}{message}")

    @property
    def retryable(self) -> bool:
        """Whether trying the same thing again may work; only provider errors can say yes."""
        return False


class InvalidConfiguration(RhoError):
    """The host asked for something that cannot be built."""

    kind = ErrorKind.INVALID_CONFIGURATION
    prefix = "invalid configuration: "


class AuthenticationFailed(RhoError):
    """A credential is missing or was refused before a request could be made."""

    kind = ErrorKind.AUTHENTICATION
    prefix = "authentication failed: "


class PersistenceError(RhoError):
    """A snapshot cannot be read, or a commit cannot be recorded."""

    kind = ErrorKind.PERSISTENCE
    prefix = "persistence failed: "


class PolicyDenied(RhoError):
    """Policy refused an operation outside a tool call."""

    kind = ErrorKind.POLICY_DENIED
    prefix = "policy denied operation: "


class RuntimeShutdown(RhoError):
    """The runtime no longer accepts work (A42)."""

    kind = ErrorKind.RUNTIME_SHUTDOWN

    def __init__(self) -> None:
        super().__init__("runtime has been shut down")


class SessionBusy(RhoError):
    """The session already has an active run or compaction (B4)."""

    kind = ErrorKind.SESSION_BUSY

    def __init__(self) -> None:
        super().__init__("session already has an active run")


class Cancelled(RhoError):
    """The host's cancellation token was set. Not `asyncio.CancelledError`, which drops a task."""

    kind = ErrorKind.CANCELLED

    def __init__(self) -> None:
        super().__init__("operation cancelled")


class Interrupted(RhoError):
    """A peer of the operation went away: the consumer was dropped or a worker crashed."""

    kind = ErrorKind.INTERRUPTED
    prefix = "operation interrupted: "


class InvalidHostResponse(RhoError):
    """A host answer, a command or a collaborator's output does not fit."""

    kind = ErrorKind.INVALID_HOST_RESPONSE
    prefix = "invalid host response: "


class ProviderErrorKind(StrEnum):
    """Why a provider turn failed (C98)."""

    AUTHENTICATION = "authentication"
    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    INVALID_RESPONSE = "invalid_response"
    UNAVAILABLE = "unavailable"
    INTERRUPTED = "interrupted"
    CONTEXT_OVERFLOW = "context_overflow"
    OTHER = "other"


class ProviderError(RhoError):
    """A failed provider turn. Neither `str()` nor `repr()` ever shows the diagnostic (C99).

    Args:
        provider_kind: What went wrong.
        message: One line for people; no credentials, no bodies.
        retryable: Whether the same request may be sent again.
        retry_after: Seconds the provider asked us to wait, if it did.
        diagnostic: Raw detail such as a response body, cut to 16 KiB of UTF-8.
    """

    kind = ErrorKind.PROVIDER
    prefix = "provider failed: "

    def __init__(
        self,
        provider_kind: ProviderErrorKind,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        diagnostic: str | None = None,
    ) -> None:
        super().__init__(message)
        self.provider_kind = provider_kind
        self.retry_after = retry_after
        self.diagnostic = None if diagnostic is None else _bounded_diagnostic(diagnostic)
        self._retryable = retryable

    @property
    def retryable(self) -> bool:
        """Whether the same request may be sent again."""
        return self._retryable

    def __repr__(self) -> str:
        return (
            f"ProviderError({self.provider_kind.value!r}, {self.message!r}, "
            f"retryable={self._retryable}, retry_after={self.retry_after}, "
            f"diagnostic={'[redacted]' if self.diagnostic else None})"
        )


class ToolErrorKind(StrEnum):
    """Why a tool call failed (D42)."""

    INVALID_ARGUMENTS = "invalid_arguments"
    EXECUTION = "execution"
    POLICY_DENIED = "policy_denied"
    CANCELLED = "cancelled"


class ToolError(RhoError):
    """A failed tool call. The model sees `message`, without a prefix.

    `details` are card facts as in `ToolMetadata.details`; a failed command has an exit code too.
    """

    kind = ErrorKind.TOOL
    prefix = "tool failed: "

    def __init__(self, tool_kind: ToolErrorKind, message: str) -> None:
        super().__init__(message)
        self.tool_kind = tool_kind
        self.details: dict[str, object] = {}

    def with_details(self, **details: object) -> ToolError:
        """This error, with more card facts."""
        self.details.update(details)
        return self

    @classmethod
    def invalid_arguments(cls, message: str) -> ToolError:
        """The model's arguments do not fit; the message says what would."""
        return cls(ToolErrorKind.INVALID_ARGUMENTS, f"invalid arguments: {message}")

    @classmethod
    def execution(cls, message: str) -> ToolError:
        """The tool tried and failed."""
        return cls(ToolErrorKind.EXECUTION, message)

    @classmethod
    def policy_denied(cls, message: str) -> ToolError:
        """Authority was refused."""
        return cls(ToolErrorKind.POLICY_DENIED, message)

    @classmethod
    def cancelled(cls) -> ToolError:
        """The call observed cancellation."""
        return cls(ToolErrorKind.CANCELLED, "tool call cancelled")


def format_retry_after(seconds: float) -> str:
    """A wait as people write it: `now`, `12s`, `1m 30s`, `1h 30m` (C100)."""
    if seconds <= 0:
        return "now"
    whole = max(1, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes}m {rest}s" if rest else f"{minutes}m"
    hours, rest = divmod(whole, 3600)
    return f"{hours}h {rest // 60}m" if rest >= 60 else f"{hours}h"


def _bounded_diagnostic(text: str) -> str:
    from rho_core.text import truncate_utf8

    return truncate_utf8(text, MAX_DIAGNOSTIC_BYTES, marker=_DIAGNOSTIC_MARKER, within=True)
