"""Images that tools return to the model (D.10, K.12)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core import events as ev
from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind
from rho_core.history.messages import (
    ASYNC_TOOL_CALL_KIND,
    Image,
    ToolImageSupplement,
    ToolResult,
    semantic,
)
from rho_core.history.snapshot import SessionSnapshot
from rho_core.providers.contract import ProviderContext
from rho_core.runtime import Rho
from rho_core.session import SessionOptions
from rho_core.testing import PlannedTool, ScriptedProvider, ScriptedTool, ScriptedTurn
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    ToolExecutionMode,
    ToolInvocation,
)
from rho_core.tooling.values import ToolOutput, ToolSucceeded
from tests.core.run_harness import (
    assert_replay_safe,
    call,
    collect,
    of,
    open_session,
    results,
    run_all,
    until,
    within,
)

ONE, TWO = Image("QQ==", "image/png"), Image("Qg==", "image/jpeg")
PICTURE = ToolOutput.text("captured").with_images([ONE, TWO])


def kinds(history: tuple[object, ...]) -> list[str]:
    return [type(semantic(m)).__name__ for m in history]  # type: ignore[arg-type]


@pytest.mark.clause("DI4", "DI5")
async def test_images_follow_all_results_of_their_batch_and_survive_resume() -> None:
    session, provider = await open_session(
        [
            ScriptedTurn.calls(call("a", "shot"), call("b", "plain")),
            ScriptedTurn.completed("seen"),
            ScriptedTurn.completed("still seen"),
        ],
        tools=[ScriptedTool("shot", PICTURE), ScriptedTool("plain")],
    )
    events, _ = await run_all(session)
    assert kinds(session.history) == [
        "UserMessage",
        "EnrichedAssistant",
        "ToolResult",
        "ToolResult",
        "ToolImageSupplement",
        "EnrichedAssistant",
    ]
    assert semantic(session.history[4]) == ToolImageSupplement("shot", "a", (ONE, TWO))
    assert of(events, ev.ToolFinished)[0].completion == ToolSucceeded(PICTURE)
    snapshot = SessionSnapshot.from_json(session.snapshot().to_json())
    again = await Rho(provider).session(SessionOptions.from_snapshot(snapshot))
    await again.complete("more")
    assert provider.requests[2].messages[:6] == session.history


@pytest.mark.clause("DI7", "C60")
async def test_a_host_started_call_commits_its_image_before_the_first_request() -> None:
    session, provider = await open_session(
        [ScriptedTurn.completed("ok")], tools=[ScriptedTool("shot", PICTURE)]
    )
    async with session.start_with_tool_call("look", call("h", "shot")) as run:
        await within(run.outcome())
    assert kinds(provider.requests[0].messages) == [
        "UserMessage",
        "AssistantMessage",
        "ToolResult",
        "ToolImageSupplement",
    ]


@pytest.mark.clause("DI6")
async def test_a_cancelled_batch_discards_undelivered_images_but_keeps_results() -> None:
    async def body(invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        if invocation.id == "b":
            await asyncio.Event().wait()
        return PICTURE

    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "shot"), call("b", "shot"))],
        tools=[PlannedTool("shot", body)],
        max_parallel_tools=2,
    )
    async with session.start("go") as run:
        while not isinstance(event := await within(run.next_event()), ev.ToolFinished):
            assert event is not None
        assert event.completion == ToolSucceeded(PICTURE)
        run.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())
    assert [(r.id, r.ok) for r in results(session.history)] == [("a", True), ("b", False)]
    assert "ToolImageSupplement" not in kinds(session.history)
    assert_replay_safe(session.history)


def marked(*ids: str) -> ScriptedTurn:
    marks = [ProviderContext(ASYNC_TOOL_CALL_KIND, id) for id in ids]
    return ScriptedTurn.streaming(marks, *(call(id, "shot") for id in ids))


@pytest.mark.clause("DI6", "D57")
async def test_a_provider_failure_discards_buffered_images_after_settlement() -> None:
    failed = asyncio.Event()

    async def body(invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        if invocation.id == "b":
            await asyncio.Event().wait()
        return PICTURE

    class Failing(ScriptedProvider):
        async def send_turn_stream(self, request, events):  # type: ignore[no-untyped-def]
            if len(self.requests) == 1:
                await failed.wait()
            return await super().send_turn_stream(request, events)

    error = ProviderError(ProviderErrorKind.OTHER, "down")
    provider = Failing([marked("a", "b"), ScriptedTurn.failed(error)])
    tool = PlannedTool("shot", body, execution_mode=ToolExecutionMode.ASYNC)
    session = await Rho(provider, tools=[tool], max_parallel_tools=2).session()
    async with session.start("go") as run:
        events: list[ev.RunEvent] = []
        while not of(events, ev.ToolFinished):
            event = await within(run.next_event())
            assert event is not None
            events.append(event)
        failed.set()
        events += await within(collect(run))
        with pytest.raises(ProviderError):
            await run.outcome()
    assert results(session.history)[0] == ToolResult("a", True, "captured")
    assert results(session.history)[1].ok is False
    assert "ToolImageSupplement" not in kinds(session.history)
    assert of(events, ev.ToolFinished)[0].completion == ToolSucceeded(PICTURE)


@pytest.mark.clause("DI4")
async def test_a_pending_job_does_not_delay_the_images_of_a_finished_one() -> None:
    hold = asyncio.Event()

    async def body(invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        if invocation.id == "b":
            await hold.wait()
        return PICTURE

    provider = ScriptedProvider(
        [marked("a", "b"), *[ScriptedTurn.completed(str(n)) for n in range(3)]]
    )
    tool = PlannedTool("shot", body, execution_mode=ToolExecutionMode.ASYNC)
    session = await Rho(provider, tools=[tool], max_parallel_tools=2).session()
    async with session.start("go") as run:
        await until(
            lambda: any(
                "ToolImageSupplement" in kinds(request.messages) for request in provider.requests
            )
        )
        assert [r.id for r in results(provider.requests[-1].messages)] == ["a"]
        hold.set()
        await within(run.outcome())
    assert kinds(session.history).count("ToolImageSupplement") == 2
    assert_replay_safe(session.history)
