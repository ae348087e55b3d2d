"""From an HTTP answer or a transport failure to a `ProviderError` (C98, C99, case:H14, case:H21).

Messages are one line for people: who failed, how, what to check. The whole body goes into the
diagnostic. Neither ever holds a credential.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.providers.json_fields import object_at, text_at

MAX_MESSAGE_CHARACTERS = 300

_REDACTED = "[redacted]"
_KEY_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|key|xai|gsk|AIza)[-_][A-Za-z0-9_\-]{12,}|(?i:bearer)\s+[A-Za-z0-9._~+/=\-]{8,}"
)
_TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_NOT_PLAIN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\s]+")
_OVERFLOW = re.compile(
    r"context[ _-]?(length|window)|maximum context|prompt is too long|too many tokens"
    r"|input (length|is too long)|exceeds? the (available )?context|reduce the length",
    re.IGNORECASE,
)
_NO_RETRY_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})
_CODE_STATUS = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "rate_limited": 429,
    "insufficient_quota": 429,
    "billing_error": 402,
    "timeout_error": 504,
    "overloaded_error": 529,
    "overloaded": 529,
    "api_error": 500,
    "server_error": 500,
    "internal_server_error": 500,
    "service_unavailable": 503,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "request_too_large": 413,
    "not_found_error": 404,
}
_UNAVAILABLE = frozenset({408, 409, 425})


@dataclass(frozen=True, slots=True)
class Redactor:
    """Removes known secrets, and what looks like a key, from text."""

    secrets: tuple[str, ...] = ()

    def __call__(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, _REDACTED)
        return _KEY_SHAPES.sub(_REDACTED, text)

    def __repr__(self) -> str:
        return f"Redactor({len(self.secrets)} secrets)"

    @classmethod
    def of(cls, secrets: Sequence[str]) -> Redactor:
        """For these values; longest first, so that no part of one survives another."""
        known = {secret for secret in secrets if len(secret) >= 4}
        return cls(tuple(sorted(known, key=len, reverse=True)))


def one_line(text: str, limit: int = MAX_MESSAGE_CHARACTERS) -> str:
    """`text` without control characters and line breaks, cut to `limit` characters."""
    line = _NOT_PLAIN.sub(" ", text).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What an error body says: a message and the vendor's code or type words."""

    message: str
    codes: frozenset[str]
    status: int | None = None


def parse_error_body(body: str) -> ErrorBody:
    """Read the JSON shapes of the vendors and of local servers, HTML, or plain text."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ErrorBody(one_line(_readable(body)), frozenset())
    return parse_error_value(value)


def parse_error_value(value: Any) -> ErrorBody:
    """The same for a parsed body, or for an error object inside a stream."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, str):
        return ErrorBody(one_line(value), frozenset())
    error = object_at(value, "error") or (value if isinstance(value, dict) else {})
    codes = [error.get("code"), error.get("type"), error.get("status")]
    words = frozenset(word for word in codes if isinstance(word, str) and word != "error")
    number = next((c for c in codes if isinstance(c, int) and not isinstance(c, bool)), None)
    status = number if number is not None and 400 <= number <= 599 else None
    return ErrorBody(one_line(_message_in(value, error)), words, status)


def _message_in(value: Any, error: Mapping[str, Any]) -> str:
    for holder, key in (
        (error, "message"),
        (value, "error"),
        (value, "message"),
        (value, "detail"),
    ):
        if text := text_at(holder, key):
            return text
    detail = value.get("detail") if isinstance(value, dict) else None
    if isinstance(detail, list):  # FastAPI names the fields that it refused
        return "; ".join(
            f"{'.'.join(str(part) for part in item.get('loc') or ())}: {text_at(item, 'msg')}"
            for item in detail
            if isinstance(item, dict) and isinstance(item.get("loc") or (), list | tuple)
        )
    return ""


def _readable(body: str) -> str:
    if "<" not in body:
        return body
    title = _TITLE.search(body)
    return title.group(1) if title and title.group(1).strip() else _TAGS.sub(" ", body)


def parse_retry_after(header: str | None, now: float | None = None) -> float | None:
    """Seconds to wait from a `Retry-After` header: a number or an HTTP date. None if unreadable."""
    text = (header or "").strip()
    if not text:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text):
        return float(text)
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
    return max(0.0, at - (time.time() if now is None else now))


def error_from_status(
    status: int,
    body: str,
    *,
    host: str,
    redact: Redactor,
    retry_after: float | None = None,
) -> ProviderError:
    """The error for a non-success answer of `host`."""
    return _error(parse_error_body(body), status, body, host, redact, retry_after)


def error_from_stream(value: Any, *, host: str, redact: Redactor) -> ProviderError:
    """The error for an error object inside a stream that began with 200 (case:H15)."""
    parsed = parse_error_value(value)
    status = parsed.status or next(
        (_CODE_STATUS[code] for code in sorted(parsed.codes) if code in _CODE_STATUS), None
    )
    raw = json.dumps(value, ensure_ascii=False)
    if status is None:
        # nothing tells what went wrong, and a stream that had begun well may do so again
        said = redact(parsed.message) or "no message"
        message = f"{host} reported an error while answering: {said}"
        return ProviderError(
            ProviderErrorKind.UNAVAILABLE, message, retryable=True, diagnostic=redact(raw)
        )
    return _error(parsed, status, raw, host, redact, None)


def _error(
    parsed: ErrorBody,
    status: int,
    body: str,
    host: str,
    redact: Redactor,
    retry_after: float | None,
) -> ProviderError:
    kind, retryable = classify(status, parsed)
    said = redact(parsed.message)
    text = f"{host} {_explain(kind, status)}"
    message = f"{text}: {said}" if said else text
    return ProviderError(
        kind,
        one_line(message, MAX_MESSAGE_CHARACTERS + 100),
        retryable=retryable,
        retry_after=retry_after if retryable else None,
        diagnostic=redact(body) if body else None,
    )


def classify(status: int, body: ErrorBody) -> tuple[ProviderErrorKind, bool]:
    """The kind of a failure and whether the same request may be sent again."""
    if status in (401, 403):
        return ProviderErrorKind.AUTHENTICATION, False
    if status == 429:
        return ProviderErrorKind.RATE_LIMIT, not (body.codes & _NO_RETRY_CODES)
    if status in _UNAVAILABLE or status >= 500:
        return ProviderErrorKind.UNAVAILABLE, True
    overflow = "context_length_exceeded" in body.codes or _OVERFLOW.search(body.message)
    if status == 413 or (status in (400, 422) and overflow):
        return ProviderErrorKind.CONTEXT_OVERFLOW, False
    return ProviderErrorKind.OTHER, False


def _explain(kind: ProviderErrorKind, status: int) -> str:
    if kind is ProviderErrorKind.AUTHENTICATION:
        return f"refused the credentials (HTTP {status}); check the API key"
    if kind is ProviderErrorKind.RATE_LIMIT:
        return f"is limiting requests (HTTP {status})"
    if kind is ProviderErrorKind.CONTEXT_OVERFLOW:
        return f"says the conversation is too long for the model (HTTP {status})"
    if kind is ProviderErrorKind.UNAVAILABLE:
        return f"is not available right now (HTTP {status})"
    if status < 400:
        return f"sends us elsewhere (HTTP {status}); check the base URL"
    if status == 404:
        return "knows no such model or address (HTTP 404); check the model name and the base URL"
    return f"refused the request (HTTP {status})"
