"""Questions of tools to the host during a run (D.11, C61, G.3, K.6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rho_core import events as ev
from rho_core.errors import Cancelled, InvalidHostResponse, RhoError
from rho_core.history.messages import ToolResult
from rho_core.ids import HostInputId
from rho_core.questions import HostChoice, HostInputRequest, HostInputResponse, HostQuestion
from rho_core.session import SessionState
from rho_core.testing import PlannedTool, ScriptedTurn
from rho_core.tooling.contract import AuthorizedToolContext, ToolInvocation
from rho_core.tooling.values import ToolOutput, ToolProgress
from tests.core.run_harness import (
    assert_replay_safe,
    call,
    collect,
    leaked_tasks,
    names,
    of,
    open_session,
    read_until,
    results,
    until,
    within,
)

ANSWER = HostInputResponse().answer("q", ["yes"])
WRONG = HostInputResponse().answer("q", ["maybe"])


def question() -> HostInputRequest:
    choices = (HostChoice("yes", "Yes"), HostChoice("no", "No"))
    return HostInputRequest.questionnaire("Sure?", [HostQuestion("q", "Sure?", choices)])


class Asking:
    """A tool body that asks once per call and records what became of it."""

    def __init__(self, request: HostInputRequest | None = None) -> None:
        self.request = request
        self.errors: list[BaseException] = []

    async def body(self, _invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        try:
            answer = await context.request_host_input(self.request or question())
        except BaseException as error:
            self.errors.append(error)
            raise
        return ToolOutput.text(",".join(answer.answers["q"]))


def turns(*ids: str) -> list[ScriptedTurn]:
    return [ScriptedTurn.calls(*(call(id, "ask") for id in ids)), ScriptedTurn.completed("end")]


async def asking_session(*ids: str, asking: Asking | None = None, **options: Any) -> Any:
    body = (asking or Asking()).body
    session, _ = await open_session(turns(*ids), tools=[PlannedTool("ask", body)], **options)
    return session


@pytest.mark.clause("C61", "B5", "G7", "D59", "D61", "X8")
async def test_a_question_waits_for_one_valid_typed_answer() -> None:
    session = await asking_session("a")
    async with session.start("go") as run:
        asked = await read_until(run, ev.ToolHostInputRequested)
        assert asked.call_id == "a"
        assert session.state is SessionState.WAITING_FOR_HOST_INPUT
        with pytest.raises(InvalidHostResponse) as refused:
            await within(run.respond(asked.request.id, WRONG))
        assert str(refused.value).count("invalid host response") == 1
        assert session.state is SessionState.WAITING_FOR_HOST_INPUT
        await within(run.respond(asked.request.id, ANSWER))
        with pytest.raises(InvalidHostResponse, match=r"not pending|awaiting|no longer accepts"):
            await within(run.respond(asked.request.id, ANSWER))
        await within(run.outcome())
    assert results(session.history) == [ToolResult("a", True, "yes")]
    assert session.state is SessionState.COMPLETED


@pytest.mark.clause("D59", "G7")
async def test_several_questions_are_correlated_and_answered_once_each() -> None:
    session = await asking_session("a", "b", max_parallel_tools=2)
    async with session.start("go") as run:
        first = await read_until(run, ev.ToolHostInputRequested)
        second = await read_until(run, ev.ToolHostInputRequested)
        assert {first.call_id, second.call_id} == {"a", "b"}
        no = HostInputResponse().answer("q", ["no"])
        await within(run.respond(second.request.id, no))
        assert session.state is SessionState.WAITING_FOR_HOST_INPUT
        await within(run.respond(first.request.id, ANSWER))
        await within(run.outcome())
    by_id = {r.id: r.content for r in results(session.history)}
    assert by_id == {str(first.call_id): "yes", str(second.call_id): "no"}


@pytest.mark.clause("D62", "C69", "D31")
async def test_a_duplicate_id_fails_the_run_without_losing_the_first_question() -> None:
    asking = Asking(question())
    session = await asking_session("a", "b", asking=asking, max_parallel_tools=2)
    async with session.start("go") as run:
        events = await within(collect(run))
        with pytest.raises(InvalidHostResponse) as failure:
            await run.outcome()
    assert len(of(events, ev.ToolHostInputRequested)) == 1
    assert "'a'" in str(failure.value)
    assert "'b'" in str(failure.value)
    assert names(events)[-1] == "Failed"
    assert [r.ok for r in results(session.history)] == [False, False]
    assert_replay_safe(session.history)
    assert not leaked_tasks()


@pytest.mark.clause("D62")
async def test_an_id_reused_after_its_answer_still_fails_the_run() -> None:
    request = question()

    async def twice(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        await context.request_host_input(request)
        await context.request_host_input(request)
        return ToolOutput.text("unreachable")

    session, _ = await open_session(turns("a"), tools=[PlannedTool("ask", twice)])
    async with session.start("go") as run:
        asked = await read_until(run, ev.ToolHostInputRequested)
        await within(run.respond(asked.request.id, ANSWER))
        with pytest.raises(InvalidHostResponse, match="already used"):
            await within(run.outcome())
    assert session.state is SessionState.FAILED


@pytest.mark.clause("C61")
async def test_an_answer_outside_a_batch_or_for_an_unknown_question_is_refused() -> None:
    session, provider = await open_session([ScriptedTurn.hanging()])
    async with session.start("go") as run:
        await until(lambda: provider.requests)
        with pytest.raises(InvalidHostResponse, match="no host input request is awaiting"):
            await within(run.respond(HostInputId(), ANSWER))
    session = await asking_session("a")
    async with session.start("go") as run:
        await read_until(run, ev.ToolHostInputRequested)
        with pytest.raises(InvalidHostResponse, match="not pending"):
            await within(run.respond(HostInputId(), ANSWER))


@pytest.mark.clause("C62", "D63")
async def test_cancelling_while_a_question_waits_interrupts_the_call() -> None:
    asking = Asking()
    session = await asking_session("a", asking=asking)
    async with session.start("go") as run:
        asked = await read_until(run, ev.ToolHostInputRequested)
        run.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())
        with pytest.raises(InvalidHostResponse):
            await within(run.respond(asked.request.id, ANSWER))
    assert results(session.history) == [
        ToolResult("a", False, "tool call interrupted before completion")
    ]
    assert len(asking.errors) == 1
    assert isinstance(asking.errors[0], asyncio.CancelledError | RhoError)
    assert not leaked_tasks()


@pytest.mark.clause("D59", "C62")
async def test_cancelling_cleans_up_all_parallel_waiters() -> None:
    asking = Asking()
    session = await asking_session("a", "b", "c", asking=asking, max_parallel_tools=3)
    async with session.start("go") as run:
        for _ in range(3):
            await read_until(run, ev.ToolHostInputRequested)
        run.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())
    assert len(asking.errors) == 3
    assert not leaked_tasks()


@pytest.mark.clause("D60")
async def test_a_call_that_finishes_first_leaves_its_question_not_pending() -> None:
    errors: list[BaseException] = []

    async def impatient(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        asked = asyncio.ensure_future(context.request_host_input(question()))
        await context_asked.wait()
        waiting.append(asked)
        return ToolOutput.text("gave up")

    waiting: list[asyncio.Future[HostInputResponse]] = []
    context_asked = asyncio.Event()
    session, _ = await open_session(
        [
            ScriptedTurn.calls(call("a", "ask"), call("b", "hold")),
            ScriptedTurn.completed("end"),
        ],
        tools=[PlannedTool("ask", impatient), PlannedTool("hold", Asking().body)],
        max_parallel_tools=2,
    )
    async with session.start("go") as run:
        asked = await read_until(run, ev.ToolHostInputRequested)
        other = await read_until(run, ev.ToolHostInputRequested)
        mine, kept = (asked, other) if asked.call_id == "a" else (other, asked)
        context_asked.set()
        await read_until(run, ev.ToolFinished)
        with pytest.raises(InvalidHostResponse, match="not pending"):
            await within(run.respond(mine.request.id, ANSWER))
        await within(run.respond(kept.request.id, ANSWER))
        await within(run.outcome())
    with pytest.raises(InvalidHostResponse, match="completed before answering"):
        await waiting[0]
    assert not errors


@pytest.mark.clause("C54", "C53")
async def test_an_answer_is_acknowledged_while_progress_is_blocked() -> None:
    async def body(invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        if invocation.id == "ask":
            answer = await context.request_host_input(question())
            return ToolOutput.text(answer.answers["q"][0])
        for n in range(20):
            await context.progress.send(ToolProgress(str(n)))
        return ToolOutput.text("ok")

    session, _ = await open_session(
        [
            ScriptedTurn.calls(call("ask", "t"), call("chat", "t")),
            ScriptedTurn.completed("end"),
        ],
        tools=[PlannedTool("t", body)],
        max_parallel_tools=2,
        event_capacity=1,
    )
    async with session.start("go") as run:
        asked = await read_until(run, ev.ToolHostInputRequested)
        await until(lambda: run._events._channel._on_room is not None)
        await within(run.request_respond(asked.request.id, ANSWER))
        events = await within(collect(run))
    assert {r.id: r.content for r in results(session.history)} == {"ask": "yes", "chat": "ok"}
    assert names(events)[-1] == "Completed"
