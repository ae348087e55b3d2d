"""What a conversation tells its one reader: the events of a run plus the facts of the host.

`ConversationEvent` is folded by the transcript reducer and by `rho run` alike. A live run and a
replayed session file speak the same vocabulary in the same order, so both draw the same picture.

Differences from the raw `RunEvent` stream, on purpose:

- `ToolHostInputRequested` never appears; `QuestionAsked` takes its place.
- `Completed`, `Cancelled` and `Failed` never appear; `TurnEnded` takes their place, after the
  commit is on disk.
- `PromptAccepted` opens every turn, before `Started`; it also follows each `SteeringApplied`, once
  per applied input.
- `AssistantSettled` closes every model step that said anything: its text is what history holds.

A replay yields only: `SessionOpened`, `PromptAccepted`, `StepStarted`, `ReasoningSummaryDelta`,
`ReasoningClosed`, `AssistantTextDelta`, `ToolCallUpdated` (calls of an answer that was cut off),
`AssistantSettled`, `ToolProposed`, `ToolStarted`, `ToolUpdated` (at most one a call: the kept tail
of live output, where the call failed), `ToolFinished`, `WebSearch`, `HostedToolUsed`,
`CompactionStarted`, `CompactionCompleted`, `SteeringApplied`, the facts below except
`ApprovalAsked` and `ApprovalWithdrawn`, and `TurnEnded`. Every tool call of a replay is finished
before its `TurnEnded`; one that never finished has a `ToolFailed` of kind `cancelled` with the text
`INTERRUPTED_RESULT`. So does every command of the user that never ended, at the end of the replay.
What was shown live before it was recorded (text, previews of calls, a compaction that begins) comes
in a replay where its record is: a `UserCommandStarted` beside it may then stand before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from rho_core.authority.approvals import ApprovalRequest
from rho_core.events import CompactionTrigger, RunEvent
from rho_core.history.messages import ToolCall
from rho_core.ids import HostInputId, SessionId, SteeringId, ToolCallId
from rho_core.questions import HostInputRequest
from rho_core.tooling.values import ToolCompletion, ToolMetadata
from rho_core.usage import ModelUsage
from rho_tui.host.kinds import Severity as Severity
from rho_tui.host.kinds import TurnEndKind as TurnEndKind

INTERRUPTED_RESULT = "tool call interrupted before completion"
"""What the model reads for a call that has no result."""


class ApprovalVerdict(StrEnum):
    """What a person decided."""

    ALLOWED_ONCE = "allowed_once"
    ALLOWED_FOR_SESSION = "allowed_for_session"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """First event of a conversation, live or replayed.

    `created` is seconds since the epoch, `cwd` where the session works now. `read_only`: prompts
    are refused, because `folder_is_missing`, or because another process (`holder_pid` if known)
    writes this session.
    """

    session_id: SessionId
    cwd: str
    created: float
    resumed: bool = False
    read_only: bool = False
    holder_pid: int | None = None
    folder_is_missing: bool = False

    @property
    def problem(self) -> str:
        """Why prompts are refused and what can be done, for people; empty when they are not."""
        if self.folder_is_missing:
            return (
                f"the folder of this session is gone: {self.cwd}. Put it back and /resume the "
                "session, or /move it to the folder where Rho was started; until then it can "
                "only be read"
            )
        if self.read_only:
            holder = f" (process {self.holder_pid})" if self.holder_pid else ""
            return f"another Rho{holder} is writing this session; it can only be read here"
        return ""


@dataclass(frozen=True, slots=True)
class PromptAccepted:
    """Input of a person is on disk and goes to the model.

    `attachments` are labels such as `[image 1: image/png]`. `steering` marks input that entered a
    run which was already going; `id` is then what `Conversation.steer` returned.
    """

    text: str
    attachments: tuple[str, ...] = ()
    steering: bool = False
    id: SteeringId | None = None


@dataclass(frozen=True, slots=True)
class ReasoningClosed:
    """A stretch of reasoning ended; `seconds` since its first delta (APP2.17)."""

    seconds: float


@dataclass(frozen=True, slots=True)
class AssistantSettled:
    """A model step ended; `text` is the authoritative answer of the step, as history holds it.

    Usually it equals the deltas since the step began; a renderer that shows something else
    replaces it (APP2.14). `aborted` marks a step that was cancelled or failed half way.
    """

    text: str
    aborted: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark of the application, never model text (APP2.44)."""

    text: str
    severity: Severity = Severity.INFO


