"""Cancelling a run at every place, and what is kept (C.6, K.5, K.7)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core import events as ev
from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind
from rho_core.history.compaction import CompactionOutput, CompactionPolicy, CompactionRequest
from rho_core.history.messages import (
    AbortedAssistant,
    Text,
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
from rho_core.session import SessionState
from rho_core.testing import (
    ScriptedCompactor,
    ScriptedProvider,
    ScriptedTurn,
)
from rho_core.usage import ModelUsage
from tests.core.run_harness import (
    collect,
    leaked_tasks,
    names,
    of,
    open_session,
    read_until,
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
