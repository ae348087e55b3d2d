"""The step budget (C49, X1)."""

from __future__ import annotations

import pytest

from rho_core import events as ev
from rho_core.events import StopReason
from rho_core.session import SessionState
from rho_core.testing import ScriptedTool, ScriptedTurn
from tests.core.run_harness import assert_replay_safe, call, names, of, open_session, run_all


@pytest.mark.clause("C49", "X1")
async def test_max_steps_completes_with_a_distinct_resumable_stop_reason() -> None:
    session, _ = await open_session(
        [ScriptedTurn.calls(call("c", "t")), ScriptedTurn.completed("later")],
        tools=[ScriptedTool("t")],
        max_steps=1,
    )
    events, outcome = await run_all(session)
    assert outcome.stop_reason is StopReason.MAX_STEPS
    assert outcome.text == ""
    assert outcome.content == (call("c", "t"),)
    assert [type(m).__name__ for m in session.history] == [
        "UserMessage",
        "EnrichedAssistant",
        "ToolResult",
    ]
    assert session.state is SessionState.COMPLETED
    assert names(events)[-1] == "Completed"
    assert_replay_safe(session.history)
    assert (await session.complete("go on")).text == "later"


@pytest.mark.clause("C49")
async def test_the_budget_counts_model_steps() -> None:
    session, provider = await open_session(
        [ScriptedTurn.calls(call(f"c{n}", "t")) for n in range(5)],
        tools=[ScriptedTool("t")],
        max_steps=3,
    )
    events, _ = await run_all(session)
    assert [e.step for e in of(events, ev.StepStarted)] == [1, 2, 3]
    assert len(provider.requests) == 3


@pytest.mark.clause("C50")
async def test_steering_still_staged_at_the_limit_is_lost_but_the_run_succeeds() -> None:
    session, _ = await open_session(
        [ScriptedTurn.calls(call("c", "t"))], tools=[ScriptedTool("t")], max_steps=1
    )
    async with session.start("go") as run:
        receipt = run.request_steer_retractable("more")
        outcome = await run.outcome()
        await receipt
    assert outcome.stop_reason is StopReason.MAX_STEPS
