"""The turn loop over scripted models (C.4, K.4, K.5)."""

from __future__ import annotations

from typing import Any

import pytest

from rho_core import events as ev
from rho_core.errors import ErrorKind, Interrupted, ProviderErrorKind, ToolError
from rho_core.events import StopReason
from rho_core.history.messages import (
    EnrichedAssistant,
    Image,
    SystemMessage,
    Text,
    ToolResult,
    UserMessage,
)
from rho_core.inputs import UserInput
from rho_core.providers.contract import (
    AnswerCutOff,
    GenerationOutputTokens,
    HostedToolActivity,
    ImagesWithheld,
    OutputDelta,
    OutputLimit,
    ProviderContext,
    ReasoningDelta,
    ReasoningSummaryDelta,
    RequestAttemptFailed,
    ServiceTierFallback,
    ToolCallDelta,
    UsageReported,
    WebSearchActivity,
)
from rho_core.runtime import Rho
from rho_core.session import SessionOptions
from rho_core.testing import SCRIPTED_IDENTITY, ScriptedProvider, ScriptedTool, ScriptedTurn
from rho_core.usage import ModelUsage
from tests.core.run_harness import (
    assert_calls_paired,
    assert_replay_safe,
    call,
    collect,
    names,
    of,
    open_session,
    results,
    run_all,
    run_failing,
    within,
)


@pytest.mark.clause("C43", "C45", "C51", "C46")
async def test_completion_and_streaming_share_one_history_path() -> None:
    session, provider = await open_session([ScriptedTurn.completed("hello")])
    outcome = await session.complete("hi")
    assert outcome.text == "hello"
    assert outcome.stop_reason is StopReason.END_TURN
    assert session.history == (
        UserMessage.of_text("hi"),
        EnrichedAssistant((Text("hello"),), SCRIPTED_IDENTITY),
    )
    assert session.revision == 1
    assert len(provider.requests) == 1


@pytest.mark.clause("C48", "D28")
async def test_tool_calls_execute_and_feed_results_into_the_next_request() -> None:
    tool = ScriptedTool("look", "found")
    session, provider = await open_session(
        [ScriptedTurn.calls(call("c1", "look", q=1)), ScriptedTurn.completed("done")],
        tools=[tool],
    )
    events, outcome = await run_all(session, "find")
    assert tool.calls == [{"q": 1}]
    second = provider.requests[1].messages
    assert [type(m).__name__ for m in second] == ["UserMessage", "EnrichedAssistant", "ToolResult"]
    assert second[-1] == ToolResult("c1", True, "found")
    assert outcome.text == "done"
    assert_calls_paired(events)
    assert_replay_safe(session.history)


@pytest.mark.clause("C12", "C13", "C32", "C35", "C41")
async def test_streaming_exposes_ordered_events_and_one_terminal_event_at_capacity_one() -> None:
    session, _ = await open_session(
        [ScriptedTurn.streaming([OutputDelta("a"), OutputDelta("b")])], event_capacity=1
    )
    events, outcome = await run_all(session)
    assert names(events) == [
        "Started",
        "StepStarted",
        "AssistantTextDelta",
        "AssistantTextDelta",
        "ModelCallCompleted",
        "Completed",
    ]
    assert of(events, ev.Completed)[0].outcome == outcome
    assert [e.text for e in of(events, ev.AssistantTextDelta)] == ["a", "b"]


@pytest.mark.clause("A3", "A32", "B15")
async def test_system_prompt_supplied_history_and_images_are_explicit() -> None:
    provider = ScriptedProvider([ScriptedTurn.completed("ok")])
    rho = Rho(provider, system_prompt="be brief")
    session = await rho.session(SessionOptions(history=(UserMessage.of_text("before"),)))
    image = Image("QUJD", "image/png")
    async with session.start(UserInput.text_and_images("look", [image])) as run:
        await within(run.outcome())
    assert provider.requests[0].messages == (
        SystemMessage("be brief"),
        UserMessage.of_text("before"),
        UserMessage((Text("look"), image)),
    )


@pytest.mark.clause("C15", "C16", "C17", "C18", "C25", "C27", "C42")
async def test_every_stream_event_has_its_public_form_in_source_order() -> None:
    stream = [
        ReasoningDelta("raw"),
        ReasoningSummaryDelta("sum"),
        ProviderContext("sig", "x"),
        WebSearchActivity("q"),
        HostedToolActivity("python", "ran"),
        ServiceTierFallback("priority", "default"),
        GenerationOutputTokens(5),
        RequestAttemptFailed(ProviderErrorKind.UNAVAILABLE),
        ToolCallDelta(0, "c", "t", "{}"),
        OutputDelta("text"),
        AnswerCutOff(OutputLimit.OUTPUT_TOKENS),
        ImagesWithheld(1, "too big"),
    ]
    session, _ = await open_session([ScriptedTurn.streaming(stream, "text")])
    events, _ = await run_all(session)
    assert names(events)[2:-2] == [
        "ReasoningDelta",
        "ReasoningSummaryDelta",
        "ProviderContextUpdated",
        "WebSearch",
        "HostedToolUsed",
        "ProviderServiceTierFallback",
        "ProviderRequestRetry",
        "ToolCallUpdated",
        "AssistantTextDelta",
        "ProviderAnswerCutOff",
        "ProviderImagesWithheld",
    ]
    message = session.history[-1]
    assert isinstance(message, EnrichedAssistant)
    assert message.content == (Text("text"),)
    assert message.reasoning_summary == "sum"
    assert [block.kind for block in message.provider_context] == ["sig"]
    assert "raw" not in repr(session.snapshot().to_dict())


