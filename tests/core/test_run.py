"""The run handle (C.1, C.2)."""

from __future__ import annotations

import asyncio
import gc

import pytest

from rho_core import events as ev
from rho_core.errors import Cancelled, Interrupted, InvalidHostResponse
from rho_core.history.messages import Text
from rho_core.providers.contract import OutputDelta
from rho_core.runtime import Rho
from rho_core.session import SessionState
from rho_core.testing import ScriptedProvider, ScriptedTool, ScriptedTurn
from tests.core.run_harness import (
    Gate,
    call,
    collect,
    leaked_tasks,
    names,
    open_session,
    read_until,
    until,
    within,
)


def chatty(count: int) -> ScriptedTurn:
    return ScriptedTurn.streaming([OutputDelta("x") for _ in range(count)])


@pytest.mark.clause("C3", "C4")
async def test_the_outcome_can_be_awaited_without_reading_events() -> None:
    session, _ = await open_session([chatty(500)], event_capacity=1)
    async with session.start("a") as run:
        outcome = await within(run.outcome())
        assert outcome.content == (Text("x" * 500),)


@pytest.mark.clause("C3")
async def test_the_outcome_is_given_once() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")])
    async with session.start("a") as run:
        await run.outcome()
        with pytest.raises(InvalidHostResponse, match="already consumed"):
            await run.outcome()


@pytest.mark.clause("C4")
async def test_events_can_be_read_after_the_outcome() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")])
    async with session.start("a") as run:
        await run.outcome()
        events = await within(collect(run))
    assert names(events)[0] == "Started"
    assert names(events)[-1] == "Completed"


@pytest.mark.clause("C4")
async def test_an_iteration_elsewhere_loses_nothing_to_the_outcome() -> None:
    session, _ = await open_session([chatty(300)], event_capacity=2)
    async with session.start("a") as run:
        seen: list[ev.RunEvent] = []

        async def slow_reader() -> None:
            async for event in run:
                seen.append(event)
                await asyncio.sleep(0)

        reader = asyncio.create_task(slow_reader())
        await asyncio.sleep(0)
        await within(run.outcome())
        await within(reader)
    assert names(seen).count("AssistantTextDelta") == 300
    assert names(seen)[-1] == "Completed"


@pytest.mark.clause("C3", "C4")
async def test_breaking_out_of_the_iteration_and_awaiting_the_outcome_does_not_hang() -> None:
    session, _ = await open_session([chatty(300)], event_capacity=1)
    async with session.start("a") as run:
        async for _event in run:
            break
        assert (await within(run.outcome())).text == "x" * 300


@pytest.mark.clause("C7", "D38")
async def test_the_channel_applies_backpressure_and_drops_nothing() -> None:
    sent = 0

    class Counting(ScriptedProvider):
        async def send_turn_stream(self, request, events):  # type: ignore[no-untyped-def]
            nonlocal sent
            for _ in range(1000):
                await events.send(OutputDelta("x"))
                sent += 1
            return await super().send_turn(request)

    session = await Rho(Counting([ScriptedTurn.completed("end")]), event_capacity=1).session()
    async with session.start("a") as run:
        for _ in range(200):
            await asyncio.sleep(0)
        assert sent < 32
        events = await within(collect(run))
        assert names(events).count("AssistantTextDelta") == 1000


@pytest.mark.clause("C6")
async def test_cancelling_after_the_end_changes_nothing() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")])
    async with session.start("a") as run:
        events = await within(collect(run))
        run.cancel()
        assert (await run.outcome()).text == "x"
    assert names(events)[-1] == "Completed"
    assert session.state is SessionState.COMPLETED


@pytest.mark.clause("C11")
async def test_cancelling_while_the_terminal_event_is_blocked_changes_nothing() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")], event_capacity=1)
    async with session.start("a") as run:
        while session.state is not SessionState.COMPLETED:
            await within(run.next_event())
            for _ in range(20):
                await asyncio.sleep(0)
        run.cancel()
        events = await within(collect(run))
        assert names(events)[-1] == "Completed"
        assert (await run.outcome()).text == "x"


