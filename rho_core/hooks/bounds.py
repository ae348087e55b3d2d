"""How much of a fact a hook is shown, and the report of what was cut (I7–I9)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from rho_core.text import truncate_utf8

DEFAULT_FIELD_BYTES = 8192
DEFAULT_ENVELOPE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class HookBounds:
    """Limits in UTF-8 bytes; anything below one counts as one."""

    max_field_bytes: int = DEFAULT_FIELD_BYTES
    max_envelope_bytes: int = DEFAULT_ENVELOPE_BYTES

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_field_bytes", max(1, self.max_field_bytes))
        object.__setattr__(self, "max_envelope_bytes", max(1, self.max_envelope_bytes))


@dataclass(frozen=True, slots=True)
class BoundsReport:
    """The dotted names of the fields that were cut, sorted and unique."""

    fields: tuple[str, ...] = ()

    @property
    def truncated(self) -> bool:
        """Whether anything was cut."""
        return bool(self.fields)


class FieldBounder:
    """Cuts the fields of one envelope to their bounds and keeps the report."""

    __slots__ = ("_cut", "bounds")

    def __init__(self, bounds: HookBounds) -> None:
        self.bounds = bounds
        self._cut: set[str] = set()

    def record(self, name: str) -> None:
        """Report that the field `name` is not whole."""
        self._cut.add(name)

    @property
    def report(self) -> BoundsReport:
        """What was cut so far."""
        return BoundsReport(tuple(sorted(self._cut)))

    def text(self, name: str, value: str) -> str:
        """`value`, cut at a character boundary; what cannot be encoded is replaced."""
        valid = value.encode("utf-8", "replace").decode("utf-8")
        cut = truncate_utf8(valid, self.bounds.max_field_bytes, marker="")
        if cut != value:
            self.record(name)
        return cut

    def optional_text(self, name: str, value: str | None) -> str | None:
        """`text` for a field that may be absent."""
        return None if value is None else self.text(name, value)

    def identifier(self, name: str, value: str) -> str:
        """`text` for an id, which is never empty: one that is cut to nothing becomes `_` (I9)."""
        return self.text(name, value) or "_"

    def path(self, name: str, value: str | PurePath) -> str:
        """A path as text; one that is not valid text is rendered lossily and reported (I9)."""
        native = os.fsdecode(value)
        try:
            shown = native.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        except UnicodeEncodeError:  # a surrogate that stands for no byte
            shown = native.encode("utf-8", "replace").decode("utf-8")
        if shown != native:
            self.record(name)
        return self.text(name, shown)

    def text_list(self, name: str, values: Iterable[str]) -> tuple[str, ...]:
        """Each value bounded; what no longer fits into the envelope bound is dropped (I8)."""
        kept: list[str] = []
        room = self.bounds.max_envelope_bytes
        for index, value in enumerate(values):
            cut = self.text(f"{name}[{index}]", value)
            room -= len(cut.encode())
            if room < 0:
                self.record(name)
                break
            kept.append(cut)
        return tuple(kept)

    def labels(self, name: str, values: Mapping[str, str]) -> dict[str, str]:
        """Keys and values bounded, sorted by key; a key that repeats after cutting is dropped."""
        kept: dict[str, str] = {}
        room = self.bounds.max_envelope_bytes
        for index, (key, value) in enumerate(sorted(values.items())):
            cut_key = self.text(f"{name}.keys[{index}]", key)
            if cut_key in kept:
                self.record(f"{name}.keys[{index}]")
                continue
            cut_value = self.text(f"{name}.{cut_key}", value)
            room -= len(cut_key.encode()) + len(cut_value.encode())
            if room < 0:
                self.record(name)
                break
            kept[cut_key] = cut_value
        return kept
