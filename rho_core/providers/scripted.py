"""A provider that answers from a script, for tests and demonstrations (C103)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.history.messages import ContentBlock, ModelIdentity, Text, ToolCall
from rho_core.providers.contract import (
    ModelEvent,
    ModelProvider,
    ModelRequest,
    ModelResponse,
    OutputDelta,
    ProviderEvents,
)

SCRIPTED_IDENTITY = ModelIdentity("scripted", "scripted-api", "scripted-model")


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """One answer: the events it streams, then either its response or its error.

    `wait_for_cancellation` makes it hang after its events until the request is cancelled.
    """

    events: tuple[ModelEvent, ...] = ()
    response: ModelResponse | None = None
    error: Exception | None = None
    wait_for_cancellation: bool = False

    @classmethod
    def completed(cls, *content: ContentBlock | str) -> ScriptedTurn:
        """A whole answer of these blocks; its text is reported as synthesised output."""
        return cls(response=ModelResponse(_blocks(content)))

    @classmethod
    def streaming(cls, events: Iterable[ModelEvent], *content: ContentBlock | str) -> ScriptedTurn:
        """Events, then an answer; without content it is the text that was streamed."""
        streamed = tuple(events)
        blocks = _blocks(content)
        if not blocks:
            text = "".join(event.text for event in streamed if isinstance(event, OutputDelta))
            blocks = (Text(text),)
        return cls(streamed, ModelResponse(blocks))

    @classmethod
    def calls(cls, *calls: ToolCall | tuple[str, str, dict[str, Any]]) -> ScriptedTurn:
        """An answer that asks for tools; a tuple is id, name and arguments."""
        return cls(
            response=ModelResponse(
                tuple(call if isinstance(call, ToolCall) else ToolCall.of(*call) for call in calls)
            )
        )

    @classmethod
    def failed(cls, error: Exception) -> ScriptedTurn:
        """A failure before anything was streamed."""
        return cls(error=error)

    @classmethod
    def streaming_failed(cls, events: Iterable[ModelEvent], error: Exception) -> ScriptedTurn:
        """Events, then a failure."""
        return cls(tuple(events), error=error)

    @classmethod
    def hanging(cls, *events: ModelEvent) -> ScriptedTurn:
        """Events, then silence until the request is cancelled."""
        return cls(events, wait_for_cancellation=True)


class ScriptedProvider(ModelProvider):
    """Plays its turns in order and records every request it takes.

    A request whose token is already cancelled fails as Interrupted, neither recorded nor using up
    a turn. An exhausted script fails as InvalidResponse, permanently.
    """

    def __init__(
        self, turns: Iterable[ScriptedTurn] = (), *, identity: ModelIdentity = SCRIPTED_IDENTITY
    ) -> None:
        self._identity = identity
        self._turns = list(turns)
        self.requests: list[ModelRequest] = []

    @property
    def identity(self) -> ModelIdentity:
        """The scripted model."""
        return self._identity

    @property
    def remaining(self) -> int:
        """How many turns have not been played."""
        return len(self._turns)

    def push(self, *turns: ScriptedTurn) -> None:
        """Add turns to the end of the script."""
        self._turns.extend(turns)

    async def send_turn(self, request: ModelRequest) -> ModelResponse:
        """Answer without streaming."""
        turn = self._take(request)
        return await _finish(turn, request)

    async def send_turn_stream(
        self, request: ModelRequest, events: ProviderEvents
    ) -> ModelResponse:
        """Stream the turn's events, then answer."""
        turn = self._take(request)
        for event in turn.events:
            await events.send(event)
        response = await _finish(turn, request)
        if not turn.events:
            for block in response.content:
                if isinstance(block, Text):
                    await events.send_synthesized(OutputDelta(block.text))
        return response

    def _take(self, request: ModelRequest) -> ScriptedTurn:
        if request.cancellation.is_cancelled:
            raise ProviderError(ProviderErrorKind.INTERRUPTED, "request was cancelled")
        self.requests.append(request)
        if not self._turns:
            raise ProviderError(
                ProviderErrorKind.INVALID_RESPONSE, "scripted provider has no remaining turn"
            )
        return self._turns.pop(0)


async def _finish(turn: ScriptedTurn, request: ModelRequest) -> ModelResponse:
    if turn.wait_for_cancellation:
        await request.cancellation.cancelled()
        raise ProviderError(ProviderErrorKind.INTERRUPTED, "request was cancelled")
    if turn.error is not None:
        raise turn.error
    if turn.response is None:
        return ModelResponse(())
    return turn.response


def _blocks(content: Iterable[ContentBlock | str]) -> tuple[ContentBlock, ...]:
    return tuple(Text(block) if isinstance(block, str) else block for block in content)
