"""Steering, retraction and their acknowledgement (C.5)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core import events as ev
from rho_core.errors import Cancelled, InvalidHostResponse
from rho_core.history.messages import Text, UserMessage, text_of
from rho_core.ids import SteeringId
from rho_core.inputs import UserInput
from rho_core.providers.contract import ModelRequest, ModelResponse, OutputDelta, ProviderEvents
from rho_core.running.commands import RetractionOutcome
from rho_core.runtime import Rho
from rho_core.testing import ScriptedProvider, ScriptedTool, ScriptedTurn
from rho_core.tooling.values import ToolProgress
from tests.core.run_harness import (
    Gate,
    assert_replay_safe,
    call,
    collect,
    names,
    of,
    open_session,
    read_until,
    until,
    within,
)


class GatedProvider(ScriptedProvider):
    """Streams one delta per turn, then waits until the test lets it answer."""

    def __init__(self, *answers: str) -> None:
        super().__init__([ScriptedTurn.completed(answer) for answer in answers])
        self.doors = [asyncio.Event() for _ in answers]

    async def send_turn_stream(
        self, request: ModelRequest, events: ProviderEvents
    ) -> ModelResponse:
        response = await super().send_turn(request)
        await events.send(OutputDelta("..."))
        await self.doors[len(self.requests) - 1].wait()
        return response


def users(messages: tuple[object, ...]) -> list[str]:
    return [text_of(m.content) for m in messages if isinstance(m, UserMessage)]


@pytest.mark.clause("C47", "C55", "C56", "C33")
async def test_steering_during_a_stream_is_applied_in_order_and_takes_an_extra_step() -> None:
    provider = GatedProvider("first", "second")
    session = await Rho(provider).session()
    async with session.start("go") as run:
        await read_until(run, ev.AssistantTextDelta)
        one = await within(run.steer_retractable("one"))
        two = await within(run.steer_retractable("two"))
        three = await within(run.steer_retractable(UserInput.text("three")))
        assert await within(run.retract_steering(two)) is RetractionOutcome.RETRACTED
        assert await within(run.retract_steering(two)) is RetractionOutcome.NOT_FOUND
        for door in provider.doors:
            door.set()
        events = await within(collect(run))
        assert (await run.outcome()).text == "second"
    applied = of(events, ev.SteeringApplied)
    assert [a.ids for a in applied] == [(one, three)]
    assert users(provider.requests[1].messages) == ["go", "one", "three"]
    assert names(events).index("SteeringApplied") < names(events).index("StepStarted")


@pytest.mark.clause("C1")
async def test_the_steering_handle_works_without_the_run() -> None:
    provider = GatedProvider("first", "second")
    session = await Rho(provider).session()
    async with session.start("go") as run:
        handle = run.steering_handle()
        pump = asyncio.create_task(collect(run))
        await until(lambda: provider.requests)
        await within(handle.steer("more"))
        for door in provider.doors:
            door.set()
        await within(pump)
    assert users(session.history) == ["go", "more"]


@pytest.mark.clause("C54", "C53")
async def test_a_receipt_can_be_polled_while_backpressured_events_are_drained() -> None:
    session, provider = await open_session(
        [
            ScriptedTurn.streaming([OutputDelta("x")] * 40),
            ScriptedTurn.completed("second"),
        ],
        event_capacity=1,
    )
    async with session.start("go") as run:
        await until(lambda: run._events._channel._on_room is not None)
        receipt = run.request_steer_retractable("more")
        for _ in range(50):
            await asyncio.sleep(0)
        assert not receipt.done
        await within(collect(run))
        assert isinstance(await receipt, SteeringId)
    assert len(provider.requests) == 2


@pytest.mark.clause("C53")
async def test_a_full_command_queue_refuses_requests_at_once() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")], event_capacity=1)
    async with session.start("go") as run:
        run.request_steer_retractable("first")
        with pytest.raises(InvalidHostResponse, match="run cannot queue steering input"):
            run.request_steer_retractable("second")
        with pytest.raises(InvalidHostResponse, match="run cannot queue steering retractions"):
            run.request_steering_retraction(SteeringId())


@pytest.mark.clause("C56", "C58")
async def test_retraction_during_a_blocked_tool_is_atomic_and_reports_too_late() -> None:
    gate = Gate()
    session, provider = await open_session(
        [
            ScriptedTurn.calls(call("c1", "t")),
            ScriptedTurn.calls(call("c2", "t")),
            ScriptedTurn.completed("end"),
        ],
        tools=[gate.tool("t")],
    )
    async with session.start("go") as run:
        await until(lambda: gate.running == ["c1"])
        keep = await within(run.steer_retractable("keep"))
        drop = await within(run.steer_retractable("drop"))
        assert await within(run.retract_steering(drop)) is RetractionOutcome.RETRACTED
        gate.open("c1")
        await until(lambda: gate.running == ["c1", "c2"])
        assert await within(run.retract_steering(keep)) is RetractionOutcome.ALREADY_APPLIED
        assert await within(run.retract_steering(SteeringId())) is RetractionOutcome.NOT_FOUND
        gate.open("c2")
        events = await within(collect(run))
    assert [a.ids for a in of(events, ev.SteeringApplied)] == [(keep,)]
    assert provider.requests[1].messages[-1] == UserMessage((Text("keep"),))
    assert_replay_safe(session.history)


@pytest.mark.clause("C57", "L5")
async def test_a_cancelled_applied_event_keeps_steering_out_of_history() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")], event_capacity=1)
    async with session.start("go") as run:
        receipt = run.request_steer_retractable("never")
        await until(lambda: receipt.done and run._events._channel._on_room is not None)
        run.cancel()  # SteeringApplied waits behind the unread Started
        with pytest.raises(Cancelled):
            await within(run.outcome())
        assert "SteeringApplied" not in names(await within(collect(run)))
    assert session.history == (UserMessage.of_text("go"),)
    assert session.revision == 1


@pytest.mark.clause("C59")
async def test_commands_after_the_end_are_refused_with_words() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")])
    async with session.start("go") as run:
        await within(run.outcome())
        with pytest.raises(InvalidHostResponse, match="no longer accepts steering input"):
            await run.steer("late")
        with pytest.raises(InvalidHostResponse, match="no longer accepts steering retractions"):
            await run.retract_steering(SteeringId())


@pytest.mark.clause("C59")
async def test_a_command_that_was_queued_but_never_handled_is_told_so() -> None:
    session, _ = await open_session([ScriptedTurn.completed("x")], event_capacity=1)
    async with session.start("go") as run:
        await until(lambda: run._events._channel._on_room is not None)
        receipt = run.request_steer_retractable("never")
        run.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())
        with pytest.raises(InvalidHostResponse, match="completed before accepting steering"):
            await within(receipt)


@pytest.mark.clause("C53", "L14")
async def test_giving_up_on_an_acknowledgement_does_not_disturb_the_run() -> None:
    session, _ = await open_session(
        [ScriptedTurn.streaming([OutputDelta("x")] * 40), ScriptedTurn.completed("end")],
        event_capacity=1,
    )
    async with session.start("go") as run:
        waiting = asyncio.create_task(run.steer("more"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await within(run.outcome())


@pytest.mark.clause("C54")
async def test_commands_are_served_while_progress_is_blocked() -> None:
    progress = [ToolProgress(str(n)) for n in range(20)]
    tool = ScriptedTool("t", "ok", progress=progress)
    session, provider = await open_session(
        [ScriptedTurn.calls(call("c", "t")), ScriptedTurn.completed("end")],
        tools=[tool],
        event_capacity=1,
    )
    async with session.start("go") as run:
        await read_until(run, ev.ToolStarted)
        await until(lambda: run._events._channel._on_room is not None)
        await within(run.steer("while blocked"))  # nobody reads events meanwhile
        events = await within(collect(run))
    assert len(of(events, ev.ToolUpdated)) == 20
    assert users(provider.requests[1].messages) == ["go", "while blocked"]


@pytest.mark.clause("C56")
async def test_steering_during_a_parallel_batch_applies_after_all_results_close() -> None:
    gate = Gate()
    session, provider = await open_session(
        [ScriptedTurn.calls(call("a", "t"), call("b", "t")), ScriptedTurn.completed("end")],
        tools=[gate.tool("t")],
        max_parallel_tools=2,
    )
    async with session.start("go") as run:
        await until(lambda: len(gate.running) == 2)
        gate.open("a")
        await read_until(run, ev.ToolFinished)
        await within(run.steer("now"))
        gate.open("b")
        await within(run.outcome())
    kinds = [type(m).__name__ for m in provider.requests[1].messages]
    assert kinds == ["UserMessage", "EnrichedAssistant", "ToolResult", "ToolResult", "UserMessage"]
