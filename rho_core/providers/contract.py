"""What a model provider is, and what flows between it and the loop (C73, C74, C83).

A provider sees borrowed, immutable messages and tool specifications. It never sees the session
and cannot change history.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel, ChannelClosed
from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.history.messages import ContentBlock, Message, ModelIdentity, Text
from rho_core.json_values import FrozenObject
from rho_core.reasoning import ReasoningLevel
from rho_core.usage import ModelUsage

PROVIDER_EVENT_CAPACITY = 16


class ServiceTier(StrEnum):
    """A faster lane at the provider, where one exists (A14)."""

    PRIORITY = "priority"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ToolSpec:
    """How a tool is advertised: `input_schema` is a JSON schema object (D1)."""

    name: str
    description: str
    input_schema: FrozenObject


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One turn to be answered. `prompt_cache_key` is passed on verbatim (B17)."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    cancellation: CancellationToken = field(default_factory=CancellationToken)
    reasoning: ReasoningLevel = ReasoningLevel.MEDIUM
    prompt_cache_key: str | None = None
    service_tier: ServiceTier | None = None


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """The authoritative content of a finished turn; this is stored, not the deltas (C45)."""

    content: tuple[ContentBlock, ...]


@dataclass(frozen=True, slots=True)
class OutputDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of raw reasoning; shown, never stored."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningSummaryDelta:
    """A piece of the provider's own summary of its reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A fragment of a tool call. `index` orders parallel calls; id and name may come late."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """Opaque data to be replayed to the same model, such as a reasoning signature."""

    kind: str
    data: Any
    position: int | None = None


@dataclass(frozen=True, slots=True)
class UsageReported:
    """A usage reading of this attempt; readings of one attempt are merged (C89)."""

    usage: ModelUsage


@dataclass(frozen=True, slots=True)
class WebSearchActivity:
    """The provider searched the web by itself."""

    detail: str


@dataclass(frozen=True, slots=True)
class HostedToolActivity:
    """The provider ran another tool of its own."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class ServiceTierFallback:
    """The provider used another service tier than asked for."""

    requested: str
    used: str


class OutputLimit(StrEnum):
    """What ended an answer before the model did."""

    OUTPUT_TOKENS = "output_tokens"
    CONTEXT_WINDOW = "context_window"


@dataclass(frozen=True, slots=True)
class AnswerCutOff:
    """The answer is usable and stops short: the provider reached a limit while writing it."""

    limit: OutputLimit


@dataclass(frozen=True, slots=True)
class ImagesWithheld:
    """The provider refused `count` images and is asked again without them; `reason` is its word."""

    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class GenerationOutputTokens:
    """Output tokens of the generation window alone, where a provider tells (metrics only)."""

    tokens: int


@dataclass(frozen=True, slots=True)
class RequestAttemptFailed:
    """A physical request failed and the provider repeats it by itself (C82)."""

    kind: ProviderErrorKind
    usage: ModelUsage | None = None


ModelEvent: TypeAlias = (
    OutputDelta
    | ReasoningDelta
    | ReasoningSummaryDelta
    | ToolCallDelta
    | ProviderContext
    | UsageReported
    | WebSearchActivity
    | HostedToolActivity
    | ServiceTierFallback
    | AnswerCutOff
    | ImagesWithheld
    | GenerationOutputTokens
    | RequestAttemptFailed
)


@dataclass(frozen=True, slots=True)
class ObservedEvent:
    """A model event with the monotonic second at which it was read, None if synthesised (C93)."""

    event: ModelEvent
    observed_at: float | None


class ProviderEvents:
    """Where a provider puts its events. Sending waits for the loop: that is the backpressure."""

    __slots__ = ("_channel", "_direct")

    def __init__(
        self,
        channel: Channel[ObservedEvent],
        direct: Callable[[ModelEvent, float | None], bool] | None = None,
    ) -> None:
        self._channel = channel
        self._direct = direct  # takes an event at once, if nothing is in its way

    async def send(self, event: ModelEvent) -> None:
        """Deliver an event that was read from the wire just now.

        Raises `ProviderError` of kind Interrupted when nobody listens any more.
        """
        now = time.monotonic()
        if self._direct is None or not self._direct(event, now):
            await self._queue(ObservedEvent(event, now))

    async def send_synthesized(self, event: ModelEvent) -> None:
        """Deliver an event that was made up from a complete answer: it times nothing."""
        if self._direct is None or not self._direct(event, None):
            await self._queue(ObservedEvent(event, None))

    async def _queue(self, observed: ObservedEvent) -> None:
        try:
            await self._channel.send(observed, self._passes)
        except ChannelClosed:
            raise _consumer_dropped() from None

    def _passes(self, observed: ObservedEvent) -> bool:
        """After a wait for room: whether the event can now be taken at once."""
        return self._direct is not None and self._direct(observed.event, observed.observed_at)


def _consumer_dropped() -> ProviderError:
    return ProviderError(ProviderErrorKind.INTERRUPTED, "provider event consumer was dropped")


class ProviderCancellation(StrEnum):
    """Who reacts to cancellation: the loop drops the turn, or the provider ends it itself (C71)."""

    EXTERNAL = "external"
    COOPERATIVE = "cooperative"


class ModelProvider(ABC):
    """A model behind some API. Failures are raised as `ProviderError`."""

    cancellation_mode: ProviderCancellation = ProviderCancellation.EXTERNAL

    @property
    @abstractmethod
    def identity(self) -> ModelIdentity:
        """Which model this is."""

    @abstractmethod
    async def send_turn(self, request: ModelRequest) -> ModelResponse:
        """Answer one turn as a whole."""

    async def send_turn_stream(
        self, request: ModelRequest, events: ProviderEvents
    ) -> ModelResponse:
        """Answer one turn, reporting progress. The default reports the finished text at once."""
        response = await request.cancellation.race(self.send_turn(request))
        for block in response.content:
            if isinstance(block, Text):
                await events.send_synthesized(OutputDelta(block.text))
        return response

    async def warm_up(self) -> None:  # noqa: B027 - most providers need nothing
        """Prepare ahead of the first turn, such as a connection pool. Twice does nothing."""

    async def aclose(self) -> None:  # noqa: B027 - most providers hold nothing
        """Release what the provider holds, such as a connection pool."""


def sorted_specs(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Specifications in the order in which they are advertised (D1)."""
    return tuple(sorted(specs, key=lambda spec: spec.name))
