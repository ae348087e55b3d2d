"""What the core gives a host that records every turn while it happens."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rho_core import events
from rho_core.authority.approvals import ApprovalSession
from rho_core.authority.capabilities import BuiltInTool, CapabilityRequest, LoadSkill
from rho_core.channels import Channel
from rho_core.errors import Cancelled, InvalidHostResponse
from rho_core.questions import (
    HostChoice,
    HostInputRequest,
    HostInputResponse,
    HostInputSource,
    HostQuestion,
)
from rho_core.run import Run
from rho_core.runtime import Rho
from rho_core.testing import PlannedTool, ScriptedProvider, ScriptedTurn
from rho_core.tooling.values import ToolOutput


async def test_a_channel_is_idle_once_its_receiver_came_back_for_more() -> None:
    channel: Channel[int] = Channel(4)
    assert not channel.is_idle
    channel.try_send(1)
    assert channel.try_receive() == 1
    assert not channel.is_idle  # taken, but maybe not handled yet
    assert channel.try_receive() is None
    assert channel.is_idle
    channel.try_send(2)
    assert not channel.is_idle
    assert await channel.receive() == 2
    waiting = asyncio.create_task(channel.receive())
    await asyncio.sleep(0)
    assert channel.is_idle
    channel.try_send(3)
    assert await waiting == 3
    assert not channel.is_idle


def looker(acted: list[str]) -> PlannedTool:
    async def execute(invocation: Any, _context: Any) -> ToolOutput:
        acted.append(invocation.id)
        return ToolOutput.text("seen")

    return PlannedTool("look", execute)


async def read_until(run: Run, wanted: type[Any]) -> None:
    while not isinstance(await run.next_event(), wanted):
        pass


async def test_tools_act_only_after_the_reader_has_handled_their_proposals() -> None:
    acted: list[str] = []
    turns = [ScriptedTurn.calls(("1", "look", {}), ("2", "look", {}))]
    provider = ScriptedProvider([*turns, ScriptedTurn.completed("done")])
    session = await Rho(provider, tools=[looker(acted)]).session()
    session.record_turns()
    async with session.start("go") as run:
        for _ in range(2):
            await read_until(run, events.ToolProposed)
            for _ in range(50):
                await asyncio.sleep(0)
            assert acted == []
            assert len(session.live_history) == 2  # the answer can be read, and stored
        await read_until(run, events.Completed)
        assert acted == ["1", "2"]


async def test_an_unread_run_that_waits_for_its_reader_can_be_cancelled_and_drained() -> None:
    acted: list[str] = []
    turns = [ScriptedTurn.calls(("1", "look", {})), ScriptedTurn.completed("done")] * 2
    session = await Rho(ScriptedProvider(turns), tools=[looker(acted)]).session()
    session.record_turns()
    async with asyncio.timeout(10), session.start("go") as run:
        assert (await run.outcome()).text == "done"
    async with asyncio.timeout(10), session.start("go") as run:
        for _ in range(50):
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(Cancelled):
            await run.outcome()
    assert acted == ["1"]


async def test_events_can_be_taken_without_waiting() -> None:
    session = await Rho(ScriptedProvider([ScriptedTurn.completed("done")])).session()
    async with session.start("go") as run:
        stirred = asyncio.Event()
        run.on_event(stirred.set)
        seen: list[events.RunEvent] = []
        async with asyncio.timeout(10):
            while not run.events_ended:
                event = run.take_event()
                if event is not None:
                    seen.append(event)
                    continue
                await stirred.wait()
                stirred.clear()
    assert isinstance(seen[0], events.Started)
    assert isinstance(seen[-1], events.Completed)


def test_a_dismissed_form_is_no_answer_and_always_valid() -> None:
    question = HostQuestion("q", "Which?", (HostChoice("a", "A"),))
    request = HostInputRequest.questionnaire(None, [question])
    dismissed = HostInputResponse.dismissed()
    assert dismissed.source is HostInputSource.DISMISSED
    request.validate(dismissed)
    with pytest.raises(InvalidHostResponse, match="no answers"):
        request.validate(dismissed.answer("q", ["a"]))
    with pytest.raises(InvalidHostResponse, match="missing answer"):
        request.validate(HostInputResponse())


def test_approvals_can_be_forgotten() -> None:
    approvals = ApprovalSession()
    request = CapabilityRequest(LoadSkill("x", None), BuiltInTool("skill"))
    approvals.remember(request)
    approvals.forget()
    assert not approvals.is_remembered(request)
