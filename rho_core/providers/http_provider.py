"""What all providers over HTTP and server-sent events share: one turn, from body to content."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.history.messages import ContentBlock, ModelIdentity
from rho_core.providers.contract import (
    ImagesWithheld,
    ModelProvider,
    ModelRequest,
    ModelResponse,
    ProviderEvents,
    RequestAttemptFailed,
)
from rho_core.providers.http_transport import HttpTransport
from rho_core.providers.image_refusal import ImageKey, ImageMemory
from rho_core.providers.sse import ServerSentEvent
from rho_core.providers.turn_output import DiscardEvents, EventSink


class AnswerReader(Protocol):
    """The state of one answer in one vendor's protocol."""

    @property
    def complete(self) -> bool:
        """Whether the protocol's own end marks have been seen."""

    async def feed(self, event: ServerSentEvent) -> bool:
        """Take an event; True when nothing may follow it. Raises `ProviderError`."""

    async def report_usage(self, context_window: int | None) -> None:
        """Tell the latest usage reading, at most once."""

    async def finish(self) -> tuple[ContentBlock, ...]:
        """The content of the answer. Raises `ProviderError` when it is not usable."""


class HttpProvider(ModelProvider):
    """Base of the adapters. A subclass says what a request looks like and how to read an answer.

    `optional_fields` are request fields that some servers do not know. When a refusal names one,
    the request is repeated without it, and the field is left out from then on. Likewise for images
    (case:H19), in whose place a note is sent.
    """

    path: str
    optional_fields: tuple[str, ...] = ()

    def __init__(
        self, transport: HttpTransport, identity: ModelIdentity, context_window: int | None
    ) -> None:
        self._transport = transport
        self._identity = identity
        self._context_window = context_window
        self._refused_fields: set[str] = set()
        self._images = ImageMemory()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.base_url!r}, {self._identity.model!r})"

    @property
    def identity(self) -> ModelIdentity:
        """Which model this is."""
        return self._identity

    @property
    def context_window(self) -> int | None:
        """Tokens the model can hold, if known."""
        return self._context_window

    @abstractmethod
    def request_body(self, request: ModelRequest) -> dict[str, Any]:
        """The JSON body of a turn, with every optional field."""

    @abstractmethod
    def new_reader(self, request: ModelRequest, events: EventSink) -> AnswerReader:
        """A reader for one answer."""

    async def warm_up(self) -> None:
        """Prepare the connection pool ahead of the first turn."""
        await self._transport.warm_up()

    async def aclose(self) -> None:
        """Close the connection pool."""
        await self._transport.aclose()

    async def send_turn(self, request: ModelRequest) -> ModelResponse:
        """Answer one turn as a whole."""
        return await request.cancellation.race(self._turn(request, DiscardEvents()))

    async def send_turn_stream(
        self, request: ModelRequest, events: ProviderEvents
    ) -> ModelResponse:
        """Answer one turn and report it as it arrives.

        Cancelling the request's token closes the connection and raises `Cancelled`.
        """
        return await request.cancellation.race(self._turn(request, events))

    async def _turn(self, request: ModelRequest, events: EventSink) -> ModelResponse:
        images = self._images
        withheld: frozenset[ImageKey] = frozenset()
        while True:
            sent = images.without_refused(request)
            try:
                response = await self._ask(sent, events)
            except ProviderError as error:
                refused = images.refuse(sent, error)
                if not refused:
                    if not error.retryable:
                        images.forgive(withheld)
                    raise
                withheld |= refused
                await events.send_synthesized(RequestAttemptFailed(error.provider_kind))
                await events.send_synthesized(ImagesWithheld(len(refused), error.message))
            else:
                images.accept(sent)
                return response

    async def _ask(self, request: ModelRequest, events: EventSink) -> ModelResponse:
        body = self.request_body(request)
        for name in self._refused_fields:
            body.pop(name, None)
        while True:
            try:
                return await self._attempt(request, body, events)
            except ProviderError as error:
                refused = _refused_field(error, self.optional_fields, body)
                if refused is None:
                    raise
                self._refused_fields.add(refused)
                del body[refused]

    async def _attempt(
        self, request: ModelRequest, body: dict[str, Any], events: EventSink
    ) -> ModelResponse:
        reader = self.new_reader(request, events)
        try:
            await self._read(body, reader)
        except ProviderError:
            await reader.report_usage(self._context_window)
            if not reader.complete:
                raise
            # the connection broke after the answer had ended: nothing is missing
        await reader.report_usage(self._context_window)
        return ModelResponse(await reader.finish())

    async def _read(self, body: dict[str, Any], reader: AnswerReader) -> None:
        async with self._transport.open_stream(self.path, body) as answer:
            while (batch := await answer.read()) is not None:
                for event in batch:
                    if await reader.feed(event):
                        await answer.drain()
                        return
                if reader.complete:
                    answer.answer_is_complete()


def _refused_field(
    error: ProviderError, optional: tuple[str, ...], body: Mapping[str, Any]
) -> str | None:
    """The optional field that a refusal names, if we sent it."""
    if error.provider_kind is not ProviderErrorKind.OTHER or error.retryable:
        return None
    said = f"{error.message}\n{error.diagnostic or ''}"
    return next((name for name in optional if name in body and _names(name, said)), None)


def _names(field: str, text: str) -> bool:
    return re.search(rf"(?<![A-Za-z_]){field}(?![A-Za-z_])", text) is not None
