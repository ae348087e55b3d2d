"""Bounds under load: polling, memory, history (K.7 reliability_boundedness)."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from rho_core import events as ev
from rho_core.history.compaction import CompactionOutput, CompactionPolicy, CompactionRequest
from rho_core.history.messages import UserMessage
from rho_core.providers.contract import OutputDelta
from rho_core.runtime import Rho
from rho_core.session import SessionState
from rho_core.testing import (
    PlannedTool,
    ScriptedCompactor,
    ScriptedProvider,
    ScriptedTool,
    ScriptedTurn,
)
from rho_core.tooling.batch import ToolBatch
from rho_core.tooling.contract import AuthorizedToolContext, ToolInvocation
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput, ToolProgress
from tests.core.run_harness import (
    Gate,
    call,
    collect,
    leaked_tasks,
    names,
    of,
    open_session,
    run_all,
    until,
    within,
)


@pytest.mark.clause("D35", "D3")
async def test_a_waiting_tool_is_not_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    polls = 0
    advance = ToolBatch._advance

    async def counting(self: ToolBatch) -> bool:
        nonlocal polls
        polls += 1
        return await advance(self)

    monkeypatch.setattr(ToolBatch, "_advance", counting)
    gate = Gate()
    metadata = ToolMetadata(ToolOperation.READ)
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")],
        tools=[gate.tool("t", metadata=metadata)],
    )
    async with session.start("go") as run:
        await until(lambda: gate.running)
        for _ in range(500):
            await asyncio.sleep(0)
        gate.open("a")
        events = await within(collect(run))
    assert polls < 100
    assert of(events, ev.ToolStarted)[0].metadata == metadata
    assert session.state is SessionState.COMPLETED
    assert not session.is_running


@pytest.mark.clause("J11", "J13", "B13")
async def test_long_histories_stay_bounded_across_repeated_automatic_compaction() -> None:
    class Keeping(ScriptedCompactor):
        async def compact(self, request: CompactionRequest) -> CompactionOutput:
            self.requests.append(request)
            return CompactionOutput((UserMessage.of_text("summary"), request.messages[-1]))

    compactor = Keeping()
    session, provider = await open_session(
        [],
        compactor=compactor,
        compaction_policy=CompactionPolicy.after_messages(16),
    )
    longest = 0
    for number in range(256):
        provider.push(ScriptedTurn.completed(str(number)))
        await session.complete(f"turn {number}")
        longest = max(longest, len(session.history))
    assert longest <= 17
    assert len(compactor.requests) > 20
    state = session.snapshot().compaction
    assert state.completed_compactions == len(compactor.requests)
    assert session.revision == 256 + len(compactor.requests)


@pytest.mark.clause("D37", "B39")
async def test_a_large_output_has_one_history_copy_and_one_event() -> None:
    body = "x" * (2 * 1024 * 1024)
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")],
        tools=[ScriptedTool("t", body)],
    )
    events, _ = await run_all(session)
    assert len(of(events, ev.ToolFinished)) == 1
    text = session.snapshot().to_json()
    assert text.count(body) == 1
    assert len(text) < len(body) + 16 * 1024
    assert json.loads(text)["revision"] == 1


@pytest.mark.clause("L12")
async def test_requests_share_messages_with_history_instead_of_copying() -> None:
    session, provider = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")],
        tools=[ScriptedTool("t")],
    )
    await run_all(session)
    for request in provider.requests:
        for sent, kept in zip(request.messages, session.history, strict=False):
            assert sent is kept


class FloodingProvider(ScriptedProvider):
    """Streams until it is stopped and counts what it could send."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = 0
        self.dropped = 0

    async def send_turn_stream(self, request: Any, events: Any) -> Any:
        try:
            while True:
                await events.send(OutputDelta("x"))
                self.sent += 1
        except asyncio.CancelledError:
            self.dropped += 1
            raise


@pytest.mark.clause("C62", "C74", "D38")
async def test_full_channels_cancel_with_bounded_production() -> None:
    provider = FloodingProvider()
    session = await Rho(provider, event_capacity=1).session()
    async with session.start("go") as run:
        await within(run.next_event())
        for _ in range(300):
            await asyncio.sleep(0)
        assert provider.sent < 32
        run.cancel()
        events = await within(collect(run))
    assert names(events)[-1] == "Cancelled"
    assert provider.dropped == 1
    assert not leaked_tasks()


@pytest.mark.clause("C5", "C71")
async def test_dropping_the_run_aborts_provider_work() -> None:
    provider = FloodingProvider()
    session = await Rho(provider).session()
    async with session.start("go"):
        await until(lambda: provider.sent)
    assert provider.dropped == 1
    assert not leaked_tasks()


@pytest.mark.clause("C7")
async def test_a_cancellation_is_noticed_while_the_reader_keeps_up_with_a_flood() -> None:
    provider = FloodingProvider()
    session = await Rho(provider).session()
    async with session.start("go") as run:
        count = 0
        async for _event in run:
            count += 1
            if count == 1000:
                run.cancel()
        assert count < 2000
    assert not session.is_running


@pytest.mark.clause("C8")
async def test_deltas_pass_at_a_fair_share_of_a_bare_queues_rate() -> None:
    """A guard against a task or a future per event; the benchmark measures precisely."""
    count = 4000

    async def bare() -> float:
        queue: asyncio.Queue[int | None] = asyncio.Queue(64)

        async def produce() -> None:
            for n in range(count):
                await queue.put(n)
            await queue.put(None)

        begin = time.process_time()
        task = asyncio.create_task(produce())
        while await queue.get() is not None:
            pass
        await task
        return time.process_time() - begin

    async def run_once() -> float:
        turn = ScriptedTurn.streaming([OutputDelta("x")] * count)
        session, _ = await open_session([turn])
        begin = time.process_time()
        async with session.start("go") as run:
            async for _event in run:
                pass
        return time.process_time() - begin

    ratios = []
    for _ in range(5):
        ratios.append(await bare() / await run_once())
    assert max(ratios) > 0.25


@pytest.mark.clause("D29", "C5")
async def test_a_tool_await_is_cancelled_and_dropped_without_an_orphan() -> None:
    unwound = asyncio.Event()

    async def body(_invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # cleanup that itself awaits
            unwound.set()
        return ToolOutput.text("")

    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"))], tools=[PlannedTool("t", body)]
    )
    async with session.start("go") as run:
        async for event in run:
            if isinstance(event, ev.ToolStarted):
                break
        for _ in range(10):
            await asyncio.sleep(0)
        run.cancel()
        await within(collect(run))
    assert unwound.is_set()
    assert not leaked_tasks()


@pytest.mark.clause("D35", "D38", "C62")
async def test_a_full_progress_channel_does_not_keep_a_tool_from_being_dropped() -> None:
    sent, dropped = 0, False

    async def flood(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        nonlocal sent, dropped
        try:
            while True:
                await context.progress.send(ToolProgress(str(sent)))
                sent += 1
        except asyncio.CancelledError:
            dropped = True
            raise

    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"))], tools=[PlannedTool("t", flood)], event_capacity=1
    )
    async with session.start("go") as run:
        while not isinstance(await within(run.next_event()), ev.ToolStarted):
            pass
        for _ in range(100):
            await asyncio.sleep(0)
        run.cancel()
        await within(collect(run))
    assert dropped
    assert 0 < sent <= 18
    assert not leaked_tasks()