@dataclass(frozen=True, slots=True)
class UserCommandStarted:
    """The user ran a command of their own with `!`."""

    id: str
    command: str
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class UserCommandPrinted:
    """Output of a running command of the user (in a replay: at most once, the kept tail)."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class UserCommandEnded:
    """A command of the user ended, as a call of `bash` would."""

    id: str
    completion: ToolCompletion


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A gated request waits for a person; answer with `Conversation.decide(approval_id, …)`.

    `call` and `preview` are None when the request does not come from a known tool call. `preview`
    carries what the tool said before it ran: a proposed diff, the paths, the command.
    """

    approval_id: str
    request: ApprovalRequest
    call: ToolCall | None = None
    preview: ToolMetadata | None = None


@dataclass(frozen=True, slots=True)
class ApprovalAnswered:
    """A person decided. `subject` is one display line (untrusted), `feedback` the denial's text."""

    approval_id: str
    call_id: ToolCallId | None
    tool: str
    subject: str
    verdict: ApprovalVerdict
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalWithdrawn:
    """The request is void: its call was cancelled. A prompt for it closes (APP3.19)."""

    approval_id: str


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """A form is put to the host; answer with `Conversation.respond` or `dismiss`."""

    call_id: ToolCallId
    request: HostInputRequest


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """One question and the answer as people read it: labels, or own text. Empty: left out."""

    prompt: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """A person answered the form (APP4.12)."""

    call_id: ToolCallId
    request_id: HostInputId
    replies: tuple[QuestionReply, ...]


@dataclass(frozen=True, slots=True)
class QuestionTimedOut:
    """The host's deadline passed and the fallback was submitted; never a human entry (APP4.21)."""

    call_id: ToolCallId
    request_id: HostInputId
    replies: tuple[QuestionReply, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class QuestionDismissed:
    """The form closed without an answer: by a person (`by_user`), or because the call ended."""

    call_id: ToolCallId
    request_id: HostInputId
    by_user: bool = True


@dataclass(frozen=True, slots=True)
class TitleChanged:
    """The session has a (new) title."""

    title: str


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """Later turns use this model; `name` is `provider/model`."""

    name: str


@dataclass(frozen=True, slots=True)
class ReasoningChanged:
    """Later turns use this reasoning level (its wire word)."""

    level: str


@dataclass(frozen=True, slots=True)
class PermissionModeChanged:
    """Later requests are judged under this mode (`supervised`, `allow_edits`, `plan`, `bypass`)."""

    mode: str


@dataclass(frozen=True, slots=True)
class EditToolChanged:
    """Later turns change files with the tool of this name (T1.5)."""

    name: str


@dataclass(frozen=True, slots=True)
class FolderChanged:
    """The session works in `cwd` from here on."""

    cwd: str


@dataclass(frozen=True, slots=True)
class HistoryReset:
    """The model's history starts afresh; what was shown stays in the file."""


@dataclass(frozen=True, slots=True)
class CompactionStopped:
    """A compaction ended without a new history: cancelled, or failed for `reason` (APP2.40)."""

    trigger: CompactionTrigger
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """Usage of the whole session, as of the last turn, and the estimate of what context holds."""

    usage: ModelUsage
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over and committed.

    Attributes:
        kind: How it ended.
        message: Why, for `FAILED`; else empty.
        text: The final answer of a completed turn (also `MAX_STEPS`).
        usage: Tokens of this turn.
        seconds: Wall time of this turn, 0.0 when unknown.
        error_kind: For `FAILED`, the stable label: an `ErrorKind`, or for provider errors
            `provider.` and a `ProviderErrorKind`, such as `provider.rate_limit`.
        retryable: For `FAILED`, whether sending the same prompt again may work.
        unapplied_steering: Texts of accepted steering that never reached the model, oldest first;
            the composer gets them back (APP2.6, APP2.47).
    """

    kind: TurnEndKind
    message: str = ""
    text: str = ""
    usage: ModelUsage = field(default_factory=ModelUsage)
    seconds: float = 0.0
    error_kind: str = ""
    retryable: bool = False
    unapplied_steering: tuple[str, ...] = ()


HostFact: TypeAlias = (
    SessionOpened
    | PromptAccepted
    | ReasoningClosed
    | AssistantSettled
    | Notice
    | UserCommandStarted
    | UserCommandPrinted
    | UserCommandEnded
    | ApprovalAsked
    | ApprovalAnswered
    | ApprovalWithdrawn
    | QuestionAsked
    | QuestionAnswered
    | QuestionTimedOut
    | QuestionDismissed
    | TitleChanged
    | ModelChanged
    | ReasoningChanged
    | PermissionModeChanged
    | EditToolChanged
    | FolderChanged
    | HistoryReset
    | CompactionStopped
    | UsageTotals
    | TurnEnded
)
ConversationEvent: TypeAlias = RunEvent | HostFact
