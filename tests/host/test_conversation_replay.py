"""A resumed session draws the same picture as the live one did, whatever happened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rho_core import events as run
from rho_core.authority.approvals import AllowForSession, AllowOnce, Deny
from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityRequest,
    PrimaryWorkspace,
    WritePath,
)
from rho_core.authority.workspace import Workspace
from rho_core.errors import ProviderError, ProviderErrorKind, ToolError
from rho_core.history.compaction import CompactionPolicy
from rho_core.history.messages import Image, SystemMessage, ToolCall, UserMessage
from rho_core.inputs import UserInput
from rho_core.json_values import freeze
from rho_core.providers.contract import (
    AnswerCutOff,
    HostedToolActivity,
    ImagesWithheld,
    OutputDelta,
    OutputLimit,
    ReasoningDelta,
    ReasoningSummaryDelta,
    ToolCallDelta,
    UsageReported,
    WebSearchActivity,
)
from rho_core.questions import HostChoice, HostInputRequest, HostInputResponse, HostQuestion
from rho_core.testing import PlannedTool, ScriptedCompactor, ScriptedTool, ScriptedTurn
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput, ToolProgress
from rho_core.tools.shell.tool import BashTool
from rho_core.usage import ModelUsage
from rho_tui.host import facts
from rho_tui.host.facts import ApprovalVerdict, TurnEndKind
from rho_tui.host.permissions import PermissionMode
from rho_tui.host.sessions.file import SessionFile
from rho_tui.host.sessions.index import list_sessions
from rho_tui.host.sessions.records import MessageAppended, MessageOrigin
from rho_tui.host.sessions.recovery import load
from rho_tui.transcript.blocks import (
    AssistantBlock,
    NoticeBlock,
    ShellBody,
    ToolCard,
    UserBlock,
)
from tests.host.conversation_kit import GatedProvider, Stage, blocks, session_path

DONE = ScriptedTurn.completed("done")
DIFF = ToolMetadata(
    operation=ToolOperation.WRITE,
    affected_paths=("a.txt",),
    diff="--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-x\n+y\n",
    details=freeze({"lines": 1}),
)


def calling(*calls: tuple[str, str, dict[str, Any]], text: str = "let me") -> ScriptedTurn:
    return ScriptedTurn.completed(text, *(ToolCall.of(*call) for call in calls))


async def test_text_tools_and_diffs(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path,
        [
            calling(("1", "edit", {"path": "a.txt"}), ("2", "nobody", {}), ("3", "bad", {})),
            ScriptedTurn.streaming([OutputDelta("do"), OutputDelta("ne")]),
            calling(("1", "edit", {"path": "b"}), text="again"),
            DONE,
        ],
        [
            ScriptedTool("edit", ToolOutput("edited", DIFF)),
            ScriptedTool(
                "bad",
                ToolError.execution("exit 1"),
                progress=[ToolProgress(output_delta="line 1\n"), ToolProgress(output_delta="no\n")],
            ),
        ],
        options={"system_prompt": "be good"},
    )
    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "first", "second")
    assert (ended.kind, ended.text) == (TurnEndKind.COMPLETED, "done")
    stage.assert_replay_equals_live()


@pytest.mark.clause("APP2.29")
async def test_the_colours_of_commands(tmp_path: Path) -> None:
    commands = [
        r"printf '\033[32mok\033[0m done\n'",
        r"printf '\033[1;31mFAIL\033[0m\n' >&2; exit 3",
        r"for n in $(seq 5000); do printf '\033[3%dmline %d\033[0m\n' $((n % 8)) $n; done",
    ]
    stage = Stage(
        tmp_path,
        [calling((str(n), "bash", {"command": c})) for n, c in enumerate(commands)] + [DONE],
        [BashTool(max_output_bytes=2_000)],
        PermissionMode.BYPASS,
        options={"workspace": Workspace(tmp_path)},
    )
    async with await stage.new() as conversation:
        await stage.play(conversation, "run them")
    stage.assert_replay_equals_live()
    cards = [block for block in blocks(stage.replayed()) if isinstance(block, ToolCard)]
    shown = [body.text for card in cards for body in card.bodies if isinstance(body, ShellBody)]
    assert shown[:2] == ["\x1b[32mok\x1b[0m done", "\x1b[1;31mFAIL"]
    assert shown[2].startswith("\x1b[31mline 1\x1b[0m\n\x1b[32mline 2\x1b[0m\n")
    assert shown[2].endswith("\n\x1b[30mline 5000")
    assert "bytes left out" in shown[2]
    for message in conversation.session.history:
        assert "\x1b" not in getattr(message, "content", "")


async def test_a_command_that_was_cancelled_keeps_the_end_of_its_output(tmp_path: Path) -> None:
    command = r"printf '\033[33m%s\033[0m\n' $(seq 9000); sleep 60"
    stage = Stage(
        tmp_path,
        [calling(("1", "bash", {"command": command}))],
        [BashTool()],
        PermissionMode.BYPASS,
        options={"workspace": Workspace(tmp_path)},
    )

    def react(conversation: Any, event: Any) -> None:
        output = event.progress.output_delta if isinstance(event, run.ToolUpdated) else None
        if output and output.endswith("9000\x1b[0m\n"):
            conversation.cancel()

    async with await stage.new() as conversation:
        await stage.play(conversation, "count", react=react)
    # the file holds a tail of what was shown live, and both cards show that
    assert blocks(stage.replayed()) == blocks(stage.seen)
    [card] = [block for block in blocks(stage.replayed()) if isinstance(block, ToolCard)]
    (body,) = card.bodies
    assert body.text.endswith("\x1b[33m9000\x1b[0m\n")
    assert 12_000 < len(body.text) <= 16_384


async def test_reasoning_hosted_tools_usage_and_images(tmp_path: Path) -> None:
    events = [
        ReasoningSummaryDelta("because "),
        ReasoningSummaryDelta("of this"),
        WebSearchActivity("rho"),
        HostedToolActivity("draw", "a cat"),
        OutputDelta("so"),
        UsageReported(ModelUsage(input_tokens=10, output_tokens=5, cost_usd_micros=3)),
    ]
    stage = Stage(tmp_path, [ScriptedTurn.streaming(events), ScriptedTurn.streaming(events)])
    async with await stage.new() as conversation:
        picture = UserInput.text_and_images("look", [Image("aGk=", "image/png")])
        await stage.play(conversation, picture, "more")
    [_, totals] = [e for e in stage.seen if isinstance(e, facts.UsageTotals)]
    assert totals.usage.output_tokens == 10
    stage.assert_replay_equals_live()
    prompts = [e for e in stage.replayed() if isinstance(e, facts.PromptAccepted)]
    assert prompts[0].attachments == ("[image 1: image/png]",)


@pytest.mark.clause("APP2.17", "C16")
async def test_raw_reasoning_is_shown_live_and_only_its_time_is_kept(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [ScriptedTurn.streaming([ReasoningDelta("hm"), OutputDelta("so")])])
    async with await stage.new() as conversation:
        await stage.play(conversation, "why?")
    closed = [e for e in stage.seen if isinstance(e, facts.ReasoningClosed)]
    assert [e for e in stage.replayed() if isinstance(e, facts.ReasoningClosed)] == closed
    assert len(closed) == 1
    assert b"hm" not in session_path(tmp_path).read_bytes()


def writer(name: str = "write", path: str = "/x/a.txt") -> PlannedTool:
    async def execute(_invocation: Any, _context: Any) -> ToolOutput:
        return ToolOutput("written", DIFF)

    request = CapabilityRequest(WritePath(Path(path), PrimaryWorkspace()), BuiltInTool(name))
    return PlannedTool(name, execute, capabilities=(request,), metadata=DIFF)


@pytest.mark.clause("APP3.20")
async def test_approvals(tmp_path: Path) -> None:
    decisions = iter([AllowOnce(), Deny("use b.txt instead"), AllowForSession()])
    asked: list[facts.ApprovalAsked] = []

    def react(conversation: Any, event: Any) -> None:
        if isinstance(event, facts.ApprovalAsked):
            asked.append(event)
            decision = next(decisions)
            assert conversation.decide(event.approval_id, decision)
            assert not conversation.decide(event.approval_id, AllowOnce())

    calls = [calling((str(n), "write", {"n": n})) for n in range(4)]
    stage = Stage(tmp_path, [*calls, DONE], [writer()])
    async with await stage.new() as conversation:
        await stage.play(conversation, "write", react=react)
    assert len(asked) == 3  # the fourth was remembered
    assert asked[0].call == ToolCall.of("0", "write", {"n": 0})
    assert asked[0].preview == DIFF
    answered = [e for e in stage.seen if isinstance(e, facts.ApprovalAnswered)]
    assert [(e.tool, e.subject, e.verdict, e.feedback) for e in answered] == [
        ("write", "/x/a.txt", ApprovalVerdict.ALLOWED_ONCE, ""),
        ("write", "/x/a.txt", ApprovalVerdict.DENIED, "use b.txt instead"),
        ("write", "/x/a.txt", ApprovalVerdict.ALLOWED_FOR_SESSION, ""),
    ]
    [denied] = [m for m in stage.provider.requests[-1].messages if "use b.txt" in str(m)]
    assert not denied.ok  # type: ignore[union-attr]
    stage.assert_replay_equals_live()


def asker() -> PlannedTool:
    async def execute(_invocation: Any, context: Any) -> ToolOutput:
        choices = (HostChoice("pg", "Postgres"), HostChoice("lite", "SQLite"))
        request = HostInputRequest.questionnaire(
            "Choose", [HostQuestion("db", "Which database?", choices, allow_other=True)]
        ).with_timeout_fallback(HostInputResponse().answer("db", ["lite"]), "harmless")
        response = await context.request_host_input(request)
        return ToolOutput.text(f"{response.source.value} {dict(response.answers)}")

    return PlannedTool("ask", execute)


@pytest.mark.clause("APP4.12", "APP4.21", "case:F2", "case:F4")
async def test_questions_answered_timed_out_and_dismissed(tmp_path: Path) -> None:
    def react(conversation: Any, event: Any) -> None:
        if not isinstance(event, facts.QuestionAsked):
            return
        match event.call_id:
            case "1":
                response = HostInputResponse().answer("db", ["pg"])
            case "2":
                fallback = event.request.timeout_fallback
                assert fallback is not None
                response = fallback
            case _:
                conversation.dismiss(event.request.id)
                return
        conversation.respond(event.request.id, response)

    calls = [calling((str(n), "ask", {})) for n in (1, 2, 3)]
    stage = Stage(tmp_path, [*calls, DONE], [asker()])
    async with await stage.new() as conversation:
        await stage.play(conversation, "ask", react=react)
    results = [m.content for m in conversation.session.history if hasattr(m, "ok")]
    assert results == [
        "user {'db': ('pg',)}",
        "timeout_fallback {'db': ('lite',)}",
        "the user dismissed the form without answering",
    ]
    [answered] = [e for e in stage.seen if isinstance(e, facts.QuestionAnswered)]
    assert answered.replies == (facts.QuestionReply("Which database?", ("Postgres",)),)
    [timed_out] = [e for e in stage.seen if isinstance(e, facts.QuestionTimedOut)]
    assert timed_out.reason == "harmless"
    stage.assert_replay_equals_live()


@pytest.mark.clause("C27")
@pytest.mark.parametrize(
    ("limit", "says"),
    [
        (OutputLimit.OUTPUT_TOKENS, 'cut off at the model\'s output limit; say "go on"'),
        (OutputLimit.CONTEXT_WINDOW, "cut off because the model's context is full"),
    ],
)
async def test_an_answer_that_was_cut_off_at_a_limit_says_so(
    tmp_path: Path, limit: OutputLimit, says: str
) -> None:
    cut_off = [OutputDelta("half of"), AnswerCutOff(limit)]
    call = ToolCall.of("1", "look", {})
    stage = Stage(
        tmp_path,
        [
            ScriptedTurn.streaming([AnswerCutOff(limit)], call),  # it goes on by itself
            ScriptedTurn.streaming(cut_off),
            ScriptedTurn.streaming([OutputDelta(" the answer")]),
        ],
        [ScriptedTool("look")],
    )
    async with await stage.new() as conversation:
        await stage.play(conversation, "tell me", "go on")
    stage.assert_replay_equals_live()
    (notice,) = [b for b in blocks(stage.replayed()) if isinstance(b, NoticeBlock)]
    assert says in notice.text
    shown = blocks(stage.replayed())
    assert shown[shown.index(notice) - 1] == AssistantBlock("half of")
    assert shown[shown.index(notice) + 1] == UserBlock("go on")


@pytest.mark.clause("C27", "case:H19")
async def test_images_that_the_provider_refused(tmp_path: Path) -> None:
    refused = [
        ImagesWithheld(1, "h refused the request (HTTP 400): bad image"),
        OutputDelta("well"),
    ]
    stage = Stage(
        tmp_path,
        [calling(("1", "shot", {})), ScriptedTurn.streaming(refused)],
        [ScriptedTool("shot", ToolOutput.text("shot").with_images([Image("aGk=", "image/png")]))],
    )
    async with await stage.new() as conversation:
        await stage.play(conversation, "look")
    stage.assert_replay_equals_live()
    shown = blocks(stage.replayed())
    assert isinstance(shown[-3], ToolCard)
    assert isinstance(shown[-2], NoticeBlock)
    assert "the provider refused an image, so it is asked without it: h refused" in shown[-2].text
    assert shown[-1] == AssistantBlock("well")


async def test_steering_into_an_answer_that_was_cut_off(tmp_path: Path) -> None:
    cut_off = [OutputDelta("half of"), AnswerCutOff(OutputLimit.OUTPUT_TOKENS)]
    stage = Stage(tmp_path, [ScriptedTurn.streaming(cut_off), DONE], gated=True)

    async def react(conversation: Any, event: Any) -> None:
        if isinstance(event, run.StepStarted):
            if event.step == 1:
                await conversation.steer("shorter")
            assert isinstance(stage.provider, GatedProvider)
            stage.provider.proceed()

    async with await stage.new() as conversation:
        await stage.play(conversation, "go", react=react)
    stage.assert_replay_equals_live()
    kinds = [type(block).__name__ for block in blocks(stage.replayed())]
    assert kinds == ["UserBlock", "AssistantBlock", "NoticeBlock", "UserBlock", "AssistantBlock"]


async def test_an_attempt_that_is_void_leaves_no_notice_of_its_end(tmp_path: Path) -> None:
    limit = ProviderError(ProviderErrorKind.RATE_LIMIT, "slow down", retryable=True, retry_after=0)
    cut_off = [OutputDelta("half"), AnswerCutOff(OutputLimit.OUTPUT_TOKENS)]
    stage = Stage(tmp_path, [ScriptedTurn.streaming_failed(cut_off, limit), DONE])
    async with await stage.new() as conversation:
        await stage.play(conversation, "go")
    stage.assert_replay_equals_live()
    assert not [event for event in stage.seen if isinstance(event, facts.Notice)]


@pytest.mark.clause("APP2.6", "C63", "C66")
async def test_cancelled_while_the_model_writes(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path,
        [
            ScriptedTurn.hanging(
                OutputDelta("half an "),
                OutputDelta("answer"),
                ToolCallDelta(0, "7", "write", '{"path": "a'),
            )
        ],
    )

    def react(conversation: Any, event: Any) -> None:
        if isinstance(event, run.ToolCallUpdated):
            conversation.cancel()

    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "go", react=react)
    assert ended.kind is TurnEndKind.CANCELLED
    stage.assert_replay_equals_live()


async def test_cancelled_while_the_turn_starts(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [ScriptedTurn.hanging(OutputDelta("hm"))])
    async with await stage.new() as conversation:
        sending = asyncio.create_task(conversation.send("go"))
        await asyncio.sleep(0)
        assert not sending.done()
        conversation.cancel()
        await sending
        ended = await stage.until(conversation, facts.TurnEnded)
    assert ended.kind is TurnEndKind.CANCELLED
    stage.assert_replay_equals_live()


async def test_cancelled_while_a_tool_runs_and_a_form_is_open(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path, [calling(("1", "ask", {}), ("2", "slow", {}))], [asker(), ScriptedTool("slow")]
    )

    def react(conversation: Any, event: Any) -> None:
        if isinstance(event, facts.QuestionAsked):
            conversation.cancel()

    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "go", react=react)
    assert ended.kind is TurnEndKind.CANCELLED
    [dismissed] = [e for e in stage.seen if isinstance(e, facts.QuestionDismissed)]
    assert not dismissed.by_user
    finished = [e.call_id for e in stage.replayed() if isinstance(e, run.ToolFinished)]
    assert sorted(finished) == ["1", "2"]
    stage.assert_replay_equals_live()


@pytest.mark.clause("APP2.5", "C64")
async def test_failed_and_retried(tmp_path: Path) -> None:
    limit = ProviderError(ProviderErrorKind.RATE_LIMIT, "slow down", retryable=True, retry_after=0)
    refused = ProviderError(ProviderErrorKind.AUTHENTICATION, "who are you?")
    stage = Stage(
        tmp_path,
        [
            ScriptedTurn.streaming_failed([OutputDelta("void")], limit),
            ScriptedTurn.streaming([OutputDelta("fine")]),
            ScriptedTurn.streaming_failed([OutputDelta("half")], refused),
        ],
    )
    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "one", "two")
    assert ended.kind is TurnEndKind.FAILED
    assert ended.error_kind == "provider.authentication"
    assert "who are you?" in ended.message
    stage.assert_replay_equals_live()


@pytest.mark.clause("C47", "C57", "APP2.45")
async def test_steering_into_the_last_answer_and_between_tools(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def execute(_invocation: Any, _context: Any) -> ToolOutput:
        await gate.wait()
        return ToolOutput.text("looked")

    stage = Stage(
        tmp_path,
        [
            calling(("1", "look", {})),
            ScriptedTurn.streaming([OutputDelta("nearly done")]),
            DONE,
        ],
        [PlannedTool("look", execute)],
        gated=True,
    )

    async def react(conversation: Any, event: Any) -> None:
        if isinstance(event, run.ToolStarted):
            await conversation.steer("faster")
            gate.set()
        if isinstance(event, run.StepStarted):
            if event.step == 2:
                await conversation.steer("and better")
            assert isinstance(stage.provider, GatedProvider)
            stage.provider.proceed()

    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "go", react=react)
    assert ended.unapplied_steering == ()
    prompts = [(e.text, e.steering) for e in stage.seen if isinstance(e, facts.PromptAccepted)]
    assert prompts == [("go", False), ("faster", True), ("and better", True)]
    stage.assert_replay_equals_live()


async def test_steering_that_never_applied_is_given_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [ScriptedTurn.hanging(OutputDelta("hm"))])

    async def react(conversation: Any, event: Any) -> None:
        if isinstance(event, run.AssistantTextDelta):
            await conversation.steer("faster")
            second = await conversation.steer("no")
            assert (await conversation.retract_steering(second)).value == "retracted"
            conversation.cancel()

    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "go", react=react)
        assert ended.unapplied_steering == ("faster",)
        with pytest.raises(Exception, match="no run"):
            await conversation.steer("late")


@pytest.mark.clause("APP2.40", "J6", "J13")
async def test_compaction_by_itself_and_by_hand(tmp_path: Path) -> None:
    system, summary = SystemMessage("be good"), UserMessage.of_text("summary")
    compactor = ScriptedCompactor([[system, summary], [system, UserMessage.of_text("tiny")]])
    stage = Stage(
        tmp_path,
        [ScriptedTurn.completed("one"), ScriptedTurn.completed("two"), DONE],
        options={
            "system_prompt": "be good",
            "compactor": compactor,
            "compaction_policy": CompactionPolicy.after_messages(4),
        },
    )
    async with await stage.new() as conversation:
        await stage.play(conversation, "first", "second")
        await conversation.compact()
        await stage.until(conversation, run.CompactionCompleted)
        live = conversation.session.snapshot()
    async with await stage.resume() as again:
        assert again.session.snapshot().history == live.history
        assert again.session.snapshot().compaction == live.compaction
        assert again.session.revision == live.revision
        assert list(again.replay())
    stage.assert_replay_equals_live()


@pytest.mark.clause("case:G6")
@pytest.mark.parametrize("interrupted", [False, True])
async def test_a_session_that_moved_keeps_its_folder_and_gets_its_prompt(
    tmp_path: Path, interrupted: bool
) -> None:
    first = Stage(tmp_path, [DONE], options={"system_prompt": "you work in /x"})
    async with await first.new() as conversation:
        await first.play(conversation, "one")
    if interrupted:
        torn_off = SessionFile(session_path(tmp_path), next_seq=100, exists=True)
        torn_off.stage(MessageAppended(UserMessage.of_text("two"), 3, MessageOrigin.PROMPT))
        torn_off.flush()
        torn_off.close()
    moved = Stage(tmp_path, [DONE], cwd="/y", system_prompt="you work in /y")
    async with await moved.resume() as conversation:
        moved.seen += conversation.replay()
        await moved.until(conversation, facts.FolderChanged)
        assert load(session_path(tmp_path)).folder == "/y"
        await moved.play(conversation, "three")
    assert blocks(moved.replayed()) == blocks(moved.seen)
    [opened] = [e for e in moved.replayed() if isinstance(e, facts.SessionOpened)]
    assert opened.cwd == "/y"
    stored = load(session_path(tmp_path))
    assert [m for m in stored.snapshot.history if isinstance(m, SystemMessage)] == [
        SystemMessage("you work in /y")
    ]
    assert moved.provider.requests[-1].messages == stored.snapshot.history[:-1]
    [summary] = list_sessions(tmp_path)
    assert (summary.cwd, stored.header.cwd) == ("/y", "/x")
    again = Stage(tmp_path, cwd="/y", system_prompt="something else")
    async with await again.resume() as conversation:
        assert conversation.session.history == stored.snapshot.history


async def test_max_steps_settings_and_remarks(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path,
        [calling(("1", "look", {}))],
        [ScriptedTool("look")],
        options={"max_steps": 1},
    )
    async with await stage.new() as conversation:
        conversation.notice("before the first prompt")
        conversation.set_title("A title")
        ended = await stage.play(conversation, "go")
        conversation.notice("after", facts.Severity.WARNING)
        conversation.reset()
        await stage.until(conversation, facts.HistoryReset)
    assert ended.kind is TurnEndKind.MAX_STEPS
    stage.assert_replay_equals_live()
    resumed = await stage.resume()
    assert resumed.title == "A title"
    assert resumed.session.history == ()
    await resumed.aclose()
