"""From a provider's event to the run's: times, tokens and what is no retry (K.3, K.4)."""

from __future__ import annotations

import pytest

from rho_core import events as ev
from rho_core.channels import Channel
from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.history.messages import Text
from rho_core.providers.contract import (
    GenerationOutputTokens,
    ObservedEvent,
    OutputDelta,
    ProviderEvents,
    ServiceTierFallback,
    ToolCallDelta,
    UsageReported,
)
from rho_core.testing import ScriptedTool, ScriptedTurn
from rho_core.usage import ModelUsage
from tests.core.run_harness import call, names, of, open_session, run_all


@pytest.mark.clause("C74", "C83", "C93")
async def test_an_observed_event_keeps_its_time_and_a_synthesised_one_has_none() -> None:
    channel: Channel[ObservedEvent] = Channel(4)
    events = ProviderEvents(channel)
    await events.send(OutputDelta("seen"))
    await events.send_synthesized(OutputDelta("made up"))
    await events.send(GenerationOutputTokens(30))
    seen, made_up, tokens = [await channel.receive() for _ in range(3)]
    assert seen.observed_at is not None
    assert made_up == ObservedEvent(OutputDelta("made up"), None)
    assert tokens.event == GenerationOutputTokens(30)
    assert tokens.observed_at is not None
    assert tokens.observed_at >= seen.observed_at


@pytest.mark.clause("C74")
async def test_sending_without_a_listener_is_an_interrupted_provider_error() -> None:
    channel: Channel[ObservedEvent] = Channel(1)
    channel.drop_receiver()
    with pytest.raises(ProviderError) as failure:
        await ProviderEvents(channel).send(OutputDelta("x"))
    assert failure.value.provider_kind is ProviderErrorKind.INTERRUPTED


@pytest.mark.clause("C32", "C83", "C93")
async def test_tokens_of_the_generation_alone_show_in_the_metrics_and_not_in_the_usage() -> None:
    turn = ScriptedTurn.streaming(
        [
            OutputDelta("answer"),
            UsageReported(ModelUsage(output_tokens=100)),
            GenerationOutputTokens(30),
        ]
    )
    session, _ = await open_session([turn])
    events, outcome = await run_all(session)
    metrics = of(events, ev.ModelCallCompleted)[0].metrics
    assert (metrics.output_tokens, metrics.generation_output_tokens) == (100, 30)
    assert outcome.usage.output_tokens == 100
    assert "GenerationOutputTokens" not in names(events)
    assert session.history[-1].provider_context == ()  # type: ignore[union-attr]


@pytest.mark.clause("C93", "C73")
async def test_a_whole_answer_claims_no_generation_time() -> None:
    session, _ = await open_session([ScriptedTurn.completed(Text("all at once"))])
    events, _ = await run_all(session)
    assert [e.text for e in of(events, ev.AssistantTextDelta)] == ["all at once"]
    metrics = of(events, ev.ModelCallCompleted)[0].metrics
    assert (metrics.time_to_first_token, metrics.generation_time) == (None, None)
    assert metrics.generation_rate is None


@pytest.mark.clause("C27", "A14")
async def test_another_service_tier_is_told_and_is_no_retry() -> None:
    turn = ScriptedTurn.streaming([ServiceTierFallback("priority", "default"), OutputDelta("hi")])
    session, provider = await open_session([turn])
    events, _ = await run_all(session)
    assert of(events, ev.ProviderServiceTierFallback) == [
        ev.ProviderServiceTierFallback("priority", "default")
    ]
    assert not of(events, ev.ProviderRequestRetry, ev.ProviderStreamReset)
    assert len(provider.requests) == 1


@pytest.mark.clause("C93", "C18")
async def test_a_tool_call_fragment_counts_as_generated_output() -> None:
    deltas = [ToolCallDelta(0, "a", "t", '{"x":'), ToolCallDelta(0, arguments="1}")]
    session, _ = await open_session(
        [ScriptedTurn.streaming(deltas, call("a", "t", x=1)), ScriptedTurn.completed("end")],
        tools=[ScriptedTool("t")],
    )
    events, _ = await run_all(session)
    metrics = of(events, ev.ModelCallCompleted)[0].metrics
    assert metrics.time_to_first_token is not None
    assert metrics.generation_time is not None
    assert metrics.generation_time >= 0
