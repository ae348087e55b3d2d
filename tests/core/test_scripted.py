"""The doubles that hosts test with (C.10, K.3 provider_tests)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core import events as ev
from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import (
    Cancelled,
    InvalidHostResponse,
    ProviderError,
    ProviderErrorKind,
)
from rho_core.history.compaction import CompactionRequest
from rho_core.history.messages import Text, UserMessage
from rho_core.ids import RunId, SessionId
from rho_core.providers.contract import (
    ModelEvent,
    ModelProvider,
    ModelRequest,
    ModelResponse,
    ObservedEvent,
    OutputDelta,
    ProviderContext,
    ProviderEvents,
    UsageReported,
)
from rho_core.testing import (
    SCRIPTED_IDENTITY,
    FakeClock,
    ScriptedCompactor,
    ScriptedProvider,
    ScriptedTool,
    ScriptedTurn,
)
from rho_core.usage import ModelUsage
from tests.core.run_harness import call, open_session, read_until, results, until, within

REQUEST = ModelRequest((UserMessage.of_text("hi"),))


async def play(
    provider: ModelProvider, request: ModelRequest = REQUEST, capacity: int = 1
) -> tuple[list[ObservedEvent], ModelResponse]:
    channel: Channel[ObservedEvent] = Channel(capacity)
    task = asyncio.create_task(provider.send_turn_stream(request, ProviderEvents(channel)))
    seen: list[ObservedEvent] = []
    while not task.done() or len(channel):
        observed = channel.try_receive()
        if observed is None:
            await asyncio.sleep(0)
        else:
            seen.append(observed)
    return seen, task.result()


@pytest.mark.clause("C103")
async def test_a_scripted_completion_records_its_request() -> None:
    provider = ScriptedProvider([ScriptedTurn.completed("hello")])
    response = await provider.send_turn(REQUEST)
    assert response.content == (Text("hello"),)
    assert provider.requests == [REQUEST]
    assert provider.identity == SCRIPTED_IDENTITY
    assert provider.remaining == 0


@pytest.mark.clause("C74", "C83")
async def test_streaming_preserves_order_at_capacity_one() -> None:
    events: list[ModelEvent] = [
        OutputDelta("a"),
        ProviderContext("sig", {"n": 1}, 0),
        UsageReported(ModelUsage(output_tokens=1)),
        OutputDelta("b"),
    ]
    seen, response = await play(ScriptedProvider([ScriptedTurn.streaming(events)]))
    assert [observed.event for observed in seen] == events
    assert all(observed.observed_at is not None for observed in seen)
    assert response.content == (Text("ab"),)


@pytest.mark.clause("C73", "C93")
async def test_output_of_a_provider_that_does_not_stream_is_synthesised_without_a_time() -> None:
    class Plain(ModelProvider):
        @property
        def identity(self):  # type: ignore[no-untyped-def]
            return SCRIPTED_IDENTITY

        async def send_turn(self, request: ModelRequest) -> ModelResponse:
            return ModelResponse((Text("one"), Text("two")))

    seen, _ = await play(Plain())
    assert seen == [
        ObservedEvent(OutputDelta("one"), None),
        ObservedEvent(OutputDelta("two"), None),
    ]


@pytest.mark.clause("C103")
async def test_a_cancelled_request_uses_up_no_turn() -> None:
    provider = ScriptedProvider([ScriptedTurn.completed("x")])
    token = CancellationToken()
    token.cancel()
    with pytest.raises(ProviderError) as failure:
        await provider.send_turn(ModelRequest((), cancellation=token))
    assert failure.value.provider_kind is ProviderErrorKind.INTERRUPTED
    assert (provider.requests, provider.remaining) == ([], 1)


@pytest.mark.clause("C103")
async def test_an_exhausted_script_is_a_permanent_invalid_response() -> None:
    with pytest.raises(ProviderError, match="no remaining turn") as failure:
        await ScriptedProvider().send_turn(REQUEST)
    assert failure.value.provider_kind is ProviderErrorKind.INVALID_RESPONSE
    assert not failure.value.retryable


@pytest.mark.clause("C74")
async def test_a_dropped_consumer_interrupts_streaming() -> None:
    channel: Channel[ObservedEvent] = Channel(1)
    provider = ScriptedProvider([ScriptedTurn.streaming([OutputDelta("a"), OutputDelta("b")])])
    task = asyncio.create_task(provider.send_turn_stream(REQUEST, ProviderEvents(channel)))
    await until(lambda: len(channel))
    channel.drop_receiver()
    with pytest.raises(ProviderError) as failure:
        await within(task)
    assert failure.value.provider_kind is ProviderErrorKind.INTERRUPTED


@pytest.mark.clause("C104")
async def test_a_scripted_compactor_plays_its_outputs() -> None:
    request = CompactionRequest((), CancellationToken(), SessionId(), RunId())
    compactor = ScriptedCompactor([(UserMessage.of_text("s"),)])
    assert (await compactor.compact(request)).messages == (UserMessage.of_text("s"),)
    with pytest.raises(InvalidHostResponse, match="no remaining output"):
        await compactor.compact(request)
    with pytest.raises(InvalidHostResponse, match="broken"):
        await ScriptedCompactor.failing("broken").compact(request)
    request.cancellation.cancel()
    with pytest.raises(Cancelled):
        await ScriptedCompactor([(UserMessage.of_text("s"),)]).compact(request)


@pytest.mark.clause("C104")
async def test_a_scripted_tool_can_wait_for_cooperative_cancellation() -> None:
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"))], tools=[ScriptedTool("t", None)]
    )
    async with session.start("go") as run:
        await read_until(run, ev.ToolStarted)
        run.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())
    assert results(session.history)[0].content == "tool call interrupted before completion"


@pytest.mark.clause("L11")
async def test_the_fake_clock_ends_sleeps_in_order_and_only_when_due() -> None:
    clock = FakeClock(auto=False)
    ended: list[float] = []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        ended.append(seconds)

    tasks = [asyncio.create_task(sleep(seconds)) for seconds in (3.0, 1.0, 2.0)]
    await until(lambda: clock.sleeping == 3)
    clock.advance(2.0)
    await until(lambda: len(ended) == 2)
    assert ended == [1.0, 2.0]
    assert clock.sleeping == 1
    clock.advance(1.0)
    await asyncio.gather(*tasks)
    assert clock.monotonic() == 3.0
    assert clock.slept == [3.0, 1.0, 2.0]


@pytest.mark.clause("L11")
async def test_an_automatic_fake_clock_lets_sleeps_pass_at_once() -> None:
    clock = FakeClock()
    await clock.sleep(60.0)
    assert (clock.monotonic(), clock.slept) == (60.0, [60.0])
