from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.errors import InvalidConfiguration, ProviderErrorKind
from rho_core.providers.http_errors import (
    Redactor,
    error_from_status,
    one_line,
    parse_error_body,
    parse_retry_after,
)
from rho_core.providers.openai_chat import OpenAIChatProvider
from rho_core.secret import SecretString

K = ProviderErrorKind
KEY = "plain.secret.value.0123"  # of no known shape: only knowing it can redact it


def error(status: int, body: str = "", **options: float) -> object:
    return error_from_status(status, body, host="h:1", redact=Redactor.of([KEY]), **options)


@pytest.mark.clause("C98", "case:H14")
@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, K.OTHER, False),
        (401, K.AUTHENTICATION, False),
        (402, K.OTHER, False),
        (403, K.AUTHENTICATION, False),
        (404, K.OTHER, False),
        (408, K.UNAVAILABLE, True),
        (409, K.UNAVAILABLE, True),
        (413, K.CONTEXT_OVERFLOW, False),
        (422, K.OTHER, False),
        (425, K.UNAVAILABLE, True),
        (429, K.RATE_LIMIT, True),
        (500, K.UNAVAILABLE, True),
        (502, K.UNAVAILABLE, True),
        (503, K.UNAVAILABLE, True),
        (529, K.UNAVAILABLE, True),
        (301, K.OTHER, False),
    ],
)
def test_a_status_has_a_kind(status: int, kind: ProviderErrorKind, retryable: bool) -> None:
    failure = error_from_status(status, "", host="h:1", redact=Redactor())
    assert (failure.provider_kind, failure.retryable) == (kind, retryable)
    assert f"HTTP {status}" in failure.message
    assert failure.message.startswith("h:1 ")


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "This model's maximum context length is 8192 tokens"}},
        {"error": {"message": "too big", "code": "context_length_exceeded"}},
        {
            "type": "error",
            "error": {"message": "prompt is too long: 210000 tokens"},
        },
        {"error": {"message": "the request exceeds the available context size"}},
    ],
)
def test_a_conversation_that_is_too_long_is_its_own_kind(body: object) -> None:
    failure = error_from_status(400, json.dumps(body), host="h", redact=Redactor())
    assert (failure.provider_kind, failure.retryable) == (K.CONTEXT_OVERFLOW, False)


@pytest.mark.clause("case:H14")
def test_an_exhausted_quota_is_not_retried() -> None:
    body = '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}'
    failure = error_from_status(429, body, host="h", redact=Redactor(), retry_after=5)
    assert (failure.provider_kind, failure.retryable) == (K.RATE_LIMIT, False)
    assert failure.retry_after is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"error":{"message":"why","type":"t","code":null}}', "why"),
        ('{"type":"error","error":{"type":"x","message":"why"}}', "why"),
        ('{"error":"why"}', "why"),
        ('{"message":"why"}', "why"),
        ('{"detail":"why"}', "why"),
        (
            '{"detail":[{"loc":["body","model"],"msg":"missing"},{"loc":null,"msg":"b"}]}',
            "body.model: missing; : b",
        ),
        ('[{"error":{"message":"why"}}]', "why"),
        ('"why"', "why"),
        ("why\n\x1b[31m so\u2028?", "why [31m so ?"),
        (
            "<html><title>502 Bad\nGateway</title><body>x</body></html>",
            "502 Bad Gateway",
        ),
        ("<html><script>evil()</script><h1>Down</h1> now</html>", "Down now"),
        ("", ""),
        ("null", ""),
        ("[]", ""),
        ("{" * 50_000, "…"),
        ('{"error":{"message":5,"code":[]}}', ""),
        ('{"detail":[5,{"loc":"x","msg":1}]}', ""),
    ],
)
def test_a_body_gives_one_line(body: str, message: str) -> None:
    found = parse_error_body(body).message
    assert found == message if message != "…" else found.endswith("…")
    assert len(found) <= 300


@settings(max_examples=100)
@given(
    st.one_of(
        st.text(max_size=80),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["error", "message", "code", "type", "detail"]), inner
                )
            ),
            max_leaves=8,
        ).map(json.dumps),
    )
)
def test_no_body_can_break_the_classification(body: str) -> None:
    failure = error_from_status(400, body, host="h", redact=Redactor())
    assert not {unicodedata.category(c) for c in failure.message} & {"Cc", "Zl", "Zp"}


@pytest.mark.clause("case:H14")
@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2.0),
        ("0", 0.0),
        (" 1.5 ", 1.5),
        ("99999", 99999.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 60.0),
        ("Wed, 21 Oct 2020 07:28:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("", None),
        (None, None),
        ("1e400", None),
    ],
)
def test_retry_after_in_seconds_or_as_a_date(header: str | None, seconds: float | None) -> None:
    now = 1_792_567_620.0  # 2026-10-21 07:27:00 UTC
    assert parse_retry_after(header, now) == seconds


@pytest.mark.clause("C99")
def test_no_key_survives_in_message_or_diagnostic() -> None:
    said = f"bad key {KEY} and Bearer abcdefgh12345 and sk-proj-AAAABBBBCCCC"
    body = json.dumps({"error": {"message": said}})
    failure = error_from_status(401, body, host="h", redact=Redactor.of([KEY]))
    shown = f"{failure} {failure!r} {failure.diagnostic}"
    for secret in (KEY, "abcdefgh12345", "AAAABBBBCCCC"):
        assert secret not in shown
    assert "check the API key" in failure.message
    assert KEY not in repr(Redactor.of([KEY]))


def test_one_line_is_cut_with_a_mark() -> None:
    assert one_line("x" * 500) == "x" * 299 + "…"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "ftp://x/",
        "http://",
        "http://u:p@x/",
        "http://x/?q=1",
        "http://x/#f",
        "http://[::1",
        "http://x:99999/",
    ],
)
def test_an_unusable_base_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidConfiguration, match="base URL"):
        OpenAIChatProvider(url, None, "m")


@pytest.mark.clause("C101")
def test_a_key_is_taken_as_a_secret_and_never_shown() -> None:
    provider = OpenAIChatProvider("http://x/v1", SecretString(f" {KEY}\n"), "m")
    assert KEY not in repr(provider)
    assert KEY not in repr(vars(provider))
    with pytest.raises(InvalidConfiguration) as caught:
        OpenAIChatProvider("http://x/v1", "geheim schlüssel", "m")
    assert "geheim" not in str(caught.value)
