"""Collecting an answer while it streams: the blocks of the response, and the events on the way.

One piece of text costs one append and one send, nothing else.
"""

from __future__ import annotations

from typing import Protocol

from rho_core.history.messages import ContentBlock, Text, ToolCall
from rho_core.providers.contract import (
    ModelEvent,
    OutputDelta,
    ReasoningDelta,
)
from rho_core.providers.json_fields import TextJoiner


class EventSink(Protocol):
    """Where events go: `ProviderEvents`, or nowhere for `send_turn`."""

    async def send(self, event: ModelEvent) -> None:
        """Deliver an event read just now."""

    async def send_synthesized(self, event: ModelEvent) -> None:
        """Deliver an event that times nothing."""


class DiscardEvents:
    """Nobody listens: the caller wants the whole answer only."""

    async def send(self, event: ModelEvent) -> None:
        """Drop the event."""

    async def send_synthesized(self, event: ModelEvent) -> None:
        """Drop the event."""


class TurnOutput:
    """The content of an answer in the order in which it arrived.

    Text that streams between two other blocks becomes one block; blank text makes no block. A
    tool call takes its place when it begins and its value when it is complete.
    """

    __slots__ = ("_blocks", "_joiner", "_open", "_reasoning_joiner", "events", "reasoning")

    def __init__(self, events: EventSink) -> None:
        self.events = events
        self.reasoning: list[str] = []
        self._blocks: list[str | int] = []  # text, or the number of a tool call
        self._open: list[str] = []
        self._joiner = TextJoiner()
        self._reasoning_joiner = TextJoiner()

    async def text(self, piece: str) -> None:
        """A piece of the answer."""
        if piece := self._joiner.feed(piece):
            self._open.append(piece)
            await self.events.send(OutputDelta(piece))

    async def thought(self, piece: str) -> None:
        """A piece of raw reasoning."""
        if piece := self._reasoning_joiner.feed(piece):
            self.reasoning.append(piece)
            await self.events.send(ReasoningDelta(piece))

    async def seal_text(self) -> None:
        """End the open text block, if there is one; what follows is another block."""
        if rest := self._joiner.close():
            self._open.append(rest)
            await self.events.send(OutputDelta(rest))
        text = "".join(self._open)
        self._open.clear()
        if text.strip():
            self._blocks.append(text)

    async def begin_call(self, number: int) -> None:
        """A tool call stands here; its value comes with `content`."""
        await self.seal_text()
        self._blocks.append(number)

    @property
    def position(self) -> int:
        """How many blocks there are before the next one; sealed ones only."""
        return len(self._blocks)

    def content(self, calls: dict[int, ToolCall]) -> tuple[ContentBlock, ...]:
        """The blocks of the finished answer. Call `seal_text` first."""
        return tuple(
            Text(block) if isinstance(block, str) else calls[block] for block in self._blocks
        )
