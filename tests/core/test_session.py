"""Sessions: state, revision, mutators, snapshots (section B, K.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rho_core import events as ev
from rho_core.errors import (
    InvalidConfiguration,
    InvalidHostResponse,
    PersistenceError,
    ProviderError,
    ProviderErrorKind,
    SessionBusy,
)
from rho_core.history.messages import (
    AssistantMessage,
    EnrichedAssistant,
    ModelIdentity,
    ProviderContextBlock,
    SystemMessage,
    Text,
    ToolResult,
    UserMessage,
)
from rho_core.ids import Revision, RunId, SessionId
from rho_core.providers.contract import ServiceTier
from rho_core.questions import HostChoice, HostInputRequest, HostQuestion
from rho_core.reasoning import ReasoningLevel
from rho_core.runtime import Rho
from rho_core.session import SessionOptions, SessionState
from rho_core.testing import (
    SCRIPTED_IDENTITY,
    PlannedTool,
    ScriptedCompactor,
    ScriptedProvider,
    ScriptedTool,
    ScriptedTurn,
)
from rho_core.tooling.contract import AuthorizedToolContext, ToolInvocation
from rho_core.tooling.values import ToolOutput
from tests.core.run_harness import (
    assert_replay_safe,
    call,
    collect,
    names,
    open_session,
    read_until,
    run_failing,
    until,
    within,
)

SUMMARY = (UserMessage.of_text("summary"),)


@pytest.mark.clause("B3", "B4", "B11")
async def test_state_and_revision_follow_a_run() -> None:
    session, provider = await open_session([ScriptedTurn.hanging(), ScriptedTurn.completed("b")])
    assert (session.state, session.is_running) == (SessionState.IDLE, False)
    async with session.start("a") as run:
        assert (session.state, session.is_running) == (SessionState.RUNNING, True)
        await until(lambda: provider.requests)
        run.cancel()
        with pytest.raises(Exception, match="cancelled"):
            await within(run.outcome())
    assert (session.state, session.is_running) == (SessionState.IDLE, False)
    await session.complete("b")
    assert session.state is SessionState.COMPLETED
    assert session.revision == 2


@pytest.mark.clause("B4", "B12", "C52")
async def test_everything_that_changes_a_running_session_is_refused() -> None:
    session, provider = await open_session(
        [ScriptedTurn.hanging()], compactor=ScriptedCompactor([SUMMARY])
    )
    async with session.start("a"):
        await until(lambda: provider.requests)
        for change in (
            lambda: session.start("b"),
            lambda: session.start_with_tool_call("b", call("c", "t")),
            lambda: session.append_message(UserMessage.of_text("x")),
            lambda: session.replace_history(()),
            session.reset,
            lambda: session.set_reasoning_level(ReasoningLevel.HIGH),
            lambda: session.set_service_tier(None),
            lambda: session.set_compaction(None, None),
            lambda: session.replace_provider(ScriptedProvider()),
        ):
            with pytest.raises(SessionBusy):
                change()
        with pytest.raises(SessionBusy):
            await session.compact()
        assert session.revision == 0
    assert not session.is_running


@pytest.mark.clause("B7", "C10")
@pytest.mark.parametrize("fails", [False, True])
async def test_terminal_backpressure_keeps_the_run_owner_active(fails: bool) -> None:
    error = ProviderError(ProviderErrorKind.OTHER, "no")
    turn = ScriptedTurn.failed(error) if fails else ScriptedTurn.completed("done")
    session, _ = await open_session([turn], event_capacity=1)
    final = SessionState.FAILED if fails else SessionState.COMPLETED
    async with session.start("a") as run:
        seen = []
        while session.state is not final:
            event = await within(run.next_event())
            seen.append(event)
            for _ in range(20):
                await asyncio.sleep(0)
        assert session.revision == 1
        assert session.is_running
        with pytest.raises(SessionBusy):
            session.start("b")
        seen += await within(collect(run))
        await until(lambda: not session.is_running)
    tail = ["Failed"] if fails else ["AssistantTextDelta", "ModelCallCompleted", "Completed"]
    assert names(seen) == ["Started", "StepStarted", *tail]
    assert session.state is final


@pytest.mark.clause("B8")
async def test_a_stale_finalisation_cannot_clear_a_newer_owner() -> None:
    session, _ = await open_session([ScriptedTurn.hanging()])
    async with session.start("a"):
        session._core.release(RunId("stale"))
        assert session.is_running


@pytest.mark.clause("B14", "C41")
async def test_an_exhausted_revision_refuses_the_commit_and_has_no_terminal_event() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")])
    session._core.revision = Revision(2**64 - 1)
    events, error = await run_failing(session)
    assert isinstance(error, PersistenceError)
    assert "revision is exhausted" in str(error)
    assert names(events)[-1] == "ModelCallCompleted"
    assert session.history == ()
    with pytest.raises(PersistenceError):
        session.append_message(UserMessage.of_text("x"))


@pytest.mark.clause("B16", "B17", "B30")
async def test_a_snapshot_restores_identity_history_and_revision() -> None:
    session, provider = await open_session(
        [ScriptedTurn.completed("one"), ScriptedTurn.completed("two")], system_prompt="sys"
    )
    await session.complete("a")
    snapshot = session.snapshot()
    again = await Rho(provider, system_prompt="other").session(
        SessionOptions.from_snapshot(snapshot)
    )
    assert (again.id, again.revision) == (session.id, 1)
    await again.complete("b")
    assert again.revision == 2
    assert len(again.history) == 5
    assert again.history[0] == SystemMessage("sys")


@pytest.mark.clause("B17")
async def test_the_cache_key_is_passed_verbatim() -> None:
    provider = ScriptedProvider([ScriptedTurn.completed("x")])
    session = await Rho(provider).session(SessionOptions(prompt_cache_key=" k "))
    await session.complete("a")
    assert provider.requests[0].prompt_cache_key == " k "


@pytest.mark.clause("B20", "B22", "B41")
async def test_reset_keeps_prompt_and_id_and_a_provider_swap_reports_the_handoff() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")], system_prompt="sys")
    block = ProviderContextBlock("sig", SCRIPTED_IDENTITY, "data")
    session.append_message(EnrichedAssistant((Text("a"),), SCRIPTED_IDENTITY, None, (block,)))
    other = ScriptedProvider(identity=ModelIdentity("other", "api", "m"))
    report = session.replace_provider(other)
    assert (report.omitted_count, report.omitted_kinds) == (1, ("sig",))
    assert session.snapshot().provider == other.identity
    id = session.id
    assert session.reset() == 2
    assert session.history == (SystemMessage("sys"),)
    assert session.id == id
    assert session.state is SessionState.IDLE


@pytest.mark.clause("B20", "B22")
async def test_metadata_survives_every_mutation() -> None:
    provider = ScriptedProvider([ScriptedTurn.completed("x")])
    rho = Rho(provider, compactor=ScriptedCompactor([SUMMARY]))
    session = await rho.session(SessionOptions(metadata={"k": "v"}))
    await session.complete("a")
    session.append_message(UserMessage.of_text("b"))
    await session.compact()
    session.replace_provider(ScriptedProvider())
    session.reset()
    again = await rho.session(SessionOptions.from_snapshot(session.snapshot()))
    assert dict(again.snapshot().metadata) == {"k": "v"}


@pytest.mark.clause("B11", "B19")
async def test_replace_history_restores_an_older_model_visible_state() -> None:
    session, _ = await open_session([])
    before = session.history
    assert session.append_message(UserMessage.of_text("x")) == 1
    assert session.replace_history(before) == 2
    assert session.history == before


@pytest.mark.clause("B21", "A39")
async def test_settings_affect_later_runs_and_diagnostics() -> None:
    session, provider = await open_session(
        [ScriptedTurn.completed("x"), ScriptedTurn.completed("y")]
    )
    await session.complete("a")
    session.set_reasoning_level(ReasoningLevel.HIGH)
    session.set_service_tier(ServiceTier.PRIORITY)
    await session.complete("b")
    first, second = provider.requests
    assert (first.reasoning, first.service_tier) == (ReasoningLevel.MEDIUM, None)
    assert (second.reasoning, second.service_tier) == (ReasoningLevel.HIGH, ServiceTier.PRIORITY)
    diagnostics = session.diagnostics()
    assert diagnostics.reasoning_level is session.reasoning_level is ReasoningLevel.HIGH
    assert diagnostics.service_tier is session.service_tier is ServiceTier.PRIORITY


QUESTION = HostInputRequest.questionnaire(
    None, [HostQuestion("q", "Which?", (HostChoice("a", "A"),))]
)


def asking(
    request: HostInputRequest = QUESTION,
) -> Callable[[ToolInvocation, AuthorizedToolContext], Awaitable[ToolOutput]]:
    async def run(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        answer = await context.request_host_input(request)
        return ToolOutput.text(repr(dict(answer.answers)))

    return run


@pytest.mark.clause("B23")
async def test_complete_refuses_host_input_and_stays_replay_safe() -> None:
    session, _ = await open_session(
        [ScriptedTurn.calls(call("c", "ask")), ScriptedTurn.completed("after")],
        tools=[PlannedTool("ask", asking())],
    )
    with pytest.raises(InvalidHostResponse, match=str(QUESTION.id)):
        await within(session.complete("go"))
    assert_replay_safe(session.history)
    assert session.history[-1] == ToolResult("c", False, "tool call interrupted before completion")
    assert (await session.complete("again")).text == "after"


@pytest.mark.clause("C60", "B24", "DI7")
async def test_a_host_requested_call_runs_before_the_first_model_request() -> None:
    tool = ScriptedTool("t", "from host")
    session, provider = await open_session([ScriptedTurn.completed("ok")], tools=[tool])
    async with session.start_with_tool_call("look", call("h", "t", a=1)) as run:
        events = await within(collect(run))
        await run.outcome()
    assert provider.requests[0].messages == (
        UserMessage.of_text("look"),
        AssistantMessage((call("h", "t", a=1),)),
        ToolResult("h", True, "from host"),
    )
    assert names(events)[:5] == [
        "Started",
        "ToolProposed",
        "ToolStarted",
        "ToolFinished",
        "StepStarted",
    ]


@pytest.mark.clause("B24")
@pytest.mark.parametrize("wrong", [call("", "t"), call("c", "")])
async def test_a_host_requested_call_needs_valid_fields(wrong: object) -> None:
    session, _ = await open_session([])
    with pytest.raises(InvalidConfiguration):
        session.start_with_tool_call("x", wrong)  # type: ignore[arg-type]
    assert session.history == ()
    assert not session.is_running


@pytest.mark.clause("B15")
async def test_an_empty_text_is_a_valid_input() -> None:
    session, provider = await open_session([ScriptedTurn.completed("x")])
    await session.complete("")
    assert provider.requests[0].messages == (UserMessage((Text(""),)),)


@pytest.mark.clause("B18", "L12")
async def test_history_is_an_immutable_view_and_repr_shows_no_content() -> None:
    session, _ = await open_session([ScriptedTurn.completed("secret answer")])
    await session.complete("secret question")
    assert isinstance(session.history, tuple)
    assert "secret" not in repr(session)


@pytest.mark.clause("B16")
async def test_a_session_takes_the_id_it_is_given() -> None:
    session = await Rho(ScriptedProvider()).session(SessionOptions(id=SessionId("mine")))
    assert session.id == "mine"


@pytest.mark.clause("B5")
async def test_a_pending_question_shows_in_the_state() -> None:
    session, _ = await open_session(
        [ScriptedTurn.calls(call("c", "ask"))], tools=[PlannedTool("ask", asking())]
    )
    async with session.start("go") as run:
        await read_until(run, ev.ToolHostInputRequested)
        assert session.state is SessionState.WAITING_FOR_HOST_INPUT