@pytest.mark.clause("C23", "C89", "C91")
async def test_usage_merges_within_a_step_and_sums_over_steps() -> None:
    first = [
        UsageReported(ModelUsage(input_tokens=7, output_tokens=2)),
        UsageReported(ModelUsage(input_tokens=3, output_tokens=3)),
    ]
    session, _ = await open_session(
        [
            ScriptedTurn.streaming(first, call("c", "t")),
            ScriptedTurn.streaming([UsageReported(ModelUsage(output_tokens=4))], "end"),
        ],
        tools=[ScriptedTool("t")],
    )
    events, outcome = await run_all(session)
    readings = [e.usage.output_tokens for e in of(events, ev.UsageUpdated)]
    assert readings == [2, 5, 9]
    assert outcome.usage == ModelUsage(input_tokens=10, output_tokens=9)
    assert of(events, ev.ModelCallCompleted)[0].metrics.output_tokens == 5


@pytest.mark.clause("C82", "C91")
async def test_usage_of_a_physical_retry_leaves_the_outcome() -> None:
    stream = [
        UsageReported(ModelUsage(output_tokens=100)),
        RequestAttemptFailed(ProviderErrorKind.UNAVAILABLE),
        OutputDelta("x"),
        UsageReported(ModelUsage(output_tokens=1)),
    ]
    session, _ = await open_session([ScriptedTurn.streaming(stream)])
    events, outcome = await run_all(session)
    assert outcome.usage.output_tokens == 1
    assert [e.usage.output_tokens for e in of(events, ev.UsageUpdated)] == [100, 1]


@pytest.mark.clause("D22", "D43", "C22")
async def test_an_unknown_tool_is_unavailable_and_the_turn_goes_on() -> None:
    session, _ = await open_session(
        [ScriptedTurn.calls(call("c", "nope")), ScriptedTurn.completed("sorry")]
    )
    events, outcome = await run_all(session)
    assert outcome.text == "sorry"
    assert not of(events, ev.ToolStarted)
    assert names(events).count("ToolFinished") == 1
    assert results(session.history) == [ToolResult("c", False, "tool 'nope' is unavailable")]


@pytest.mark.clause("D42", "L9")
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError.execution("disk full"), "disk full"),
        (ToolError.invalid_arguments("no path"), "invalid arguments: no path"),
        (KeyError("\x1b[31mred\x00"), "tool raised KeyError: '\\x1b[31mred\\x00'"),
        (ValueError("a\x1b[2Jb\nc"), "tool raised ValueError: a [2Jb c"),
        (Interrupted("peer gone"), "peer gone"),
    ],
)
async def test_a_failing_tool_is_a_result_never_the_end_of_the_run(
    error: Exception, text: str
) -> None:
    session, _ = await open_session(
        [ScriptedTurn.calls(call("c", "t")), ScriptedTurn.completed("ok")],
        tools=[ScriptedTool("t", error)],
    )
    events, outcome = await run_all(session)
    assert outcome.text == "ok"
    assert results(session.history) == [ToolResult("c", False, text)]
    assert_calls_paired(events)


@pytest.mark.clause("L9")
async def test_a_foreign_provider_exception_is_a_permanent_provider_error() -> None:
    session, provider = await open_session([ScriptedTurn.failed(ZeroDivisionError("secret"))])
    events, error = await run_failing(session)
    assert error.kind is ErrorKind.PROVIDER
    assert not error.retryable
    assert "secret" not in str(error)
    assert len(provider.requests) == 1
    assert names(events)[-1] == "Failed"


async def test_a_provider_that_returns_nonsense_fails_the_run() -> None:
    class Nonsense(ScriptedProvider):
        async def send_turn_stream(self, request: Any, events: Any) -> Any:
            return "text"

    session = await Rho(Nonsense()).session()
    _, error = await run_failing(session)
    assert error.kind is ErrorKind.PROVIDER


@pytest.mark.clause("C52")
async def test_sessions_of_one_runtime_run_concurrently() -> None:
    provider = ScriptedProvider([ScriptedTurn.hanging(), ScriptedTurn.completed("second")])
    rho = Rho(provider)
    one, two = await rho.session(), await rho.session()
    async with one.start("a") as first:
        await within(first.next_event())
        assert (await within(two.complete("b"))).text == "second"
        assert one.is_running
        assert not two.is_running


@pytest.mark.clause("C1", "C12")
async def test_a_run_tells_its_id_and_start_revision() -> None:
    session, _ = await open_session([ScriptedTurn.completed("a"), ScriptedTurn.completed("b")])
    await session.complete("x")
    async with session.start("y") as run:
        events = await within(collect(run))
        assert events[0] == ev.Started(run.id, session.revision.__class__(1))
    assert session.revision == 2
