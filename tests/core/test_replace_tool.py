"""A tool of a session is replaced in its place, between runs (T1.5)."""

from __future__ import annotations

import pytest

from rho_core.errors import InvalidConfiguration, SessionBusy
from rho_core.history.messages import SystemMessage, ToolResult
from rho_core.testing import ScriptedTool, ScriptedTurn
from tests.core.run_harness import call, collect, open_session, results, run_all, until, within

DONE = ScriptedTurn.completed("done")


class Better(ScriptedTool):
    """Does the work of `old`."""

    stands_for = ("old",)


@pytest.mark.clause("T1.5")
async def test_a_replaced_tool_has_the_place_of_the_one_before_and_serves_the_next_run() -> None:
    old, better = ScriptedTool("old"), Better("better", "it was better")
    session, provider = await open_session(
        [DONE, ScriptedTurn.calls(call("1", "better")), DONE],
        tools=[ScriptedTool("a"), old, ScriptedTool("z")],
        system_prompt="stay",
    )
    await run_all(session)
    assert session.replace_tool("old", better) is old
    registered = [tool.name for tool in session.diagnostics().tools]
    assert registered == ["a", "better", "z"]
    await run_all(session)
    assert results(session.history) == [ToolResult("1", True, "it was better")]
    advertised = [[spec.name for spec in request.tools] for request in provider.requests]
    assert advertised == [["a", "old", "z"], ["a", "better", "z"], ["a", "better", "z"]]
    assert [m for m in session.history if isinstance(m, SystemMessage)] == [SystemMessage("stay")]


@pytest.mark.clause("T1.5", "D22")
async def test_a_call_of_a_tool_that_is_gone_is_told_which_one_does_its_work() -> None:
    session, _ = await open_session(
        [ScriptedTurn.calls(call("1", "old"), call("2", "oldest")), DONE],
        tools=[ScriptedTool("a"), Better("better")],
    )
    await run_all(session)
    assert results(session.history) == [
        ToolResult("1", False, "tool 'old' is unavailable; use 'better'"),
        ToolResult("2", False, "tool 'oldest' is unavailable"),
    ]


@pytest.mark.clause("T1.5")
async def test_nothing_is_replaced_without_the_tool_by_a_taken_name_or_during_a_run() -> None:
    tools = [ScriptedTool("a"), ScriptedTool("old")]
    session, provider = await open_session([ScriptedTurn.hanging(), DONE], tools=tools)
    assert session.replace_tool("older", Better("better")) is None
    with pytest.raises(InvalidConfiguration, match="duplicate tool name 'a'"):
        session.replace_tool("old", ScriptedTool("a"))
    async with session.start("go") as run:
        await until(lambda: provider.requests)
        with pytest.raises(SessionBusy):
            session.replace_tool("old", Better("better"))
        run.cancel()
        await within(collect(run))
    await run_all(session)
    assert [spec.name for spec in provider.requests[-1].tools] == ["a", "old"]


@pytest.mark.clause("T1.5", "A26")
async def test_a_replacement_may_need_the_history_of_the_turn_in_flight() -> None:
    class Reader(Better):
        reads_live_history = True

    seen: list[int] = []
    reader = Reader("better")
    session, _ = await open_session(
        [ScriptedTurn.calls(call("1", "better")), DONE], tools=[ScriptedTool("old")]
    )
    session.replace_tool("old", reader)
    async with session.start("go") as run:
        async for _event in run:
            seen.append(len(session.live_history))
    assert max(seen[:-1]) > 0
    assert session.replace_tool("better", ScriptedTool("old")) is reader
