"""What the reducer draws on: the transcript view, or a plain list in tests and exports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from rho_tui.transcript.blocks import Block, extended, finished


class TranscriptSink(Protocol):
    """The part of `TranscriptView` that changes what is shown."""

    def append(self, block_id: str, block: Block, *, before: str | None = None) -> None:
        """Add a block at the end, or in front of `before`."""

    def set_block(self, block_id: str, block: Block) -> None:
        """Replace a block."""

    def redraw(self, block_id: str, make: Callable[[], Block]) -> None:
        """Replace a block by what `make` gives when it is next looked at."""

    def append_text(self, block_id: str, delta: str) -> None:
        """Let a block's text grow."""

    def finish(self, block_id: str) -> None:
        """Close a streaming block."""

    def remove_block(self, block_id: str) -> None:
        """Take a block out."""


@dataclass(slots=True)
class BlockList:
    """A sink that only remembers, for exports and for comparing pictures."""

    blocks: dict[str, Block] = field(default_factory=dict)

    def append(self, block_id: str, block: Block, *, before: str | None = None) -> None:
        if block_id in self.blocks:
            raise ValueError(f"block id {block_id!r} is taken")
        if before is None:
            self.blocks[block_id] = block
            return
        items = list(self.blocks.items())
        place = [key for key, _ in items].index(before)
        items.insert(place, (block_id, block))
        self.blocks = dict(items)

    def set_block(self, block_id: str, block: Block) -> None:
        if block_id not in self.blocks:
            raise KeyError(block_id)
        self.blocks[block_id] = block

    def redraw(self, block_id: str, make: Callable[[], Block]) -> None:
        self.set_block(block_id, make())

    def append_text(self, block_id: str, delta: str) -> None:
        self.blocks[block_id] = extended(self.blocks[block_id], delta)

    def finish(self, block_id: str) -> None:
        self.blocks[block_id] = finished(self.blocks[block_id])

    def remove_block(self, block_id: str) -> None:
        del self.blocks[block_id]
