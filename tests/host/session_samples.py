"""One record of every type, with everything in it that can be in it."""

from __future__ import annotations

from rho_core.errors import ToolErrorKind
from rho_core.events import CompactionTrigger
from rho_core.history.compaction import CompactionOutcome
from rho_core.history.compaction_state import CompactionState
from rho_core.history.messages import (
    AbortedAssistant,
    EnrichedAssistant,
    Image,
    ModelIdentity,
    PartialToolCall,
    ProviderContextBlock,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from rho_core.ids import HostInputId, Revision, SessionId, SteeringId, ToolCallId
from rho_core.json_values import freeze
from rho_core.questions import (
    DefaultSelection,
    HostChoice,
    HostInputRequest,
    HostInputResponse,
    HostQuestion,
    SelectionMode,
)
from rho_core.tooling.values import (
    ToolAsset,
    ToolFailed,
    ToolMetadata,
    ToolOperation,
    ToolOutput,
    ToolSucceeded,
    ToolUnavailable,
)
from rho_core.usage import ModelUsage
from rho_tui.host.facts import ApprovalVerdict, QuestionReply, Severity, TurnEndKind
from rho_tui.host.sessions import records as r

MODEL = ModelIdentity("scripted", "api", "model")
CALL = ToolCallId("call-1")

METADATA = ToolMetadata(
    operation=ToolOperation.WRITE,
    affected_paths=("a.txt", "b\udcff.txt"),
    command_summary="do it",
    urls=("https://example.com/x",),
    diff="--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n",
    assets=(ToolAsset("image/png", b"\x89PNG\x00\xff"),),
    presentation_notices=("only part of it",),
    details=freeze({"exit_code": 1, "timed_out": False, "deep": [1, {"a": None}]}),
)


def form() -> HostInputRequest:
    """A form that uses every field."""
    question = HostQuestion(
        id="db",
        prompt="Which database?",
        choices=(HostChoice("pg", "Postgres", "the big one"), HostChoice("lite", "SQLite")),
        selection=SelectionMode.MANY,
        allow_other=True,
        header="Database",
        help="",
        default_value=["pg"],
        default_selection=DefaultSelection.FOCUSED,
        required=False,
    )
    request = HostInputRequest(HostInputId("form-1"), "Choose", (question,))
    return request.with_timeout_fallback(HostInputResponse().answer("db", ["lite"]), "it is safe")


RECORDS: tuple[r.Record, ...] = (
    r.Header(
        SessionId("s-1"), 1764498000.25, "/home/x/\udcffproj", "0.1", MODEL, "hello\x00", "edit"
    ),
    r.MessageAppended(SystemMessage("be good"), 0, r.MessageOrigin.SEED),
    r.MessageAppended(
        UserMessage((Text("a\u2028b\u0085c\x0cd\x1ce\x00"), Image("aGk=", "image/png"))),
        1,
        r.MessageOrigin.PROMPT,
    ),
    r.MessageAppended(
        EnrichedAssistant(
            (Text("thinking"), ToolCall.of("call-1", "bash", {"command": "ls", "n": 1.5})),
            MODEL,
            "because",
            (ProviderContextBlock("sig", MODEL, freeze({"s": "x"}), 0),),
        ),
        2,
        r.MessageOrigin.RUN,
        1.25,
    ),
    r.MessageAppended(
        AbortedAssistant(
            (Text("half"),),
            tool_calls=(PartialToolCall("call-2", "write", '{"pa'),),
            usage=ModelUsage(input_tokens=3),
            provenance=MODEL,
        ),
        None,
    ),
    r.MessageAppended(ToolResult("call-1", True, "out"), 3),
    r.ResultAppended(CALL, False, 4),
    r.ImagesAppended(CALL, "read_file", 5),
    r.HistoryReplaced((1, 7, 3), r.ReplaceReason.COMPACTION),
    r.AnswerShown("and now", 0.5),
    r.SteeringEntered(SteeringId("steer-1"), UserMessage.of_text("faster")),
    r.ToolCallStarted(CALL, "write", METADATA),
    r.ToolCallFinished(
        CALL,
        ToolSucceeded(ToolOutput("done", METADATA, (Image("aGk=", "image/png"),))),
        0.25,
    ),
    r.ToolCallFinished(CALL, ToolFailed(ToolErrorKind.EXECUTION, "no", METADATA), 1.0, "tail"),
    r.ToolCallFinished(CALL, ToolUnavailable(), 0.0),
    r.ToolCallFinished(CALL, ToolUnavailable("edit"), 0.0),
    r.HostedToolNoted(None, "rho"),
    r.HostedToolNoted("image", "a cat"),
    r.QuestionOpened(CALL, form()),
    r.QuestionClosed(
        CALL,
        HostInputId("form-1"),
        r.QuestionOutcome.TIMED_OUT,
        (QuestionReply("Which database?", ("SQLite", "use [x] 漢")), QuestionReply("Other?", ())),
        "it is safe",
    ),
    r.ApprovalDecided(
        "approval-1", CALL, "bash", "ls -l", ApprovalVerdict.DENIED, "use list_dir instead"
    ),
    r.ApprovalDecided("approval-2", None, "<prompt>", "/x", ApprovalVerdict.ALLOWED_FOR_SESSION),
    r.UserCommandStarted("command-1", "ls -l\necho \udcff", 60.0, included=True),
    r.UserCommandEnded("command-1", ToolSucceeded(ToolOutput("done", METADATA))),
    r.UserCommandEnded("command-2", ToolFailed(ToolErrorKind.CANCELLED, "no", METADATA), "tail"),
    r.NoticeShown("look", Severity.WARNING),
    r.TitleSet("A title"),
    r.SettingChanged(r.Setting.PERMISSION_MODE, "plan"),
    r.SettingChanged(r.Setting.EDIT_TOOL, "apply_patch"),
    r.FolderChanged("/home/x/elsewhere"),
    r.CompactionNoted(
        CompactionTrigger.AUTOMATIC, CompactionOutcome(10, 2, 900, 100, Revision(4), 12)
    ),
    r.CompactionStopped(CompactionTrigger.MANUAL, 12, "the provider is overloaded"),
    r.CompactionStopped(CompactionTrigger.AUTOMATIC, 3),
    r.TurnCommitted(
        TurnEndKind.FAILED,
        Revision(5),
        12,
        MODEL,
        "provider failed: no",
        "provider.rate_limit",
        True,
        2.5,
        "A title",
        ModelUsage(output_tokens=1),
        ModelUsage(output_tokens=2, cost_usd_micros=7),
        900,
        CompactionState(1, 8, 800, 12, 900, 100, Revision(4)),
        "/home/x/elsewhere",
    ),
    r.TornLine(17),
)
