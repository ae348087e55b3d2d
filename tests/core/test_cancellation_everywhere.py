"""Cancelling and dropping a run at every single place (C62, C72)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from rho_core import events as ev
from rho_core.cancellation import CancellationToken
from rho_core.errors import Cancelled, RhoError
from rho_core.history.messages import (
    Text,
)
from rho_core.providers.contract import (
    OutputDelta,
    UsageReported,
)
from rho_core.session import Session
from rho_core.testing import (
    PlannedTool,
    ScriptedProvider,
    ScriptedTurn,
)
from rho_core.tooling.contract import AuthorizedToolContext, ToolInvocation
from rho_core.tooling.values import ToolOutput, ToolProgress
from rho_core.usage import ModelUsage
from tests.core.run_harness import (
    assert_calls_paired,
    assert_replay_safe,
    call,
    collect,
    leaked_tasks,
    names,
    open_session,
    until,
    within,
)


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
    for capacity in (4, 11):
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
