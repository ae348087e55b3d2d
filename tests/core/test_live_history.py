"""History of the turn in flight (A26, B25, E31)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core import events as ev
from rho_core.authority.approvals import AllowOnce
from rho_core.authority.capabilities import (
    CapabilityRequest,
    HostProvidedTool,
    PrimaryWorkspace,
    ReadPath,
)
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.history.messages import History, ToolResult, UserMessage
from rho_core.session import Session
from rho_core.testing import PlannedTool, ScriptedTurn
from rho_core.tooling.contract import AuthorizedToolContext, ToolInvocation
from rho_core.tooling.values import ToolOutput
from tests.core.authorization import ScriptedHandler
from tests.core.run_harness import call, of, open_session, run_all, within


class Watching:
    """A tool body that records the live history of its session."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.views: list[History] = []

    async def body(self, invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        assert self.session is not None
        self.views.append(self.session.live_history)
        return ToolOutput.text(f"saw {invocation.id}")


def turns() -> list[ScriptedTurn]:
    return [
        ScriptedTurn.calls(call("a", "t"), call("b", "t")),
        ScriptedTurn.calls(call("c", "t")),
        ScriptedTurn.completed("end"),
    ]


@pytest.mark.clause("A26", "B25", "D19")
async def test_live_history_shows_the_turn_in_flight_to_a_tool_that_declares_the_need() -> None:
    watching = Watching()
    tool = PlannedTool("t", watching.body, reads_live_history=True)
    session, _ = await open_session(turns(), tools=[tool])
    watching.session = session
    session.append_message(UserMessage.of_text("before"))
    await run_all(session)
    full = session.history
    assert watching.views == [full[:3], full[:3], full[:6]]
    assert full[4] == ToolResult("b", True, "saw b")
    assert session.live_history == session.history


@pytest.mark.clause("A26")
async def test_live_history_stays_committed_unless_somebody_declares_the_need() -> None:
    watching = Watching()
    session, _ = await open_session(turns(), tools=[PlannedTool("t", watching.body)])
    watching.session = session
    await run_all(session)
    assert watching.views == [(), (), ()]


@pytest.mark.clause("A26", "A23", "B25")
async def test_forcing_it_shows_the_turn_in_flight_when_a_call_is_proposed() -> None:
    watching = Watching()
    session, _ = await open_session(
        turns(),
        tools=[PlannedTool("t", watching.body)],
        force_publish_live_history=True,
        event_capacity=1,
    )
    watching.session = session
    seen: list[History] = []
    async with session.start("go") as run:
        while (event := await within(run.next_event())) is not None:
            if isinstance(event, ev.ToolProposed):
                seen.append(session.live_history)
        await run.outcome()
    assert seen == [session.history[:2], session.history[:2], session.history[:5]]


@pytest.mark.clause("A26", "E31")
async def test_an_approval_handler_that_asks_for_it_gets_the_live_history() -> None:
    class Reading(ScriptedHandler):
        reads_live_history = True

    request = CapabilityRequest(ReadPath(Path("/w/x"), PrimaryWorkspace()), HostProvidedTool("t"))
    handler = Reading(*[AllowOnce()] * 3)
    watching = Watching()
    session, _ = await open_session(
        turns(),
        tools=[PlannedTool("t", watching.body, capabilities=(request,))],
        policy=ScopedWorkspacePolicy().allow_read_paths().require_read_approval(),
        approvals=handler,
    )
    watching.session = session
    events, _ = await run_all(session)
    assert [len(r.context.history) for r in handler.requests] == [2, 2, 5]
    assert {r.context.session_id for r in handler.requests} == {session.id}
    assert len(of(events, ev.ToolFinished)) == 3
