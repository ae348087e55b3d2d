"""JSON values as the core holds them: strict on the way in, immutable afterwards (L6, L7, L12)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn, TypeAlias

JsonValue: TypeAlias = (
    bool
    | int
    | float
    | str
    | list["JsonValue"]
    | tuple["JsonValue", ...]
    | dict[str, "JsonValue"]
    | None
)
JsonObject: TypeAlias = dict[str, JsonValue]


class FrozenObject(dict[str, Any]):
    """A JSON object that refuses to change. Arrays inside are tuples: compare with `thaw`."""

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this JSON object is immutable; use thaw() for a copy to change")

    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))  # equal objects may differ in key order

    def __copy__(self) -> FrozenObject:
        return self

    def __deepcopy__(self, _memo: object) -> FrozenObject:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (freeze, (thaw(self),))


def freeze(value: object) -> Any:
    """An immutable deep copy: objects become `FrozenObject`, arrays become tuples.

    Raises ValueError for what JSON cannot hold: other types, non-string keys, NaN, lone surrogates.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        if not value.isascii():
            _reject_surrogates(value)
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("NaN and infinite numbers are not JSON")
        return value
    if isinstance(value, Mapping):
        items: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError("object keys must be strings")
            _reject_surrogates(key)
            items[key] = freeze(item)
        return FrozenObject(items)
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    raise ValueError(f"{type(value).__name__} is not a JSON value")


def thaw(value: object) -> Any:
    """A mutable deep copy with plain dicts and lists."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


def parse_json(text: str | bytes) -> Any:
    """Parse strictly: no NaN, no duplicate keys, no lone surrogates. Raises ValueError."""

    def refuse_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            raise ValueError("duplicate object key")
        return result

    try:
        value = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=unique)
        return freeze(value)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def canonical_json(value: object) -> str:
    """Compact JSON without spaces, non-ASCII kept as it is (J22)."""
    return _COMPACT.encode(value)


def _reject_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("text holds a lone surrogate") from None
