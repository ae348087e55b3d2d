"""Reading typed fields out of untrusted JSON objects: no coercion, every failure names its place.

`where` is a dotted place for the message, such as `history[3].User`. All functions raise
`PersistenceError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from rho_core.errors import PersistenceError

T = TypeVar("T")

_U64_MAX = 2**64 - 1


def malformed(where: str, expected: str) -> PersistenceError:
    """The error for a value that is not what it must be."""
    return PersistenceError(f"{where} must be {expected}")


def as_object(value: object, where: str) -> Mapping[str, Any]:
    """A JSON object."""
    if not isinstance(value, Mapping):
        raise malformed(where, "an object")
    return value


def as_array(value: object, where: str) -> Sequence[Any]:
    """A JSON array."""
    if not isinstance(value, list | tuple):
        raise malformed(where, "an array")
    return value


def as_string(value: object, where: str) -> str:
    """A JSON string."""
    if not isinstance(value, str):
        raise malformed(where, "a string")
    return value


def as_bool(value: object, where: str) -> bool:
    """A JSON boolean."""
    if not isinstance(value, bool):
        raise malformed(where, "a boolean")
    return value


def as_u64(value: object, where: str) -> int:
    """An unsigned 64-bit integer; booleans and floats are none (L6)."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _U64_MAX:
        raise malformed(where, "an unsigned 64-bit integer")
    return value


def required(
    fields: Mapping[str, Any], key: str, where: str, read: Callable[[object, str], T]
) -> T:
    """The field `key`, read by `read`."""
    if key not in fields:
        raise PersistenceError(f"{where} lacks the field {key!r}")
    return read(fields[key], f"{where}.{key}")


def optional(
    fields: Mapping[str, Any], key: str, where: str, read: Callable[[object, str], T]
) -> T | None:
    """The field `key`, None when it is absent or null."""
    value = fields.get(key)
    return None if value is None else read(value, f"{where}.{key}")
