"""Every event of a run (section C.3). Frozen facts: a renderer folds them, nothing else.

Order, per run: `Started` first; one of `Completed`, `Cancelled`, `Failed` last on every
cooperative end. For a call: `ToolProposed`, `ToolStarted`, `ToolUpdated`*, `ToolFinished`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from rho_core.errors import ProviderErrorKind
from rho_core.history.compaction import CompactionOutcome
from rho_core.history.messages import ContentBlock, ModelIdentity, ToolCall, text_of
from rho_core.ids import Revision, RunId, SteeringId, ToolCallId
from rho_core.providers.contract import OutputLimit
from rho_core.questions import HostInputRequest
from rho_core.reasoning import ReasoningLevel
from rho_core.tooling.values import ToolCompletion, ToolMetadata, ToolProgress
from rho_core.usage import ModelUsage


class StopReason(StrEnum):
    """Why a run ended well."""

    END_TURN = "end_turn"
    MAX_STEPS = "max_steps"


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The authoritative result of a successful run (C92)."""

    content: tuple[ContentBlock, ...]
    usage: ModelUsage
    stop_reason: StopReason
    revision: Revision

    @property
    def text(self) -> str:
        """All text of the final answer."""
        return text_of(self.content)


@dataclass(frozen=True, slots=True)
class Started:
    """The run began at `revision` (C12)."""

    run_id: RunId
    revision: Revision


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A model step begins; `step` counts from 1 (C13)."""

    step: int
    estimated_context_tokens: int


@dataclass(frozen=True, slots=True)
class AssistantTextDelta:
    """A piece of the answer (C15)."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of raw reasoning, never stored (C16)."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningSummaryDelta:
    """A piece of the reasoning summary (C17)."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallUpdated:
    """A fragment of a call that is being written; known id and name are repeated (C18)."""

    index: int
    id: str | None
    name: str | None
    arguments_delta: str


@dataclass(frozen=True, slots=True)
class ToolProposed:
    """The model asks for this call (C19)."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call is being worked on; it may still wait for approval (C20)."""

    call_id: ToolCallId
    name: str
    metadata: ToolMetadata


@dataclass(frozen=True, slots=True)
class ToolDetached:
    """The call runs on while the model continues (C38)."""

    call_id: ToolCallId


@dataclass(frozen=True, slots=True)
class ToolUpdated:
    """A call reports progress (C21)."""

    call_id: ToolCallId
    progress: ToolProgress


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """The last event of a call (C22)."""

    call_id: ToolCallId
    completion: ToolCompletion


@dataclass(frozen=True, slots=True)
class ToolHostInputRequested:
    """A call puts a question to the host; answer with `Run.respond` (C28)."""

    call_id: ToolCallId
    request: HostInputRequest


@dataclass(frozen=True, slots=True)
class UsageUpdated:
    """Usage of earlier steps plus the current attempt; may fall after a reset (C23)."""

    usage: ModelUsage


@dataclass(frozen=True, slots=True)
class ProviderContextUpdated:
    """Opaque provider context of `kind` was recorded (C25)."""

    kind: str


@dataclass(frozen=True, slots=True)
class WebSearch:
    """The provider searched the web by itself (C27)."""

    detail: str


@dataclass(frozen=True, slots=True)
class HostedToolUsed:
    """The provider ran a tool of its own (C27)."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class ProviderServiceTierFallback:
    """Another service tier was used than asked for (C27)."""

    requested: str
    used: str


@dataclass(frozen=True, slots=True)
class ProviderAnswerCutOff:
    """The answer stops short: the provider reached `limit` while writing it (C27)."""

    limit: OutputLimit


@dataclass(frozen=True, slots=True)
class ProviderImagesWithheld:
    """The provider refused `count` images and is asked without them; `reason` is its word (C27)."""

    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProviderRequestRetry:
    """The provider repeats a physical request by itself (C27, C82)."""


class CompactionTrigger(StrEnum):
    """Who asked for a compaction."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class CompactionStarted:
    """Compaction of `message_count` messages begins (C29)."""

    trigger: CompactionTrigger
    message_count: int


@dataclass(frozen=True, slots=True)
class CompactionCompleted:
    """A compaction was committed (C30)."""

    trigger: CompactionTrigger
    outcome: CompactionOutcome


@dataclass(frozen=True, slots=True)
class InvalidResponseReset:
    """The provider's answer was malformed."""


@dataclass(frozen=True, slots=True)
class RetryableFailureReset:
    """The provider failed and the turn is tried again, after `retry_after` seconds if given."""

    kind: ProviderErrorKind
    retry_after: float | None = None


ResetReason: TypeAlias = InvalidResponseReset | RetryableFailureReset


@dataclass(frozen=True, slots=True)
class ProviderStreamReset:
    """Everything shown of the current attempt is void; the same request is sent again (C31).

    `delay` is the wait in seconds before the next attempt.
    """

    reason: ResetReason
    detail: str
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelCallProfile:
    """What was called."""

    identity: ModelIdentity
    reasoning: ReasoningLevel
    service_tier: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCallMetrics:
    """How fast it was; seconds, None where nothing was observed (C93)."""

    output_tokens: int | None
    time_to_first_token: float | None
    generation_time: float | None
    total_latency: float
    generation_output_tokens: int | None = None

    @property
    def generation_rate(self) -> float | None:
        """Output tokens per second of the generation window."""
        tokens = self.generation_output_tokens
        if tokens is None:
            tokens = self.output_tokens
        return _rate(tokens, self.generation_time)

    @property
    def response_rate(self) -> float | None:
        """Output tokens per second of the whole call."""
        return _rate(self.output_tokens, self.total_latency)


@dataclass(frozen=True, slots=True)
class ModelCallCompleted:
    """A model call ended; before any `ToolProposed` of its response (C32)."""

    profile: ModelCallProfile
    metrics: ModelCallMetrics


@dataclass(frozen=True, slots=True)
class SteeringApplied:
    """These staged inputs enter history now, in this order (C33)."""

    ids: tuple[SteeringId, ...]


@dataclass(frozen=True, slots=True)
class ProviderDiagnostic:
    """Raw detail of the failure that follows; kept out of `repr` (C34)."""

    detail: str

    def __repr__(self) -> str:
        return "ProviderDiagnostic([redacted])"


@dataclass(frozen=True, slots=True)
class Completed:
    """The run ended well (C35)."""

    outcome: RunOutcome


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The run was cancelled and what it had done is committed (C36)."""

    revision: Revision


@dataclass(frozen=True, slots=True)
class Failed:
    """The run failed and what it had done is committed (C37)."""

    message: str
    retryable: bool
    revision: Revision


RunEvent: TypeAlias = (
    Started
    | StepStarted
    | AssistantTextDelta
    | ReasoningDelta
    | ReasoningSummaryDelta
    | ToolCallUpdated
    | ToolProposed
    | ToolStarted
    | ToolDetached
    | ToolUpdated
    | ToolFinished
    | ToolHostInputRequested
    | UsageUpdated
    | ProviderContextUpdated
    | WebSearch
    | HostedToolUsed
    | ProviderServiceTierFallback
    | ProviderAnswerCutOff
    | ProviderImagesWithheld
    | ProviderRequestRetry
    | CompactionStarted
    | CompactionCompleted
    | ProviderStreamReset
    | ModelCallCompleted
    | SteeringApplied
    | ProviderDiagnostic
    | Completed
    | Cancelled
    | Failed
)


def _rate(tokens: int | None, seconds: float | None) -> float | None:
    return tokens / seconds if tokens is not None and seconds else None
