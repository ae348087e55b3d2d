"""Cancel, drop, lose the consumer, or raise at every await point of one eventful run.

The run has two model steps, two parallel tools of which one asks the host and one needs an
approval, a gate, a usage recorder and a compaction; every collaborator suspends.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rho_core import events as ev
from rho_core.authority.approvals import (
    AllowOnce,
    ApprovalDecision,
    ApprovalHandler,
    ApprovalRequest,
)
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.errors import Cancelled, Interrupted, ProviderError, RhoError
from rho_core.history.compaction import (
    CompactionOutput,
    CompactionPolicy,
    CompactionRequest,
    Compactor,
)
from rho_core.history.messages import EnrichedAssistant, Text, UserMessage
from rho_core.hooks.gate import ContinueToolUse, GateDecision, PreToolUseGate, PreToolUseRequest
from rho_core.providers.contract import (
    ModelProvider,
    ModelRequest,
    ModelResponse,
    OutputDelta,
    ProviderEvents,
    UsageReported,
)
from rho_core.questions import HostChoice, HostInputRequest, HostInputResponse, HostQuestion
from rho_core.run import Run
from rho_core.runtime import Rho
from rho_core.session import Session, SessionOptions
from rho_core.testing import SCRIPTED_IDENTITY, PlannedTool, ScriptedProvider, ScriptedTurn
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    PreparedToolInvocation,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.values import ToolOutput, ToolProgress
from rho_core.usage import ModelUsage
from rho_core.usage_recording import ProviderRequestUsageRecorder, UsageEvent
from tests.core.fault_injection import Fuse, inside, probing
from tests.core.hook_doubles import READ
from tests.core.run_harness import (
    assert_calls_paired,
    assert_replay_safe,
    call,
    leaked_tasks,
    of,
    results,
    until,
    within,
)

ANSWER = HostInputResponse().answer("q", ["yes"])
OLD = (UserMessage.of_text("before"), EnrichedAssistant((Text("yes"),)))
SUMMARY = UserMessage.of_text("what happened so far")


class Thinking(ModelProvider):
    """Two steps, suspending between events: first both tools, then an answer."""

    def __init__(self) -> None:
        self.steps = 0

    @property
    def identity(self) -> Any:
        return SCRIPTED_IDENTITY

    async def send_turn(self, request: ModelRequest) -> ModelResponse:
        raise NotImplementedError

    async def send_turn_stream(
        self, request: ModelRequest, events: ProviderEvents
    ) -> ModelResponse:
        self.steps += 1
        first = self.steps == 1
        for _ in range(2):
            await events.send(OutputDelta("word "))
            await asyncio.sleep(0)
        await events.send(UsageReported(ModelUsage(output_tokens=1)))
        if first:
            return ModelResponse((Text("word word "), call("a", "asks"), call("b", "reads")))
        return ModelResponse((Text("word word "),))


async def asks(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
    await context.progress.send(ToolProgress("about to ask"))
    question = HostQuestion("q", "?", (HostChoice("yes", "Yes"),))
    request = HostInputRequest.questionnaire(None, [question])
    response = await context.request_host_input(request)
    return ToolOutput.text(response.answers["q"][0])


async def reads(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
    for n in range(2):
        await context.progress.send(ToolProgress(str(n)))
        await asyncio.sleep(0)
    return ToolOutput.text("read")


class SlowTool(PlannedTool):
    """Suspends while it prepares."""

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        await asyncio.sleep(0)
        return await super().prepare(invocation, context)


class Slowly(ApprovalHandler, PreToolUseGate, ProviderRequestUsageRecorder, Compactor):
    """The other collaborators in one: each suspends, then agrees."""

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        await asyncio.sleep(0)
        return AllowOnce()

    async def evaluate(self, request: PreToolUseRequest) -> GateDecision:
        await asyncio.sleep(0)
        return ContinueToolUse()

    async def record(self, event: UsageEvent) -> None:
        await asyncio.sleep(0)

    async def compact(self, request: CompactionRequest) -> CompactionOutput:
        await asyncio.sleep(0)
        return CompactionOutput((SUMMARY,))


async def eventful_session(capacity: int) -> Session:
    slowly = Slowly()
    rho = Rho(
        Thinking(),
        tools=[SlowTool("asks", asks), SlowTool("reads", reads, capabilities=(READ,))],
        max_parallel_tools=2,
        event_capacity=capacity,
        policy=ScopedWorkspacePolicy().allow_read_paths().require_read_approval(),
        approvals=slowly,
        pre_tool_gate=slowly,
        usage_recorder=slowly,
        compactor=slowly,
        compaction_policy=CompactionPolicy.after_messages(6),
    )
    return await rho.session(SessionOptions(history=OLD))


class Struck:
    """One run with one strike, and what became of it."""

    def __init__(self, session: Session, run: Run, fuse: Fuse) -> None:
        self.session = session
        self.run = run
        self.fuse = fuse
        self.events: list[ev.RunEvent] = []
        self.pace = 0  # turns of the loop that the reader takes for each event
        self.error: RhoError | None = None
        self.revision: int | None = None  # of the session when it was struck

    @property
    def where(self) -> str:
        """The kind of task that was hit: its name without what varies."""
        return " ".join((self.fuse.struck or "").split()[:2])

    @property
    def terminal(self) -> list[str]:
        return [type(e).__name__ for e in of(self.events, ev.Completed, ev.Cancelled, ev.Failed)]

    async def read(self) -> None:
        async for event in self.run:
            self.events.append(event)
            for _ in range(self.pace):
                await asyncio.sleep(0)
            if isinstance(event, ev.ToolHostInputRequested):
                try:
                    self.run.request_respond(event.request.id, ANSWER)
                except RhoError:
                    assert self.fuse.struck  # only a run that is ending cannot take it

    async def finish(self) -> None:
        """Read to the end and take the outcome."""
        reading = asyncio.create_task(self.read())
        try:
            await within(self.run.outcome())
        except RhoError as error:
            self.error = error
        await within(reading)

    async def judge(self) -> None:
        """What holds wherever and however it was struck."""
        await until(lambda: not leaked_tasks(), "the end of every task")
        assert not self.session.is_running
        assert_replay_safe(self.session.history)
        assert len(self.terminal) <= 1
        self.session.replace_provider(ScriptedProvider([ScriptedTurn.completed("usable")]))
        self.session.set_compaction(None, None)
        assert (await within(self.session.complete("again"))).text == "usable"


Action = Callable[[Run], object]


@asynccontextmanager
async def struck_at(number: int, action: Action | None, capacity: int) -> AsyncIterator[Struck]:
    session = await eventful_session(capacity)
    fuse = Fuse(number, None)
    with probing(fuse):
        with inside():
            run = session.start("go")
        struck = Struck(session, run, fuse)
        if action is not None:

            def act() -> None:
                struck.revision = session.revision
                action(run)

            fuse.action = act
        struck.pace = 4 if capacity == 1 else 0  # a slow reader: nearly every send has to wait
        try:
            yield struck
            await struck.judge()
        except BaseException as failure:
            failure.add_note(f"await point {number}, in {fuse.struck!r}, capacity {capacity}")
            raise
        finally:
            await run.aclose()


async def everywhere(action: Action | None, capacity: int) -> AsyncIterator[Struck]:
    """The run struck at its first await point, its second, … until one gets away."""
    lost: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, facts: lost.append(facts))
    for number in range(1, 1000):
        async with struck_at(number, action, capacity) as struck:
            yield struck
        if struck.fuse.struck is None:
            assert number > 20, "the scenario has lost its await points"
            break
    else:
        raise AssertionError("the run never ended by itself")
    gc.collect()
    assert lost == []  # no task's exception was dropped unseen


def compactions(struck: Struck) -> int:
    return struck.session.snapshot().compaction.completed_compactions


@pytest.mark.clause("C41", "C44")
async def test_the_eventful_run_is_what_it_claims_to_be() -> None:
    async with struck_at(10_000, None, 64) as struck:
        await struck.finish()
        assert struck.error is None
        assert struck.terminal == ["Completed"]
        assert [e.step for e in of(struck.events, ev.StepStarted)] == [1, 2]
        assert len(of(struck.events, ev.ToolHostInputRequested)) == 1
        assert len(of(struck.events, ev.CompactionCompleted)) == compactions(struck) == 1
        audit = struck.session.diagnostics().approval_audit
        assert [record.decision.value for record in audit] == ["allowed_once"]
        assert (struck.session.revision, len(struck.session.history)) == (2, 2)


@pytest.mark.clause("C62", "C63", "C72", "B6", "X4", "J10")
@pytest.mark.parametrize("capacity", [1, 64])
async def test_cancelling_at_every_await_point(capacity: int) -> None:
    async for struck in everywhere(Run.cancel, capacity):
        await struck.finish()
        assert struck.error is None or isinstance(struck.error, Cancelled)
        assert struck.terminal == ["Completed" if struck.error is None else "Cancelled"]
        assert struck.events[-1] is of(struck.events, ev.Completed, ev.Cancelled)[0]
        assert_calls_paired(struck.events)
        assert struck.session.revision == 1 + compactions(struck)
        assert struck.session.state.value == ("completed" if struck.error is None else "idle")


@pytest.mark.clause("C3", "C41", "C64", "C69", "E28", "J4", "L9", "L14")
@pytest.mark.parametrize("capacity", [1, 64])
async def test_raising_at_every_await_point(capacity: int) -> None:
    places: set[str] = set()
    async for struck in everywhere(None, capacity):
        await struck.finish()
        places.add(struck.where)
        failed = [result for result in results(struck.session.history) if not result.ok]
        recording = "Slowly.record" in struck.fuse.inside
        crashed = struck.where == "rho run" and not recording
        match struck.where:
            case "rho run" if recording:  # a ledger fails nobody
                assert (struck.error, struck.terminal) == (None, ["Completed"])
                assert struck.session.diagnostics().usage_recorder_diagnostics == ("injected",)
            case "rho run":  # a defect of the core itself: no terminal event, nothing invented
                assert isinstance(struck.error, Interrupted)
                assert struck.terminal == []
            case "provider turn":
                assert isinstance(struck.error, ProviderError)
                assert (struck.terminal, struck.error.retryable) == (["Failed"], False)
            case "prepare asks" | "prepare reads" | "tool asks" | "tool reads":
                assert (struck.error, struck.terminal) == (None, ["Completed"])
            case "authorize reads":
                assert (struck.error, struck.terminal) == (None, ["Completed"])
            case _:  # raced against cancellation: a compaction or an authorization
                compacting = "Slowly.compact" in struck.fuse.inside
                assert struck.terminal == (["Failed"] if compacting else ["Completed"])
                assert (struck.error is not None) is compacting
        if not crashed:
            assert_calls_paired(struck.events)
            assert struck.session.revision == 1 + compactions(struck)
        assert len(failed) <= 1
    assert {"rho run", "provider turn", "tool asks", "tool reads", "authorize reads"} <= places


def drop(run: Run) -> None:
    """What `aclose` and letting go of a run do, without the wait for the end."""
    run._events.drop()
    run.cancel()
    run._task.cancel()


@pytest.mark.clause("C5", "C9", "X6", "L3")
async def test_dropping_the_run_at_every_await_point() -> None:
    async for struck in everywhere(drop, 2):
        await struck.finish()
        if struck.fuse.struck is not None:
            assert len(struck.terminal) == 0
            assert isinstance(struck.error, Interrupted) or struck.run.is_finished
            assert struck.session.revision <= 1 + compactions(struck)


def lose_the_consumer(run: Run) -> None:
    run._events.drop()


@pytest.mark.clause("C9", "B10", "X6")
async def test_losing_the_consumer_at_every_await_point_commits_nothing() -> None:
    async for struck in everywhere(lose_the_consumer, 2):
        reading = asyncio.create_task(struck.finish())
        await until(lambda struck=struck, reading=reading: reading.done() or struck.fuse.struck)
        # a tool may wait for an answer that nobody gives any more: then only cancelling helps
        for _ in range(50):
            await asyncio.sleep(0)
        struck.run.cancel()
        await within(reading)
        if struck.error is None:  # it was lost after the commit, or not at all
            assert struck.revision in (None, 2)
            assert struck.session.revision == 1 + compactions(struck) == 2
            continue
        assert isinstance(struck.error, Interrupted)
        assert struck.terminal == []
        assert struck.session.revision == compactions(struck)
        assert struck.session.history == ((SUMMARY,) if compactions(struck) else OLD)
        assert struck.session.state.value == "idle"
