"""What was worked out from an object that never changes, kept beside it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class IdentityMemo(Generic[K, V]):
    """Values by the identity of their objects; a value goes when its object does.

    For immutable objects with a place for weak references. A value must not hold its object, which
    would then never go.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[K], V]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: K) -> V | None:
        """The value kept for `key`, if any."""
        known = self._known.get(id(key))
        # an object may be given the place of one that has just gone
        return known[1] if known is not None and known[0]() is key else None

    def once(self, key: K, work_out: Callable[[K], V]) -> V:
        """The value kept for `key`, or else what `work_out` makes of it, from now on."""
        value = self.get(key)
        return self.put(key, work_out(key)) if value is None else value

    def put(self, key: K, value: V) -> V:
        """Keep `value` for `key`, in place of another; returns it."""
        place, known = id(key), self._known

        def forget(gone: weakref.ref[K]) -> None:
            current = known.get(place)
            if current is not None and current[0] is gone:
                del known[place]

        known[place] = (weakref.ref(key, forget), value)
        return value
