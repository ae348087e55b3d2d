"""Reports each physical request of a step to the host's usage recorder (J1–J3)."""

from __future__ import annotations

from rho_core.errors import ProviderError, ProviderErrorKind, RhoError
from rho_core.running.attempt import ProviderAttempt
from rho_core.running.context import RunContext
from rho_core.usage import ModelUsage
from rho_core.usage_recording import (
    AttemptCancelled,
    AttemptCompleted,
    AttemptFailed,
    AttemptInvalidResponse,
    AttemptOutcome,
    UsageContext,
)


class AttemptRecorder:
    """Counts the physical attempts of one step from 1. Awaited before the next attempt (J3)."""

    def __init__(self, context: RunContext, step: int) -> None:
        self._context = context
        self._step = step
        self._attempt = 0

    async def completed(self, attempt: ProviderAttempt) -> None:
        """The attempt gave a usable answer."""
        await self._record(attempt, AttemptCompleted())

    async def malformed(self, attempt: ProviderAttempt) -> None:
        """The attempt gave a malformed answer."""
        await self._record(attempt, AttemptInvalidResponse())

    async def cancelled(self, attempt: ProviderAttempt) -> None:
        """The attempt was cut off."""
        await self._record(attempt, AttemptCancelled())

    async def failed(self, attempt: ProviderAttempt, error: RhoError) -> None:
        """The attempt failed with `error`."""
        kind = error.provider_kind if isinstance(error, ProviderError) else ProviderErrorKind.OTHER
        await self._record(attempt, AttemptFailed(kind))

    async def _record(self, attempt: ProviderAttempt, outcome: AttemptOutcome) -> None:
        """Provider-internal failures come first, with their own usage."""
        if not self._context.configuration.usage_recording.is_enabled:
            return
        for kind, usage in attempt.internal_failures:
            await self._record_one(usage, AttemptFailed(kind))
        await self._record_one(attempt.capture.usage, outcome)

    async def _record_one(self, usage: ModelUsage, outcome: AttemptOutcome) -> None:
        self._attempt += 1
        context, configuration = self._context, self._context.configuration
        facts = UsageContext(
            identity=context.identity,
            purpose=configuration.usage_recording.purpose,
            session_id=context.session.id,
            parent_session_id=configuration.usage_parent_session_id,
            run_id=context.run_id,
            step_index=self._step,
            attempt_index=self._attempt,
            workspace_path=None
            if configuration.workspace is None
            else configuration.workspace.root,
        )
        await configuration.usage_recording.record(facts, usage, outcome)
