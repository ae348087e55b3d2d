"""What tools report: output, metadata, progress and completion (D39–D43)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from rho_core.errors import ToolErrorKind
from rho_core.history.messages import Image
from rho_core.json_values import FrozenObject, freeze


class ToolOperation(StrEnum):
    """What a call does, for presentation."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ToolAsset:
    """Bytes to present, such as a thumbnail; never shown to the model."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """Presentation facts of a call. Never authority, never seen by the model (D39).

    `diff` is a unified diff. `details` are small typed facts for a card, such as `exit_code`
    (int), `duration_seconds` (float), `matches`/`files`/`entries`/`lines` (int), `timed_out`
    (bool), `spill_path` (str), `start_line`/`end_line` (int). `styles` are the colours of the
    result's text as a terminal has them: `[[offset, "1;31"], …]`, a character offset and the
    arguments of an SGR sequence, bounded by the tool.
    """

    operation: ToolOperation = ToolOperation.OTHER
    affected_paths: tuple[str, ...] = ()
    command_summary: str | None = None
    urls: tuple[str, ...] = ()
    diff: str | None = None
    assets: tuple[ToolAsset, ...] = ()
    presentation_notices: tuple[str, ...] = ()
    details: FrozenObject = field(default_factory=FrozenObject)

    def with_details(self, **details: Any) -> ToolMetadata:
        """A copy with more card facts."""
        return replace(self, details=freeze({**self.details, **details}))


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A live reading of a call; each replaces the one before, except for `output_delta`.

    `output_delta` is a further piece of live output (a shell's, decoded), to be appended.
    """

    message: str = ""
    completed_units: int | None = None
    total_units: int | None = None
    metadata: ToolMetadata | None = None
    output_delta: str | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a successful call: text for the model, images for it, facts for people."""

    content: str
    metadata: ToolMetadata = field(default_factory=ToolMetadata)
    images: tuple[Image, ...] = ()

    @classmethod
    def text(cls, content: str, metadata: ToolMetadata | None = None) -> ToolOutput:
        """A text result."""
        return cls(content, metadata or ToolMetadata())

    def with_images(self, images: Iterable[Image]) -> ToolOutput:
        """A copy that carries these images, in order, in place of any before (D41)."""
        return replace(self, images=tuple(images))


@dataclass(frozen=True, slots=True)
class ToolSucceeded:
    """The call finished with an output."""

    output: ToolOutput


@dataclass(frozen=True, slots=True)
class ToolFailed:
    """The call failed; `message` is what the model reads. `metadata` may still hold facts."""

    kind: ToolErrorKind
    message: str
    metadata: ToolMetadata = field(default_factory=ToolMetadata)


@dataclass(frozen=True, slots=True)
class ToolUnavailable:
    """No tool of that name is registered; the call never started.

    `instead` names the registered tool that does its work, if there is one (`Tool.stands_for`).
    """

    instead: str = ""


ToolCompletion: TypeAlias = ToolSucceeded | ToolFailed | ToolUnavailable
