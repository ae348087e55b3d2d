"""A model step's answer, retried within one budget (C75–C82)."""

from __future__ import annotations

from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind, RhoError
from rho_core.event_sink import ConsumerDropped
from rho_core.events import (
    InvalidResponseReset,
    ModelCallCompleted,
    ModelCallProfile,
    ProviderStreamReset,
    ResetReason,
    RetryableFailureReset,
)
from rho_core.history.messages import EnrichedAssistant
from rho_core.providers.contract import ModelRequest, ModelResponse
from rho_core.running.attempt import ProviderAttempt
from rho_core.running.context import RunContext
from rho_core.running.response import find_malformation
from rho_core.running.retries import MAX_ATTEMPTS, MAX_MALFORMED, backoff_delay
from rho_core.running.usage_report import AttemptRecorder


class ProviderTurn:
    """One step's exchange with the provider. `run` once."""

    def __init__(self, context: RunContext, step: int) -> None:
        self._context = context
        self._recorder = AttemptRecorder(context, step)
        self._failures = 0
        self._malformed = 0

    async def run(self) -> EnrichedAssistant:
        """The completed assistant turn. Raises `Cancelled`, or the last error.

        What had arrived of an answer that is not completed is left in `context.partial` (C66).
        """
        context = self._context
        request = context.request()  # a retried request is the same request (C78)
        for number in range(1, MAX_ATTEMPTS + 1):
            context.token.raise_if_cancelled()
            attempt = ProviderAttempt(context)
            try:
                response = await self._exchange(attempt, request)
            except ProviderError as error:
                await self._recorder.failed(attempt, error)
                if not error.retryable or number == MAX_ATTEMPTS or context.token.is_cancelled:
                    context.partial = attempt.capture.aborted_message()
                    context.token.raise_if_cancelled()  # a cancelled run does not fail (C65)
                    raise
                await self._wait_before_retry(error, number)
                continue
            problem = find_malformation(response)
            if problem is None:
                return await self._complete(attempt, response)
            await self._recorder.malformed(attempt)
            await self._refuse(problem, number)
        raise AssertionError("the attempt budget ends inside the loop")

    async def _exchange(self, attempt: ProviderAttempt, request: ModelRequest) -> ModelResponse:
        """Run one attempt and tell its metrics (C32, C68)."""
        context = self._context
        try:
            response = await attempt.run(request)
            profile = ModelCallProfile(context.identity, request.reasoning, request.service_tier)
            await context.sink.emit(ModelCallCompleted(profile, attempt.metrics()))
            return response
        except (Cancelled, ConsumerDropped):
            context.partial = attempt.capture.aborted_message()
            await self._recorder.cancelled(attempt)
            raise
        except ProviderError:
            if not context.token.is_cancelled:
                raise
            context.partial = attempt.capture.aborted_message()
            await self._recorder.cancelled(attempt)  # whatever it ended with (C65, J3)
            raise Cancelled from None
        except RhoError as error:  # a typed failure that no retry can mend
            context.partial = attempt.capture.aborted_message()
            await self._recorder.failed(attempt, error)
            raise

    async def _complete(
        self, attempt: ProviderAttempt, response: ModelResponse
    ) -> EnrichedAssistant:
        context, capture = self._context, attempt.capture
        context.usage = context.usage.merge(capture.usage)
        await self._recorder.completed(attempt)
        return EnrichedAssistant(
            content=response.content,
            provenance=context.identity,
            reasoning_summary=capture.summary,
            provider_context=capture.provider_context,
        )

    async def _wait_before_retry(self, error: ProviderError, number: int) -> None:
        """Void what was shown of the failed attempt, then back off (C76, C77)."""
        self._failures += 1
        retry_after = error.retry_after if error.retry_after and error.retry_after > 0 else None
        delay = backoff_delay(self._failures, retry_after)
        reason = RetryableFailureReset(error.provider_kind, retry_after)
        detail = f"{error} (after provider attempt {number} of {MAX_ATTEMPTS})"
        await self._reset(reason, detail, delay)
        await self._context.token.race(self._context.environment.clock.sleep(delay))

    async def _refuse(self, problem: str, number: int) -> None:
        """Try a malformed answer once more, without a delay, or give up (C81)."""
        self._malformed += 1
        if self._malformed >= MAX_MALFORMED or number == MAX_ATTEMPTS:
            raise ProviderError(ProviderErrorKind.INVALID_RESPONSE, problem)
        await self._reset(InvalidResponseReset(), problem, 0.0)

    async def _reset(self, reason: ResetReason, detail: str, delay: float) -> None:
        try:
            await self._context.sink.emit(ProviderStreamReset(reason, detail, delay))
        except Cancelled:
            return  # noticed by the wait or the attempt that follows (C77)