@pytest.mark.clause("C5")
async def test_dropping_a_run_cancels_its_work_and_releases_the_session() -> None:
    gate = Gate()
    session, _ = await open_session([ScriptedTurn.calls(call("c", "t"))], tools=[gate.tool("t")])
    async with session.start("a") as run:
        await until(lambda: gate.running)
    assert gate.dropped == ["c"]
    assert not session.is_running
    assert session.revision == 0
    assert run.is_finished
    assert not leaked_tasks()
    with pytest.raises(Interrupted):
        await run.outcome()


@pytest.mark.clause("C5")
async def test_a_run_dropped_before_its_worker_ran_releases_the_session() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")])
    run = session.start("a")
    queued = run.request_steer_retractable("never handled")
    await run.aclose()
    await until(lambda: not session.is_running)
    with pytest.raises(InvalidHostResponse, match="completed before"):
        await within(queued)
    assert await within(run.next_event()) is None
    with pytest.raises(InvalidHostResponse):
        await within(run.steer("too late"))


@pytest.mark.clause("C5", "L3")
async def test_a_run_that_is_let_go_of_is_dropped() -> None:
    session, provider = await open_session([ScriptedTurn.hanging()])
    run = session.start("a")
    await until(lambda: provider.requests)
    del run
    gc.collect()
    await until(lambda: not session.is_running)
    assert not leaked_tasks()


@pytest.mark.clause("C5", "L1")
async def test_the_hosts_own_task_cancellation_drops_the_run() -> None:
    session, provider = await open_session([ScriptedTurn.hanging()])

    async def host() -> None:
        async with session.start("a") as run:
            await run.outcome()

    task = asyncio.create_task(host())
    await until(lambda: provider.requests)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not session.is_running
    assert not leaked_tasks()


@pytest.mark.clause("C3")
async def test_a_crashing_worker_is_interrupted_without_a_terminal_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def crash(*_args: object) -> None:
        raise LookupError("defect")

    monkeypatch.setattr("rho_core.loop.open_step", crash)
    session, _ = await open_session([ScriptedTurn.completed("x")])
    async with session.start("a") as run:
        events = await within(collect(run))
        with pytest.raises(Interrupted, match="run task failed: defect"):
            await run.outcome()
    assert names(events) == ["Started"]
    assert not session.is_running
    assert session.revision == 0


@pytest.mark.clause("C9", "B10", "C41")
async def test_a_dropped_consumer_commits_nothing() -> None:
    tool = ScriptedTool("t")
    session, _ = await open_session(
        [ScriptedTurn.calls(call("c", "t"))], tools=[tool], event_capacity=1
    )
    async with session.start("a") as run:
        await read_until(run, ev.ToolStarted)
        run._events.drop()
        with pytest.raises(Interrupted, match="run event consumer was dropped"):
            await within(run.outcome())
    assert (session.history, session.revision) == ((), 0)
    assert session.state is SessionState.IDLE


@pytest.mark.clause("C9", "X6")
async def test_losing_the_consumer_while_the_model_streams_never_commits() -> None:
    session, _ = await open_session([chatty(500)], event_capacity=1)
    async with session.start("a") as run:
        await read_until(run, ev.AssistantTextDelta)
        run._events.drop()
        with pytest.raises(Interrupted):
            await within(run.outcome())
    assert (session.history, session.revision, session.state) == ((), 0, SessionState.IDLE)


@pytest.mark.clause("X6", "C63")
async def test_cancelling_after_the_consumer_was_lost_commits_nothing_either() -> None:
    session, provider = await open_session([ScriptedTurn.hanging()])
    async with session.start("a") as run:
        await until(lambda: provider.requests)
        run._events.drop()
        run.cancel()
        with pytest.raises(Interrupted):
            await within(run.outcome())
    assert (session.history, session.revision, session.state) == ((), 0, SessionState.IDLE)


@pytest.mark.clause("C2")
async def test_the_cancellation_handle_is_the_runs_token() -> None:
    session, provider = await open_session([ScriptedTurn.hanging()])
    async with session.start("a") as run:
        await until(lambda: provider.requests)
        run.cancellation_handle.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())


@pytest.mark.clause("C2")
async def test_a_run_can_be_cancelled_from_another_thread() -> None:
    session, provider = await open_session([ScriptedTurn.hanging()])
    async with session.start("a") as run:
        await until(lambda: provider.requests)
        await asyncio.to_thread(run.cancel)
        with pytest.raises(Cancelled):
            await within(run.outcome())
