"""The closed set of errors (C96–C100, D42)."""

from __future__ import annotations

import pytest

from rho_core.errors import (
    MAX_DIAGNOSTIC_BYTES,
    AuthenticationFailed,
    Cancelled,
    Interrupted,
    InvalidConfiguration,
    InvalidHostResponse,
    PersistenceError,
    PolicyDenied,
    ProviderError,
    ProviderErrorKind,
    RuntimeShutdown,
    SessionBusy,
    ToolError,
    ToolErrorKind,
    format_retry_after,
)
from rho_core.events import ProviderDiagnostic


@pytest.mark.clause("C97")
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InvalidConfiguration("x"), "invalid configuration: x"),
        (AuthenticationFailed("x"), "authentication failed: x"),
        (ProviderError(ProviderErrorKind.OTHER, "x"), "provider failed: x"),
        (ToolError.execution("x"), "tool failed: x"),
        (PersistenceError("x"), "persistence failed: x"),
        (PolicyDenied("x"), "policy denied operation: x"),
        (RuntimeShutdown(), "runtime has been shut down"),
        (SessionBusy(), "session already has an active run"),
        (Cancelled(), "operation cancelled"),
        (Interrupted("x"), "operation interrupted: x"),
        (InvalidHostResponse("x"), "invalid host response: x"),
    ],
)
def test_display_texts(error, text: str) -> None:
    assert str(error) == text
    assert not error.retryable


@pytest.mark.clause("C96", "C98")
def test_provider_retryability_is_independent_of_the_kind() -> None:
    for kind in ProviderErrorKind:
        assert ProviderError(kind, "x", retryable=True).retryable
        assert not ProviderError(kind, "x").retryable


@pytest.mark.clause("C99")
def test_the_diagnostic_is_explicit_and_not_in_display_or_repr() -> None:
    error = ProviderError(ProviderErrorKind.OTHER, "x", diagnostic="hunter2", retry_after=12)
    assert error.diagnostic == "hunter2"
    for shown in (str(error), repr(error), repr(ProviderDiagnostic("hunter2"))):
        assert "hunter2" not in shown
    assert "redacted" in repr(error)
    assert "retry_after=12" in repr(error)
    assert "diagnostic=None" in repr(ProviderError(ProviderErrorKind.OTHER, "x"))


@pytest.mark.clause("C99")
def test_diagnostics_are_cut_at_a_character_with_a_marker() -> None:
    error = ProviderError(ProviderErrorKind.OTHER, "x", diagnostic="ä" * 20_000)
    assert error.diagnostic is not None
    size = len(error.diagnostic.encode())
    assert MAX_DIAGNOSTIC_BYTES - 2 < size <= MAX_DIAGNOSTIC_BYTES == 16_384
    assert error.diagnostic.endswith("ä\n[diagnostic truncated]")
    exact = ProviderError(ProviderErrorKind.OTHER, "x", diagnostic="a" * MAX_DIAGNOSTIC_BYTES)
    assert exact.diagnostic == "a" * MAX_DIAGNOSTIC_BYTES


@pytest.mark.clause("C100")
@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "now"), (0.2, "1s"), (12, "12s"), (60, "1m"), (90, "1m 30s"), (3600, "1h"),
        (5400, "1h 30m"),
    ],
)  # fmt: skip
def test_format_retry_after_scales(seconds: float, text: str) -> None:
    assert format_retry_after(seconds) == text


@pytest.mark.clause("D42")
def test_tool_errors_carry_what_the_model_reads() -> None:
    assert ToolError.cancelled().message == "tool call cancelled"
    assert ToolError.cancelled().tool_kind is ToolErrorKind.CANCELLED
    assert ToolError.policy_denied("no").message == "no"
    assert ToolError.invalid_arguments("x").message == "invalid arguments: x"
