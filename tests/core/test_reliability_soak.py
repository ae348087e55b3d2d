"""Random turns with random interference: whatever happens, the session stays sound (C72, X4)."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from pathlib import PurePath

import pytest

from rho_core import events as ev
from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind, RhoError, ToolError
from rho_core.history.messages import ASYNC_TOOL_CALL_KIND, Image, Text, ToolCall
from rho_core.providers.contract import OutputDelta, ProviderContext, UsageReported
from rho_core.questions import HostChoice, HostInputRequest, HostInputResponse, HostQuestion
from rho_core.run import Run
from rho_core.session import Session
from rho_core.testing import FakeClock, PlannedTool, ScriptedProvider, ScriptedTool, ScriptedTurn
from rho_core.tooling.contract import AuthorizedToolContext, ToolExecutionMode, ToolInvocation
from rho_core.tooling.resources import ToolResourceAccess, WorkspacePath
from rho_core.tooling.values import ToolOutput, ToolProgress
from rho_core.usage import ModelUsage
from tests.core.run_harness import (
    assert_calls_paired,
    assert_replay_safe,
    leaked_tasks,
    names,
    of,
    open_session,
    within,
)

ANSWER = HostInputResponse().answer("q", ["yes"])
TOOLS = ("quick", "slow", "alone", "fails", "asks", "job", "missing", "writes")


async def quick(invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
    await context.progress.send(ToolProgress("now"))
    return ToolOutput.text(str(invocation.id)).with_images([Image("QQ==", "image/png")])


async def slow(invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
    for n in range(int(invocation.arguments["n"])):
        await context.progress.send(ToolProgress(str(n)))
        await asyncio.sleep(0)
    return ToolOutput.text("slow")


async def fails(_invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
    await asyncio.sleep(0)
    raise ToolError.execution("no")


async def asks(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
    question = HostQuestion("q", "?", (HostChoice("yes", "Yes"),))
    await context.request_host_input(HostInputRequest.questionnaire(None, [question]))
    return ToolOutput.text("answered")


def toolbox() -> list[PlannedTool | ScriptedTool]:
    path = ToolResourceAccess.exclusive(WorkspacePath(PurePath("/w/a")))
    return [
        PlannedTool("quick", quick),
        PlannedTool("slow", slow),
        PlannedTool("writes", slow, accesses=(path,)),
        PlannedTool("fails", fails),
        PlannedTool("asks", asks),
        PlannedTool("job", slow, execution_mode=ToolExecutionMode.ASYNC),
        ScriptedTool("alone"),
    ]


@dataclass
class Chance:
    """One seeded world: what the model says, and how the host behaves."""

    random: random.Random
    calls: int = 0
    steered: list[object] = field(default_factory=list)

    def script(self) -> list[ScriptedTurn]:
        return [self.turn() for _ in range(self.random.randint(1, 8))] + [
            ScriptedTurn.completed("fallback") for _ in range(30)
        ]

    def turn(self) -> ScriptedTurn:
        kind = self.random.random()
        deltas = [OutputDelta("x")] * self.random.randint(0, 20)
        usage = UsageReported(ModelUsage(output_tokens=1))
        if kind < 0.6:
            return self.asking_turn([*deltas, usage])
        if kind < 0.7:
            error = ProviderError(ProviderErrorKind.UNAVAILABLE, "flaky", retryable=True)
            return ScriptedTurn.streaming_failed(deltas, error)
        if kind < 0.75:
            return ScriptedTurn.completed()
        if kind < 0.78:
            return ScriptedTurn.failed(ProviderError(ProviderErrorKind.OTHER, "down"))
        return ScriptedTurn.streaming(deltas, "answer")

    def asking_turn(self, events: list[object]) -> ScriptedTurn:
        calls: list[ToolCall] = []
        for _ in range(self.random.randint(1, 4)):
            self.calls += 1
            # providers number their calls per answer: an id comes back in later answers
            id = f"call_{self.calls % 5}"
            if any(call.id == id for call in calls):
                continue
            name = self.random.choice(TOOLS)
            calls.append(ToolCall.of(id, name, {"n": self.random.randint(0, 6)}))
            if name == "job" and self.random.random() < 0.8:
                events.append(ProviderContext(ASYNC_TOOL_CALL_KIND, id))
        return ScriptedTurn.streaming(events, Text("let me see"), *calls)  # type: ignore[arg-type]


async def host(run: Run, chance: Chance, events: list[ev.RunEvent]) -> None:
    """Read, answer, steer and retract at random."""
    dice = chance.random
    async for event in run:
        events.append(event)
        if isinstance(event, ev.ToolHostInputRequested):
            try:
                run.request_respond(event.request.id, ANSWER)
            except RhoError:
                run.cancel()  # nobody will ever answer
        for _ in range(dice.choice((0, 0, 0, 1, 3))):
            await asyncio.sleep(0)
        if dice.random() < 0.05:
            try:
                chance.steered.append(run.request_steer_retractable("also"))
            except RhoError:
                continue


async def interfere(run: Run, chance: Chance) -> str:
    """Let the run be, cancel it, or drop it, at a random moment."""
    plan = chance.random.choice(("let be", "let be", "cancel", "drop"))
    if plan != "let be":
        for _ in range(chance.random.randint(0, 150)):
            await asyncio.sleep(0)
        if plan == "cancel":
            run.cancel()
        else:
            await run.aclose()
    return plan


async def judge(
    session: Session, plan: str, events: list[ev.RunEvent], error: RhoError | None
) -> None:
    assert_replay_safe(session.history)
    assert not session.is_running
    assert not leaked_tasks()
    assert session.revision <= 1
    if plan != "drop":
        assert session.revision == 1
        assert_calls_paired(events)
        last = names(events)[-1]
        expected = {None: "Completed", Cancelled: "Cancelled"}
        assert last == expected.get(type(error) if error else None, "Failed")
        assert len(of(events, ev.Completed, ev.Cancelled, ev.Failed)) == 1
        started = [e.step for e in of(events, ev.StepStarted)]
        assert started == list(range(1, len(started) + 1))
    session.replace_provider(ScriptedProvider([ScriptedTurn.completed("usable")]))
    assert (await within(session.complete("again"))).text == "usable"


@pytest.mark.clause("C72", "X4", "C41", "D58", "L14")
@pytest.mark.parametrize("block", range(6))
async def test_random_turns_under_random_interference_stay_sound(block: int) -> None:
    for seed in range(block * 40, block * 40 + 40):
        chance = Chance(random.Random(seed))
        session, _ = await open_session(
            chance.script(),
            tools=toolbox(),
            event_capacity=chance.random.choice((1, 2, 64)),
            max_parallel_tools=chance.random.randint(1, 3),
            max_steps=chance.random.randint(1, 8),
            clock=FakeClock(),
        )
        run = session.start("go")
        events: list[ev.RunEvent] = []
        reader = asyncio.create_task(host(run, chance, events))
        try:
            plan = await within(interfere(run, chance))
            error: RhoError | None = None
            try:
                await within(run.outcome())
            except RhoError as raised:
                error = raised
            await within(reader)
            await judge(session, plan, events, error)
        except BaseException as failure:
            failure.add_note(f"seed {seed}")
            raise
        finally:
            await run.aclose()
