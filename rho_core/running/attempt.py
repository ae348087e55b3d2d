"""One request to the provider: its events forwarded in order, its answer awaited (C71, C74).

The provider runs as a child task that fills a small channel. The worker drains the channel in a
plain loop and suspends only when it is empty, so an event costs no task and no future.
"""

from __future__ import annotations

import asyncio
from typing import Any

from rho_core.channels import Channel, ChannelClosed
from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind, RhoError
from rho_core.event_sink import ConsumerDropped
from rho_core.events import (
    AssistantTextDelta,
    HostedToolUsed,
    ModelCallMetrics,
    ProviderAnswerCutOff,
    ProviderContextUpdated,
    ProviderImagesWithheld,
    ProviderRequestRetry,
    ProviderServiceTierFallback,
    ReasoningDelta,
    ReasoningSummaryDelta,
    RunEvent,
    UsageUpdated,
    WebSearch,
)
from rho_core.providers import contract as model
from rho_core.running.capture import StreamCapture
from rho_core.running.context import RunContext
from rho_core.running.metrics import ModelCallTimer
from rho_core.tooling.environment import end_tasks
from rho_core.usage import ModelUsage


class ProviderAttempt:
    """One logical attempt of a step. `capture` holds what arrived, whatever became of it."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._token = context.token
        self._try_send = context.sink.try_send
        self._channel: Channel[model.ObservedEvent] = Channel(model.PROVIDER_EVENT_CAPACITY)
        self._timer = ModelCallTimer()
        self._is_waiting = False  # the worker has nothing in hand that must be told first
        self.capture = StreamCapture(context.identity)
        #: Physical requests that the provider repeated by itself: kind and usage of each (C82).
        self.internal_failures: list[tuple[ProviderErrorKind, ModelUsage]] = []

    async def run(self, request: model.ModelRequest) -> model.ModelResponse:
        """Return the answer. Raises `ProviderError`, another `RhoError`, or `Cancelled`."""
        context = self._context
        self._channel.on_item(context.signal.notify)
        provider = context.configuration.provider
        work = provider.send_turn_stream(request, model.ProviderEvents(self._channel, self._direct))
        task = context.environment.spawn(work, "provider turn")
        try:
            await self._forward(task)
            return _response_of(task, context.token.is_cancelled)
        except Cancelled:
            await self._wind_up(task)
            raise
        finally:
            self._channel.drop_receiver()
            await end_tasks((task,))

    def metrics(self) -> ModelCallMetrics:
        """How long the call took, to be asked right after `run` (C93)."""
        return self._timer.finish(self.capture.usage.output_tokens)

    async def _forward(self, task: asyncio.Task[Any]) -> None:
        """Emit everything that arrives until the provider has ended and its channel is empty."""
        context, token = self._context, self._context.token
        while True:
            await self._drain(task)
            context.commands.serve()
            if context.jobs.is_running and await context.jobs.forward():
                continue
            if task.done():
                return
            token.raise_if_cancelled()
            self._is_waiting = True
            try:
                await context.signal.wait()
            finally:
                self._is_waiting = False

    def _direct(self, event: model.ModelEvent, observed_at: float | None) -> bool:
        """Forward answer text from the provider's own task, if nothing comes before it.

        Most events are text, and most of the time the worker only waits for the next one: this
        spares the way through the channel and the switch of tasks. Anything else is queued.
        """
        if not self._is_waiting:
            return False
        if type(event) is model.OutputDelta and not self._token.is_cancelled:
            text = event.text
            try:
                if self._try_send(AssistantTextDelta(text)):
                    self._timer.observe(observed_at, bool(text))
                    self.capture.output(text)
                    return True
            except ChannelClosed:
                pass  # the worker will find out by itself
        self._is_waiting = False  # what is queued now comes before all that follows
        return False

    async def _drain(self, task: asyncio.Task[Any]) -> None:
        """The hot loop: fold and emit what is queued."""
        receive, fold = self._channel.try_receive, self._fold
        sink, token = self._context.sink, self._context.token
        try:
            while (observed := receive()) is not None:
                event = fold(observed)
                if event is not None and not sink.try_send(event):
                    await sink.emit(event)
                if token.is_cancelled and (len(self._channel) or not task.done()):
                    raise Cancelled
        except ChannelClosed:
            raise ConsumerDropped from None

    async def _wind_up(self, task: asyncio.Task[Any]) -> None:
        """End a cancelled turn and keep what it had already sent, without showing it (C71)."""
        provider = self._context.configuration.provider
        if provider.cancellation_mode is model.ProviderCancellation.EXTERNAL:
            self._absorb()
            self._channel.drop_receiver()  # a provider that still sends must not wait for us
            await end_tasks((task,))
            return
        while not task.done():
            self._absorb()
            await self._context.signal.wait()
        self._absorb()

    def _absorb(self) -> None:
        while (observed := self._channel.try_receive()) is not None:
            self._fold(observed)

    def _fold(self, observed: model.ObservedEvent) -> RunEvent | None:
        """Keep what an event says and return its public form, if it has one."""
        event = observed.event
        if isinstance(event, model.OutputDelta):
            text = event.text
            self._timer.observe(observed.observed_at, bool(text))
            self.capture.output(text)
            return AssistantTextDelta(text)
        generated = isinstance(event, model.ToolCallDelta) or (
            isinstance(event, model.ReasoningDelta | model.ReasoningSummaryDelta)
            and bool(event.text)
        )
        self._timer.observe(observed.observed_at, generated)
        return self._fold_other(event)

    def _fold_other(self, event: model.ModelEvent) -> RunEvent | None:
        match event:
            case model.ReasoningDelta(text=text):
                self.capture.reasoning()
                return ReasoningDelta(text)
            case model.ReasoningSummaryDelta(text=text):
                self.capture.reasoning_summary(text)
                return ReasoningSummaryDelta(text)
            case model.ToolCallDelta():
                return self.capture.tool_call(event)
            case model.ProviderContext():
                self.capture.context(event)
                return ProviderContextUpdated(event.kind)
            case model.UsageReported(usage=usage):
                self.capture.add_usage(usage)
                return UsageUpdated(self._context.usage.merge(self.capture.usage))
            case model.GenerationOutputTokens(tokens=tokens):
                self._timer.generation_output_tokens(tokens)
                return None
            case model.RequestAttemptFailed(kind=kind, usage=usage):
                used = self.capture.take_usage()
                self.internal_failures.append((kind, used.merge(usage) if usage else used))
                self._timer.restart()
                return ProviderRequestRetry()
            case _:
                return _activity(event)


def _activity(event: model.ModelEvent) -> RunEvent | None:
    match event:
        case model.WebSearchActivity(detail=detail):
            return WebSearch(detail)
        case model.HostedToolActivity(name=name, detail=detail):
            return HostedToolUsed(name, detail)
        case model.ServiceTierFallback(requested=requested, used=used):
            return ProviderServiceTierFallback(requested, used)
        case model.AnswerCutOff(limit=limit):
            return ProviderAnswerCutOff(limit)
        case model.ImagesWithheld(count=count, reason=reason):
            return ProviderImagesWithheld(count, reason)
        case _:
            return None


def _response_of(task: asyncio.Task[Any], cancelled: bool) -> model.ModelResponse:
    """The answer of a finished provider task, or its failure as a typed error (L9, C65)."""
    if task.cancelled():
        raise ProviderError(ProviderErrorKind.INTERRUPTED, "provider turn was cancelled")
    error = task.exception()
    if error is None:
        response = task.result()
        if isinstance(response, model.ModelResponse):
            return response
        raise ProviderError(ProviderErrorKind.OTHER, "provider returned no response")
    if cancelled and isinstance(error, Exception):
        raise Cancelled
    if isinstance(error, Cancelled) or not isinstance(error, RhoError):
        if not isinstance(error, Exception):
            raise error
        name = type(error).__name__
        raise ProviderError(ProviderErrorKind.OTHER, f"provider raised {name}") from error
    raise error
