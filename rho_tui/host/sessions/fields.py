"""Strict reading of a JSON object that came from a file: the right type, or `RecordError`.

Unknown keys are ignored, so that an older Rho reads what a newer one wrote.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, TypeVar

E = TypeVar("E", bound=StrEnum)


class RecordError(ValueError):
    """A line does not hold a well-formed record."""


class Fields:
    """The members of one JSON object."""

    __slots__ = ("_members", "_where")

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise RecordError(f"{where} is not an object")
        self._members: dict[str, Any] = value
        self._where = where

    def has(self, name: str) -> bool:
        """Whether `name` is there and not null."""
        return self._members.get(name) is not None

    def raw(self, name: str) -> Any:
        """Whatever stands under `name`."""
        if name not in self._members:
            raise RecordError(f"{self._where}.{name} is missing")
        return self._members[name]

    def text(self, name: str, default: str | None = None) -> str:
        """A string."""
        if default is not None and name not in self._members:
            return default
        value = self.raw(name)
        if not isinstance(value, str):
            raise RecordError(f"{self._where}.{name} is not a string")
        return value

    def identifier(self, name: str) -> str:
        """A non-empty string."""
        value = self.text(name)
        if not value:
            raise RecordError(f"{self._where}.{name} is empty")
        return value

    def optional_text(self, name: str) -> str | None:
        """A string, or None when absent or null."""
        return self.text(name) if self.has(name) else None

    def count(self, name: str, default: int | None = None) -> int:
        """A whole number from 0."""
        if default is not None and name not in self._members:
            return default
        value = self.raw(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise RecordError(f"{self._where}.{name} is not a count")
        return value

    def optional_count(self, name: str) -> int | None:
        """A whole number from 0, or None when absent or null."""
        return self.count(name) if self.has(name) else None

    def seconds(self, name: str, default: float | None = None) -> float:
        """A finite number of seconds."""
        if default is not None and name not in self._members:
            return default
        value = self.raw(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RecordError(f"{self._where}.{name} is not a number")
        try:
            number = float(value)
        except OverflowError:
            raise RecordError(f"{self._where}.{name} is out of range") from None
        if not math.isfinite(number):
            raise RecordError(f"{self._where}.{name} is not finite")
        return number

    def flag(self, name: str, default: bool | None = None) -> bool:
        """A boolean."""
        if default is not None and name not in self._members:
            return default
        value = self.raw(name)
        if not isinstance(value, bool):
            raise RecordError(f"{self._where}.{name} is not a boolean")
        return value

    def word(self, name: str, words: type[E], default: E | None = None) -> E:
        """A member of an enumeration."""
        if default is not None and name not in self._members:
            return default
        value = self.text(name)
        try:
            return words(value)
        except ValueError:
            raise RecordError(f"{self._where}.{name} is not a known word") from None

    def items(self, name: str) -> list[Any]:
        """An array; absent counts as empty."""
        value = self._members.get(name, [])
        if not isinstance(value, list):
            raise RecordError(f"{self._where}.{name} is not an array")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """An array of strings; absent counts as empty."""
        values = self.items(name)
        if not all(isinstance(value, str) for value in values):
            raise RecordError(f"{self._where}.{name} holds something else than strings")
        return tuple(values)

    def counts(self, name: str) -> tuple[int, ...]:
        """An array of whole numbers from 0."""
        values = self.items(name)
        if not all(type(value) is int and value >= 0 for value in values):
            raise RecordError(f"{self._where}.{name} holds something else than counts")
        return tuple(values)

    def object(self, name: str) -> Fields:
        """An object; absent counts as empty."""
        return Fields(self._members.get(name, {}), f"{self._where}.{name}")

    def objects(self, name: str) -> list[Fields]:
        """An array of objects; absent counts as empty."""
        return [Fields(value, f"{self._where}.{name}[]") for value in self.items(name)]
