"""Request bodies as JSON, without writing again what was written for the last request.

A body holds the whole history, and each step only adds to it. What was rendered of a message is a
`WirePart`, which keeps its JSON; lists of them are written part by part.
"""

from __future__ import annotations

from typing import Any, TypeVar

from rho_core.json_values import canonical_json

T = TypeVar("T")


class WirePart(dict[str, Any]):
    """A JSON object of a request. It is never changed once it is part of a body: make a new one."""

    __slots__ = ("written",)

    written: bytes


class WireList(list[T]):
    """A JSON array of parts, or of objects that hold such arrays."""

    __slots__ = ()


def encode_body(body: object) -> bytes:
    """A request as UTF-8 JSON; half a surrogate pair becomes `?`, no server takes it."""
    if isinstance(body, WirePart):
        return _once(body)
    if isinstance(body, WireList):
        return b"[%s]" % b",".join(map(encode_body, body))
    if isinstance(body, dict) and any(isinstance(value, WireList) for value in body.values()):
        items = (b"%s:%s" % (_json(name), encode_body(value)) for name, value in body.items())
        return b"{%s}" % b",".join(items)
    return _json(body)


def _once(part: WirePart) -> bytes:
    try:
        return part.written
    except AttributeError:
        part.written = written = _json(part)
        return written


def _json(value: object) -> bytes:
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(value)  # three times as fast
    except PydanticSerializationError:  # half a surrogate pair, or nested very deeply
        return canonical_json(value).encode("utf-8", "replace")
