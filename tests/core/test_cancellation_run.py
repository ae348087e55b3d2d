"""Cancelling a run at every place, and what is kept (C.6, K.5, K.7)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from rho_core import events as ev
from rho_core.cancellation import CancellationToken
from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind, RhoError
from rho_core.history.compaction import CompactionOutput, CompactionPolicy, CompactionRequest
from rho_core.history.messages import (
    ASYNC_TOOL_CALL_KIND,
    AbortedAssistant,
    Text,
    ToolResult,
    UserMessage,
)
from rho_core.providers.contract import (
    ModelRequest,
    ModelResponse,
    OutputDelta,
    ProviderCancellation,
    ProviderContext,
    ProviderEvents,
    UsageReported,
)
from rho_core.runtime import Rho
from rho_core.session import Session, SessionState
from rho_core.testing import (
    FakeClock,
    PlannedTool,
    ScriptedCompactor,
    ScriptedProvider,
    ScriptedTool,
    ScriptedTurn,
)
from rho_core.tooling.contract import AuthorizedToolContext, ToolExecutionMode, ToolInvocation
from rho_core.tooling.values import ToolOutput, ToolProgress, ToolSucceeded
from rho_core.usage import ModelUsage
from tests.core.run_harness import (
    Gate,
    assert_calls_paired,
    assert_replay_safe,
    call,
    collect,
    leaked_tasks,
    names,
    of,
    open_session,
    read_until,
    results,
    until,
    within,
)

INTERRUPTED = "tool call interrupted before completion"


async def cancelled_events(run: object) -> list[ev.RunEvent]:
    """Cancel, see the run end as Cancelled, return the events that were left."""
    run.cancel()  # type: ignore[attr-defined]
    events = await within(collect(run))  # type: ignore[arg-type]
    with pytest.raises(Cancelled):
        await within(run.outcome())  # type: ignore[attr-defined]
    return events


@pytest.mark.clause("C63", "C66", "C36", "C52")
async def test_cancellation_recovers_the_partial_answer() -> None:
    session, _ = await open_session(
        [ScriptedTurn.hanging(OutputDelta("partial")), ScriptedTurn.completed("next")]
    )
    async with session.start("go") as run:
        await read_until(run, ev.AssistantTextDelta)
        events = await cancelled_events(run)
    assert of(events, ev.Cancelled) == [ev.Cancelled(session.revision)]
    user, aborted = session.history
    assert user == UserMessage.of_text("go")
    assert isinstance(aborted, AbortedAssistant)
    assert aborted.content == (Text("partial"),)
    assert (session.state, session.revision) == (SessionState.IDLE, 1)
    assert (await session.complete("again")).text == "next"


@pytest.mark.clause("C63")
async def test_cancelling_before_the_first_provider_turn_still_commits_the_user_message() -> None:
    session, provider = await open_session([ScriptedTurn.completed("x")])
    async with session.start("go") as run:
        events = await cancelled_events(run)
    assert names(events)[-1] == "Cancelled"
    assert session.history == (UserMessage.of_text("go"),)
    assert session.revision == 1
    assert provider.requests == []


@pytest.mark.clause("C65")
async def test_an_error_that_ends_a_cancelled_attempt_is_a_cancellation() -> None:
    class Failing(ScriptedProvider):
        cancellation_mode = ProviderCancellation.COOPERATIVE

        async def send_turn_stream(
            self, request: ModelRequest, events: ProviderEvents
        ) -> ModelResponse:
            self.requests.append(request)
            await request.cancellation.cancelled()
            raise ProviderError(ProviderErrorKind.TIMEOUT, "stopped", retryable=True)

    provider = Failing()
    session = await Rho(provider).session()
    async with session.start("go") as run:
        await until(lambda: provider.requests)
        await cancelled_events(run)
    assert len(provider.requests) == 1


class Winding(ScriptedProvider):
    """Cooperative: sends a last event and its usage after it saw cancellation."""

    cancellation_mode = ProviderCancellation.COOPERATIVE

    async def send_turn_stream(
        self, request: ModelRequest, events: ProviderEvents
    ) -> ModelResponse:
        self.requests.append(request)
        await events.send(OutputDelta("early "))
        await request.cancellation.cancelled()
        for _ in range(40):  # more than its channel holds: the loop must keep draining
            await events.send(OutputDelta("x"))
        await events.send(ProviderContext("sig", "late"))
        await events.send(UsageReported(ModelUsage(output_tokens=7)))
        return ModelResponse((Text("ignored"),))


@pytest.mark.clause("C71")
async def test_a_cooperative_provider_is_drained_to_its_end_without_being_shown() -> None:
    session = await Rho(Winding()).session()
    async with session.start("go") as run:
        await read_until(run, ev.AssistantTextDelta)
        events = await cancelled_events(run)
    assert names(events) == ["Cancelled"]
    aborted = session.history[-1]
    assert isinstance(aborted, AbortedAssistant)
    assert aborted.content == (Text("early " + "x" * 40),)
    assert aborted.usage.output_tokens == 7
    assert [b.kind for b in aborted.provider_context] == ["sig"]


@pytest.mark.clause("C71", "J3")
async def test_an_external_provider_is_dropped_and_queued_events_are_folded() -> None:
    dropped = asyncio.Event()

    class Streaming(ScriptedProvider):
        async def send_turn_stream(
            self, request: ModelRequest, events: ProviderEvents
        ) -> ModelResponse:
            self.requests.append(request)
            await events.send(OutputDelta("a"))
            await events.send(OutputDelta("b"))
            await events.send(UsageReported(ModelUsage(output_tokens=3)))
            try:
                await asyncio.Event().wait()
            finally:
                dropped.set()
            raise AssertionError

    provider = Streaming()
    session = await Rho(provider, event_capacity=2).session()
    async with session.start("go") as run:
        await until(lambda: provider.requests and run._events._channel._on_room is not None)
        await cancelled_events(run)
    assert dropped.is_set()
    aborted = session.history[-1]
    assert isinstance(aborted, AbortedAssistant)
    assert aborted.content == (Text("ab"),)
    assert aborted.usage.output_tokens == 3
    assert not leaked_tasks()


@pytest.mark.clause("C68")
async def test_an_answer_whose_completion_could_not_be_delivered_is_aborted() -> None:
    turn = ScriptedTurn.streaming([OutputDelta("whole")])
    session, _ = await open_session([turn], event_capacity=1)
    async with session.start("go") as run:
        while not isinstance(await within(run.next_event()), ev.StepStarted):
            pass
        # the delta fills the channel, ModelCallCompleted waits behind it
        await until(lambda: run._events._channel._on_room is not None)
        for _ in range(20):
            await asyncio.sleep(0)
        run.cancel()
        for _ in range(20):  # noticed before anybody makes room
            await asyncio.sleep(0)
        await cancelled_events(run)
    assert [type(m).__name__ for m in session.history] == ["UserMessage", "AbortedAssistant"]


@pytest.mark.clause("C62", "D19")
async def test_cancelling_while_a_proposal_is_blocked_interrupts_every_call() -> None:
    tool = ScriptedTool("t")
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"), call("b", "t")), ScriptedTurn.completed("next")],
        tools=[tool],
        event_capacity=1,
    )
    async with session.start("go") as run:
        while not isinstance(await within(run.next_event()), ev.ModelCallCompleted):
            pass
        await until(lambda: run._events._channel._on_room is not None)
        events = await cancelled_events(run)
    assert tool.calls == []
    assert not of(events, ev.ToolStarted, ev.ToolFinished)
    assert [r.content for r in results(session.history)] == [INTERRUPTED, INTERRUPTED]
    assert_replay_safe(session.history)
    assert (await session.complete("again")).text == "next"


@pytest.mark.clause("D29", "D30", "X4")
async def test_cancelling_a_running_tool_drops_it_and_finishes_its_call() -> None:
    gate = Gate()
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("next")],
        tools=[gate.tool("t")],
    )
    async with session.start("go") as run:
        await until(lambda: gate.running)
        events = await cancelled_events(run)
    assert gate.dropped == ["a"]
    assert names(events)[-2:] == ["ToolFinished", "Cancelled"]
    assert results(session.history) == [ToolResult("a", False, INTERRUPTED)]
    assert (await session.complete("again")).text == "next"
    assert not leaked_tasks()


@pytest.mark.clause("D29", "X4")
async def test_cancelling_between_tools_keeps_what_completed() -> None:
    gate = Gate()
    gate.open("a")
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"), call("b", "t"), call("c", "t"))],
        tools=[gate.tool("t")],
    )
    async with session.start("go") as run:
        await until(lambda: gate.running == ["a", "b"])
        events = await cancelled_events(run)
    assert [(r.id, r.ok) for r in results(session.history)] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]
    assert gate.running == ["a", "b"]
    assert_calls_paired(events)


@pytest.mark.clause("D26", "D29", "X4")
async def test_a_tool_that_finished_during_blocked_progress_keeps_its_output() -> None:
    ready = asyncio.Event()

    async def body(invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        if invocation.id == "slow":
            await asyncio.Event().wait()
        for n in range(2):
            await context.progress.send(ToolProgress(str(n)))
        ready.set()
        return ToolOutput.text("kept")

    session, _ = await open_session(
        [ScriptedTurn.calls(call("slow", "t"), call("quick", "t"))],
        tools=[PlannedTool("t", body)],
        event_capacity=1,
        max_parallel_tools=2,
    )
    async with session.start("go") as run:
        seen: list[str] = []
        while seen.count("ToolStarted") < 2:
            seen.append(type(await within(run.next_event())).__name__)
        await within(ready.wait())
        for _ in range(20):
            await asyncio.sleep(0)
        events = await cancelled_events(run)
    assert [(r.id, r.content) for r in results(session.history)] == [
        ("slow", INTERRUPTED),
        ("quick", "kept"),
    ]
    finished = {str(e.call_id): e.completion for e in of(events, ev.ToolFinished)}
    assert isinstance(finished["quick"], ToolSucceeded)


@pytest.mark.clause("X7", "D29")
async def test_a_tool_may_complete_after_cancellation_within_its_time() -> None:
    async def body(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        await context.cancellation.cancelled()
        await asyncio.sleep(0)
        return ToolOutput.text("cleaned up")

    clock = FakeClock(auto=False)
    tool = PlannedTool("t", body, cleanup_timeout=5.0)
    session, _ = await open_session([ScriptedTurn.calls(call("a", "t"))], tools=[tool], clock=clock)
    async with session.start("go") as run:
        await read_until(run, ev.ToolStarted)
        for _ in range(20):
            await asyncio.sleep(0)
        await cancelled_events(run)
    assert results(session.history) == [ToolResult("a", True, "cleaned up")]
    assert not leaked_tasks()


@pytest.mark.clause("X7")
async def test_a_tool_that_overstays_its_cleanup_time_is_dropped() -> None:
    clock = FakeClock(auto=False)
    gate = Gate()
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"))],
        tools=[gate.tool("t", cleanup_timeout=5.0)],
        clock=clock,
    )
    async with session.start("go") as run:
        await until(lambda: gate.running)
        run.cancel()
        await until(lambda: clock.sleeping)
        assert not run.is_finished
        clock.advance(5.0)
        with pytest.raises(Cancelled):
            await within(run.outcome())
    assert gate.dropped == ["a"]
    assert results(session.history) == [ToolResult("a", False, INTERRUPTED)]


@pytest.mark.clause("D20")
async def test_pending_preparations_start_together_and_cancel_into_every_slot() -> None:
    preparing: list[str] = []

    class Slow(PlannedTool):
        async def prepare(self, invocation, context):  # type: ignore[no-untyped-def]
            preparing.append(str(invocation.id))
            if invocation.id != "b":
                await asyncio.Event().wait()
            return await super().prepare(invocation, context)

    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"), call("b", "t"), call("c", "t"))],
        tools=[Slow("t", Gate().body)],
    )
    async with session.start("go") as run:
        await until(lambda: len(preparing) == 3)
        events = await cancelled_events(run)
    assert [(r.id, r.content) for r in results(session.history)] == [
        ("a", INTERRUPTED),
        ("b", INTERRUPTED),
        ("c", INTERRUPTED),
    ]
    assert not of(events, ev.ToolStarted, ev.ToolFinished)
    assert not leaked_tasks()


@pytest.mark.clause("D25", "D29")
async def test_cancellation_ends_running_workers_and_never_starts_queued_ones() -> None:
    gate = Gate()
    session, _ = await open_session(
        [ScriptedTurn.calls(*(call(k, "t") for k in "abcd"))],
        tools=[gate.tool("t")],
        max_parallel_tools=2,
    )
    async with session.start("go") as run:
        await until(lambda: len(gate.running) == 2)
        events = await cancelled_events(run)
    assert sorted(gate.dropped) == gate.running == ["a", "b"]
    assert len(results(session.history)) == 4
    assert_calls_paired(events)


@pytest.mark.clause("D31", "C9")
async def test_dropping_the_consumer_cleans_up_all_active_workers() -> None:
    gate = Gate()
    session, _ = await open_session(
        [ScriptedTurn.calls(*(call(k, "t") for k in "abc"))],
        tools=[gate.tool("t")],
        max_parallel_tools=3,
    )
    async with session.start("go") as run:
        await until(lambda: len(gate.running) == 3)
        run._events.drop()
        gate.open("a")  # its ToolFinished meets the closed channel
        with pytest.raises(RhoError):
            await within(run.outcome())
    assert sorted(gate.dropped) == ["b", "c"]
    assert session.history == ()
    assert not leaked_tasks()


@pytest.mark.clause("C62", "J10")
async def test_cancelling_an_automatic_compaction_commits_the_uncompacted_history() -> None:
    started = asyncio.Event()

    class Stuck(ScriptedCompactor):
        async def compact(self, request: CompactionRequest) -> CompactionOutput:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    session, _ = await open_session(
        [], compactor=Stuck(), compaction_policy=CompactionPolicy.after_messages(1)
    )
    async with session.start("go") as run:
        await within(started.wait())
        events = await cancelled_events(run)
    assert names(events) == ["Started", "CompactionStarted", "Cancelled"]
    assert session.history == (UserMessage.of_text("go"),)
    assert session.snapshot().compaction.completed_compactions == 0
    assert not leaked_tasks()


@pytest.mark.clause("D35", "D30", "C5")
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("mode", [ToolExecutionMode.SYNC, ToolExecutionMode.ASYNC])
async def test_cleanup_that_reports_and_asks_cannot_hang_the_end(
    drop: bool, mode: ToolExecutionMode
) -> None:
    running = asyncio.Event()
    refused: list[bool] = []

    async def body(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(100):
                refused.append(await context.progress.send(ToolProgress("cleaning")))
        return ToolOutput.text("")

    mark = ProviderContext(ASYNC_TOOL_CALL_KIND, "a")
    session, _ = await open_session(
        [ScriptedTurn.streaming([mark], call("a", "t")), ScriptedTurn.hanging()],
        tools=[PlannedTool("t", body, execution_mode=mode)],
    )
    async with session.start("go") as run:
        await within(running.wait())
        if not drop:
            await cancelled_events(run)
        await within(run.aclose())
    assert refused[-1] is False
    assert not leaked_tasks()


@pytest.mark.clause("C71", "C5")
@pytest.mark.parametrize("drop", [False, True])
async def test_a_provider_that_sends_while_it_is_dropped_cannot_hang_the_end(drop: bool) -> None:
    class Talkative(ScriptedProvider):
        async def send_turn_stream(
            self, request: ModelRequest, events: ProviderEvents
        ) -> ModelResponse:
            self.requests.append(request)
            try:
                await asyncio.Event().wait()
            finally:
                for _ in range(100):
                    await events.send(OutputDelta("late"))
            raise AssertionError

    provider = Talkative()
    session = await Rho(provider).session()
    async with session.start("go") as run:
        await until(lambda: provider.requests)
        if not drop:
            await cancelled_events(run)
        await within(run.aclose())
    assert not leaked_tasks()


class CountingToken(CancellationToken):
    """Cancels itself when it has been looked at for the n-th time: every decision point counts."""

    __slots__ = ("fuse", "looks")

    def __init__(self, fuse: int) -> None:
        super().__init__()
        self.looks = 0
        self.fuse = fuse

    @property
    def is_cancelled(self) -> bool:
        self.looks += 1
        if self.looks == self.fuse:
            self.cancel()
        return super().is_cancelled

    def raise_if_cancelled(self) -> None:
        if self.is_cancelled:
            raise Cancelled


def two_steps() -> list[ScriptedTurn]:
    return [
        ScriptedTurn.streaming(
            [OutputDelta("thinking"), UsageReported(ModelUsage(output_tokens=1))],
            Text("thinking"),
            call("a", "t"),
            call("b", "t"),
        ),
        ScriptedTurn.streaming([OutputDelta("done")]),
        ScriptedTurn.completed("usable"),
    ]


async def chatting(invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
    await context.progress.send(ToolProgress(f"{invocation.id} works"))
    await asyncio.sleep(0)
    await context.progress.send(ToolProgress(f"{invocation.id} is nearly done"))
    return ToolOutput.text(f"{invocation.id} done")


async def judge(session: Session, events: list[ev.RunEvent], error: RhoError | None) -> None:
    """What holds wherever the cancellation struck."""
    assert error is None or isinstance(error, Cancelled)
    assert_replay_safe(session.history)
    assert_calls_paired(events)
    assert names(events)[-1] == ("Completed" if error is None else "Cancelled")
    assert len([e for e in events if type(e).__name__ in ("Completed", "Cancelled")]) == 1
    assert (session.revision, session.is_running) == (1, False)
    assert not leaked_tasks()
    session.replace_provider(ScriptedProvider([ScriptedTurn.completed("usable")]))
    assert (await within(session.complete("again"))).text == "usable"


async def cancel_at_tick(session: Session, tick: int, reads: bool) -> bool:
    """Cancel after `tick` turns of the loop; False once the run was over by then."""
    run = session.start("go")
    events: list[ev.RunEvent] = []

    async def read() -> None:
        async for event in run:
            events.append(event)

    reader = asyncio.create_task(read()) if reads else None
    for _ in range(tick):
        await asyncio.sleep(0)
    over = run.is_finished
    run.cancel()
    if reader is None:
        reader = asyncio.create_task(read())
    error: RhoError | None = None
    try:
        await within(run.outcome())
    except RhoError as raised:
        error = raised
    await within(reader)
    await judge(session, events, error)
    return not over


def capacities() -> Iterator[tuple[int, bool]]:
    yield 64, True
    yield 1, True
    yield 1, False  # nobody reads before the cancellation: every send is blocked in turn
    for capacity in (2, 4, 7, 11, 15):
        yield capacity, False


@pytest.mark.clause("C62", "C63", "C72", "X4", "B6")
@pytest.mark.parametrize(("capacity", "reads"), capacities())
async def test_cancelling_at_every_turn_of_the_loop_leaves_a_usable_session(
    capacity: int, reads: bool
) -> None:
    for tick in range(400):
        session, _ = await open_session(
            two_steps(),
            tools=[PlannedTool("t", chatting)],
            max_parallel_tools=2,
            event_capacity=capacity,
        )
        if not await cancel_at_tick(session, tick, reads) or (not reads and tick > 40):
            assert tick > 5
            return
    raise AssertionError("the run never ended by itself")


@pytest.mark.clause("C62", "C72", "L4")
@pytest.mark.parametrize("capacity", [1, 64])
async def test_cancelling_at_every_look_at_the_token_leaves_a_usable_session(
    capacity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for fuse in range(1, 2000):
        tokens: list[CountingToken] = []

        def counted(fuse: int = fuse, tokens: list[CountingToken] = tokens) -> CancellationToken:
            token = CountingToken(fuse if not tokens else 10**9)
            tokens.append(token)
            return token

        monkeypatch.setattr("rho_core.session.CancellationToken", counted)
        session, _ = await open_session(
            two_steps(),
            tools=[PlannedTool("t", chatting)],
            max_parallel_tools=2,
            event_capacity=capacity,
        )
        async with session.start("go") as run:
            events = await within(collect(run))
            error: RhoError | None = None
            try:
                await run.outcome()
            except RhoError as raised:
                error = raised
        struck = tokens[0].looks >= fuse
        await judge(session, events, error)
        if not struck:
            assert fuse > 20
            return
    raise AssertionError("the run looked at its token without end")


@pytest.mark.clause("C5", "L3")
async def test_dropping_a_run_at_every_turn_of_the_loop_leaks_nothing() -> None:
    for tick in range(400):
        session, _ = await open_session(
            two_steps(), tools=[PlannedTool("t", chatting)], max_parallel_tools=2, event_capacity=2
        )
        run = session.start("go")
        reader = asyncio.create_task(collect(run))
        for _ in range(tick):
            await asyncio.sleep(0)
        over = run.is_finished
        await within(run.aclose())
        await within(reader)
        await until(lambda session=session: not session.is_running)
        assert not leaked_tasks()
        assert_replay_safe(session.history)
        if over:
            return
    raise AssertionError("the run never ended by itself")
