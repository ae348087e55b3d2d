"""Steering a conversation from outside: modes, models, approvals, cancellation, wrong calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rho_core import events as run
from rho_core.authority.approvals import AllowForSession, AllowOnce
from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityRequest,
    PrimaryWorkspace,
    WritePath,
)
from rho_core.errors import Interrupted, InvalidHostResponse, SessionBusy
from rho_core.history.messages import ModelIdentity, ToolCall, ToolResult
from rho_core.ids import HostInputId
from rho_core.questions import HostChoice, HostInputRequest, HostInputResponse, HostQuestion
from rho_core.reasoning import ReasoningLevel
from rho_core.testing import PlannedTool, ScriptedProvider, ScriptedTurn
from rho_core.tooling.values import ToolOutput
from rho_core.tools.questionnaire import QuestionnaireTool
from rho_tui.host import facts
from rho_tui.host.facts import TurnEndKind
from rho_tui.host.permissions import PermissionMode
from tests.host.conversation_kit import Stage

DONE = ScriptedTurn.completed("done")


def calling(*ids: str, tool: str = "write") -> ScriptedTurn:
    return ScriptedTurn.completed("let me", *(ToolCall.of(id, tool, {}) for id in ids))


def writer(path: str = "/x/a.txt") -> PlannedTool:
    async def execute(_invocation: Any, _context: Any) -> ToolOutput:
        return ToolOutput.text("written")

    request = CapabilityRequest(WritePath(Path(path), PrimaryWorkspace()), BuiltInTool("write"))
    return PlannedTool("write", execute, capabilities=(request,))


def allow(decision: Any = None) -> Any:
    def react(conversation: Any, event: Any) -> None:
        if isinstance(event, facts.ApprovalAsked):
            conversation.decide(event.approval_id, decision or AllowOnce())

    return react


def asked(stage: Stage) -> int:
    return sum(isinstance(event, facts.ApprovalAsked) for event in stage.seen)


@pytest.mark.clause("APP3.7", "E24")
async def test_a_changed_mode_forgets_what_was_allowed_for_the_session(tmp_path: Path) -> None:
    turns = [calling("1"), DONE, calling("2"), DONE, calling("3"), DONE]
    stage = Stage(tmp_path, turns, [writer()])
    async with await stage.new() as conversation:
        await stage.play(conversation, "one", "two", react=allow(AllowForSession()))
        assert asked(stage) == 1
        conversation.set_permission_mode(PermissionMode.SUPERVISED)
        await stage.play(conversation, "three", react=allow())
    assert asked(stage) == 2
    [changed] = [e for e in stage.seen if isinstance(e, facts.PermissionModeChanged)]
    assert changed.mode == "supervised"


@pytest.mark.clause("APP3.2")
async def test_plan_mode_refuses_and_says_why(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calling("1"), DONE], [writer()], mode=PermissionMode.BYPASS)
    async with await stage.new() as conversation:
        conversation.set_permission_mode(PermissionMode.PLAN)
        await stage.play(conversation, "one")
    [result] = [m for m in stage.provider.requests[-1].messages if isinstance(m, ToolResult)]
    assert not result.ok
    assert "plan mode is on" in result.content
    assert asked(stage) == 0


@pytest.mark.clause("case:E13")
async def test_a_resumed_session_never_brings_a_mode_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [DONE], [writer()])
    async with await stage.new() as conversation:
        conversation.set_permission_mode(PermissionMode.BYPASS)
        await stage.play(conversation, "one")
    again = Stage(tmp_path, [calling("1"), DONE], [writer()])
    async with await again.resume() as conversation:
        await again.play(conversation, "two", react=allow())
    assert again.policy.mode is PermissionMode.SUPERVISED
    assert asked(again) == 1


@pytest.mark.clause("APP3.19", "E22")
async def test_cancelling_withdraws_the_open_approval(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calling("1")], [writer()])

    def react(conversation: Any, event: Any) -> None:
        if isinstance(event, facts.ApprovalAsked):
            conversation.cancel()

    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "one", react=react)
        assert ended.kind is TurnEndKind.CANCELLED
        if not any(isinstance(e, facts.ApprovalWithdrawn) for e in stage.seen):
            await stage.until(conversation, facts.ApprovalWithdrawn)
        [event] = [e for e in stage.seen if isinstance(e, facts.ApprovalAsked)]
        assert not conversation.decide(event.approval_id, AllowOnce())


@pytest.mark.clause("case:E12", "E20")
async def test_two_equal_calls_need_two_answers(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calling("1", "2"), DONE], [writer()])
    async with await stage.new() as conversation:
        await stage.play(conversation, "one", react=allow())
    assert asked(stage) == 2


async def test_an_approval_comes_after_the_start_of_its_call(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calling("1", "2", "3"), DONE], [writer()])
    async with await stage.new() as conversation:
        await stage.play(conversation, "one", react=allow())
    started: set[str] = set()
    for event in stage.seen:
        if isinstance(event, run.ToolStarted):
            started.add(event.call_id)
        if isinstance(event, facts.ApprovalAsked):
            assert event.request.tool_call_id in started
            assert event.call is not None
            assert event.preview is not None


@pytest.mark.clause("B21", "B22")
async def test_model_and_reasoning_change_between_turns_only(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [DONE, ScriptedTurn.hanging()])
    other = ScriptedProvider([DONE], identity=ModelIdentity("other", "api", "big"))
    async with await stage.new() as conversation:
        await stage.play(conversation, "one")
        await conversation.send("two")
        for change in (
            lambda: conversation.set_provider(other),
            lambda: conversation.set_reasoning(ReasoningLevel.HIGH),
        ):
            with pytest.raises(SessionBusy):
                change()
        conversation.cancel()
        await stage.until(conversation, facts.TurnEnded)
        conversation.set_provider(other)
        conversation.set_reasoning(ReasoningLevel.HIGH)
        await stage.play(conversation, "three")
    assert other.requests[0].reasoning is ReasoningLevel.HIGH
    assert [e.name for e in stage.seen if isinstance(e, facts.ModelChanged)] == ["other/big"]
    stage.assert_replay_equals_live()


def asker() -> PlannedTool:
    async def execute(_invocation: Any, context: Any) -> ToolOutput:
        choices = (HostChoice("a", "A"), HostChoice("b", "B"))
        request = HostInputRequest.questionnaire(None, [HostQuestion("q", "Which?", choices)])
        response = await context.request_host_input(request)
        return ToolOutput.text(str(dict(response.answers)))

    return PlannedTool("ask", execute)


@pytest.mark.clause("C61", "G7")
async def test_a_wrong_answer_leaves_the_form_open_and_the_first_right_one_wins(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, [calling("1", tool="ask"), DONE], [asker()])

    def react(conversation: Any, event: Any) -> None:
        if not isinstance(event, facts.QuestionAsked):
            return
        id = event.request.id
        with pytest.raises(InvalidHostResponse, match="unknown choice"):
            conversation.respond(id, HostInputResponse().answer("q", ["z"]))
        with pytest.raises(InvalidHostResponse, match="not pending"):
            conversation.respond(HostInputId("other"), HostInputResponse())
        conversation.respond(id, HostInputResponse().answer("q", ["a"]))
        with pytest.raises(InvalidHostResponse, match="not pending"):
            conversation.dismiss(id)

    async with await stage.new() as conversation:
        await stage.play(conversation, "one", react=react)
    [answered] = [e for e in stage.seen if isinstance(e, facts.QuestionAnswered)]
    assert answered.replies == (facts.QuestionReply("Which?", ("A",)),)


@pytest.mark.clause("case:F3")
async def test_no_mode_answers_a_question(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calling("1", tool="ask"), DONE], [asker()], mode=PermissionMode.BYPASS)
    async with await stage.new() as conversation:
        await conversation.send("one")
        event = await stage.until(conversation, facts.QuestionAsked)
        assert conversation.is_running
        conversation.dismiss(event.request.id)
        await stage.until(conversation, facts.TurnEnded)


@pytest.mark.clause("case:F2")
async def test_dismissing_the_questionnaire_tells_the_model_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    arguments = {"questions": [{"id": "db", "question": "Which?", "choices": ["pg", "lite"]}]}
    call = ToolCall.of("1", "questionnaire", arguments)
    stage = Stage(tmp_path, [ScriptedTurn.completed(call), DONE], [QuestionnaireTool()])

    def react(conversation: Any, event: Any) -> None:
        if isinstance(event, facts.QuestionAsked):
            conversation.dismiss(event.request.id)

    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "one", react=react)
    assert ended.kind is TurnEndKind.COMPLETED
    [result] = [m for m in stage.provider.requests[-1].messages if isinstance(m, ToolResult)]
    assert not result.ok
    assert "dismissed" in result.content
    stage.assert_replay_equals_live()


async def test_a_closed_conversation_takes_no_prompt(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [DONE])
    conversation = await stage.new()
    await conversation.aclose()
    with pytest.raises(Interrupted, match="closed"):
        await conversation.send("late")
    assert [event async for event in conversation.events()] == []


@pytest.mark.clause("APP3.19")
async def test_closing_denies_an_open_approval(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calling("1")], [writer()])
    conversation = await stage.new()
    await conversation.send("one")
    await stage.until(conversation, facts.ApprovalAsked)
    await conversation.aclose()
    results = [m for m in conversation.session.history if isinstance(m, ToolResult)]
    assert [result.ok for result in results] == [False]


async def test_a_title_and_usage_survive_a_resume(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [DONE, DONE])
    async with await stage.new() as conversation:
        await stage.play(conversation, "one")
        conversation.set_title("A name")
    async with await stage.resume() as again:
        assert again.title == "A name"
        assert again.id == conversation.id
        assert again.session.history == conversation.session.history
        await stage.play(again, "two")
    titles = [e.title for e in stage.replayed() if isinstance(e, facts.TitleChanged)]
    assert titles == ["A name"]


@pytest.mark.clause("C81", "case:H11")
async def test_why_an_answer_was_asked_for_again_is_shown_and_kept(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [ScriptedTurn.completed(), DONE])
    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "go")
    assert (ended.kind, ended.text) == (TurnEndKind.COMPLETED, "done")
    [notice] = [event for event in stage.seen if isinstance(event, facts.Notice)]
    assert notice.text == "provider returned an empty assistant response; it is asked again"
    assert notice.severity is facts.Severity.WARNING
    stage.assert_replay_equals_live()
