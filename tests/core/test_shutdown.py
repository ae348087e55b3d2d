"""Stopping a runtime (A.4)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core.errors import Cancelled, RuntimeShutdown, SessionBusy
from rho_core.history.compaction import CompactionOutput, CompactionRequest
from rho_core.history.messages import UserMessage
from rho_core.reasoning import ReasoningLevel
from rho_core.runtime import Rho
from rho_core.session import SessionState
from rho_core.testing import ScriptedCompactor, ScriptedProvider, ScriptedTurn
from tests.core.run_harness import collect, names, until, within


@pytest.mark.clause("A40", "A41", "A42")
async def test_shutdown_cancels_active_runs_and_refuses_new_work() -> None:
    provider = ScriptedProvider([ScriptedTurn.hanging()])
    rho = Rho(provider)
    busy, idle = await rho.session(), await rho.session()
    async with busy.start("go") as run:
        await until(lambda: provider.requests)
        assert rho.shutdown().cancelled_runs == 1
        assert rho.shutdown().cancelled_runs == 0
        with pytest.raises(SessionBusy):
            busy.start("more")
        events = await within(collect(run))
        with pytest.raises(Cancelled):
            await run.outcome()
    assert names(events)[-1] == "Cancelled"
    assert busy.history == (UserMessage.of_text("go"),)
    for open_session in (rho.session, rho.rebind_session):
        with pytest.raises(RuntimeShutdown):
            await open_session()
    with pytest.raises(RuntimeShutdown):
        idle.start("go")
    assert (idle.is_running, idle.state) == (False, SessionState.IDLE)
    with pytest.raises(RuntimeShutdown):
        await idle.complete("go")


@pytest.mark.clause("A43")
async def test_reading_and_settings_keep_working_after_shutdown() -> None:
    session = await Rho(ScriptedProvider(), system_prompt="s").session()
    rho = Rho(ScriptedProvider())
    session = await rho.session()
    rho.shutdown()
    session.append_message(UserMessage.of_text("x"))
    session.set_reasoning_level(ReasoningLevel.LOW)
    session.reset()
    assert session.snapshot().revision == 2
    assert rho.diagnostics().max_steps == 32
    assert rho.is_shut_down


@pytest.mark.clause("A40", "B27", "B28")
async def test_a_manual_compaction_is_counted_and_observes_shutdown_itself() -> None:
    started = asyncio.Event()

    class Observing(ScriptedCompactor):
        async def compact(self, request: CompactionRequest) -> CompactionOutput:
            started.set()
            await request.cancellation.cancelled()
            raise Cancelled

    rho = Rho(ScriptedProvider(), compactor=Observing())
    session = await rho.session()
    work = asyncio.create_task(session.compact())
    await within(started.wait())
    with pytest.raises(SessionBusy):
        session.start("go")
    assert rho.shutdown().cancelled_runs == 1
    with pytest.raises(Cancelled):
        await within(work)
    assert (session.is_running, session.revision) == (False, 0)
    with pytest.raises(RuntimeShutdown):
        await session.compact()


@pytest.mark.clause("A40")
async def test_finished_runs_are_not_counted() -> None:
    rho = Rho(ScriptedProvider([ScriptedTurn.completed("x")]))
    session = await rho.session()
    await session.complete("go")
    assert rho.shutdown().cancelled_runs == 0
