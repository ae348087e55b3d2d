"""What a session file holds: one typed record a line, in the order in which things were shown.

Every line has a sequence number. Messages are named by it, so that a compacted history can point
at messages that are already in the file, and a batch that was written twice counts once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from rho_core.events import CompactionTrigger
from rho_core.history.compaction import CompactionOutcome
from rho_core.history.compaction_state import CompactionState
from rho_core.history.messages import Message, ModelIdentity, UserMessage
from rho_core.ids import HostInputId, Revision, SessionId, SteeringId, ToolCallId
from rho_core.questions import HostInputRequest
from rho_core.tooling.values import ToolCompletion, ToolMetadata
from rho_core.usage import ModelUsage
from rho_tui.host.facts import ApprovalVerdict, QuestionReply, Severity, TurnEndKind

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Header:
    """The first line.

    `created` is epoch seconds, `prompt` an excerpt of the first one, `edit_tool` the name of the
    edit tool that the session began with, empty if it is unknown.
    """

    id: SessionId
    created: float
    cwd: str
    version: str
    provider: ModelIdentity
    prompt: str = ""
    edit_tool: str = ""


class MessageOrigin(StrEnum):
    """Why a message is in history."""

    PROMPT = "prompt"
    """Typed by a person; opens a turn."""
    RUN = "run"
    """Made by the run: an answer, a tool result, images, steering (shown by its own record)."""
    SEED = "seed"
    """Put there by the host: a system prompt, a compaction summary. Never shown."""
    SHOWN = "shown"
    """Made by the run and shown before, by an `AnswerShown`."""


@dataclass(frozen=True, slots=True)
class MessageAppended:
    """History was cut to `index` messages, then `message` was appended.

    `index` None: the message is only kept, for a `HistoryReplaced` to point at.
    `reasoning_seconds`: how long the model reasoned before this answer, if it did.
    """

    message: Message
    index: int | None
    origin: MessageOrigin = MessageOrigin.RUN
    reasoning_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ResultAppended:
    """The result of a call, whose text is that of the call's `ToolCallFinished`, was appended."""

    call_id: ToolCallId
    ok: bool
    index: int


@dataclass(frozen=True, slots=True)
class ImagesAppended:
    """The images of a call, held by its `ToolCallFinished`, were appended for the model."""

    call_id: ToolCallId
    tool: str
    index: int


class ReplaceReason(StrEnum):
    """Why history was replaced as a whole."""

    COMPACTION = "compaction"
    RESET = "reset"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class HistoryReplaced:
    """History is now these messages, named by the sequence numbers of their records."""

    messages: tuple[int, ...]
    reason: ReplaceReason


@dataclass(frozen=True, slots=True)
class AnswerShown:
    """An answer without tool calls was shown here, before its message is in history.

    That happens when steering makes the run go on. Its message follows with origin `SHOWN`.
    """

    text: str
    reasoning_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SteeringEntered:
    """Input of a person entered the run; its message follows, unless the process died first."""

    id: SteeringId
    message: UserMessage


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """A call is being worked on."""

    call_id: ToolCallId
    name: str
    metadata: ToolMetadata


@dataclass(frozen=True, slots=True)
class ToolCallFinished:
    """A call ended, `seconds` after it started.

    `output_tail` is the end of its live output, kept when the completion does not hold it.
    """

    call_id: ToolCallId
    completion: ToolCompletion
    seconds: float
    output_tail: str = ""


@dataclass(frozen=True, slots=True)
class HostedToolNoted:
    """The provider used a tool of its own; `name` is None for a web search."""

    name: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class QuestionOpened:
    """A form was put to the host."""

    call_id: ToolCallId
    request: HostInputRequest


class QuestionOutcome(StrEnum):
    """How a form was closed."""

    ANSWERED = "answered"
    TIMED_OUT = "timed_out"
    DISMISSED = "dismissed"
    """By a person."""
    VOID = "void"
    """Its call ended without an answer."""


@dataclass(frozen=True, slots=True)
class QuestionClosed:
    """A form was answered, timed out (then `reason` says what that means) or was dismissed."""

    call_id: ToolCallId
    request_id: HostInputId
    outcome: QuestionOutcome
    replies: tuple[QuestionReply, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalDecided:
    """A person allowed or denied a request; `subject` is one line for people."""

    approval_id: str
    call_id: ToolCallId | None
    tool: str
    subject: str
    verdict: ApprovalVerdict
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class UserCommandStarted:
    """The user ran a command (`!`); `included`: the model is told of it with the next prompt."""

    id: str
    command: str
    timeout_seconds: float
    included: bool


@dataclass(frozen=True, slots=True)
class UserCommandEnded:
    """A command of the user ended as a call of `bash` would.

    `output_tail` is the end of its live output, kept when the completion does not hold it.
    """

    id: str
    completion: ToolCompletion
    output_tail: str = ""


@dataclass(frozen=True, slots=True)
class NoticeShown:
    """A remark of the application."""

    text: str
    severity: Severity = Severity.INFO


@dataclass(frozen=True, slots=True)
class TitleSet:
    """The session got a title."""

    title: str


class Setting(StrEnum):
    """What can be changed between turns."""

    MODEL = "model"
    REASONING = "reasoning"
    PERMISSION_MODE = "permission_mode"
    EDIT_TOOL = "edit_tool"


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """A setting was changed. For the record: a resumed session never takes a mode from here."""

    setting: Setting
    value: str


@dataclass(frozen=True, slots=True)
class FolderChanged:
    """From here on the session works in `cwd`, because its folder before was gone."""

    cwd: str


@dataclass(frozen=True, slots=True)
class CompactionNoted:
    """A compaction was committed."""

    trigger: CompactionTrigger
    outcome: CompactionOutcome


@dataclass(frozen=True, slots=True)
class CompactionStopped:
    """A compaction of `messages` messages came to nothing: for `reason`, or it was cancelled."""

    trigger: CompactionTrigger
    messages: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TurnCommitted:
    """A turn ended and everything of it stands above this line.

    `messages` counts history, `title` and `total_usage` repeat what is current, so that the end of
    a file tells what a list of sessions needs. So does `cwd`, which is empty as long as the session
    works where it was started.
    """

    kind: TurnEndKind
    revision: Revision
    messages: int
    provider: ModelIdentity
    message: str = ""
    error_kind: str = ""
    retryable: bool = False
    seconds: float = 0.0
    title: str = ""
    turn_usage: ModelUsage = field(default_factory=ModelUsage)
    total_usage: ModelUsage = field(default_factory=ModelUsage)
    context_tokens: int | None = None
    compaction: CompactionState = field(default_factory=CompactionState)
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class TornLine:
    """The line before this one is known to be damaged; the user was told when it was found."""

    bytes: int


Record: TypeAlias = (
    Header
    | MessageAppended
    | ResultAppended
    | ImagesAppended
    | HistoryReplaced
    | AnswerShown
    | SteeringEntered
    | ToolCallStarted
    | ToolCallFinished
    | HostedToolNoted
    | QuestionOpened
    | QuestionClosed
    | ApprovalDecided
    | UserCommandStarted
    | UserCommandEnded
    | NoticeShown
    | TitleSet
    | SettingChanged
    | FolderChanged
    | CompactionNoted
    | CompactionStopped
    | TurnCommitted
    | TornLine
)


@dataclass(frozen=True, slots=True)
class Line:
    """A record with its sequence number (from 1) and when it was written (epoch seconds)."""

    seq: int
    at: float
    record: Record
