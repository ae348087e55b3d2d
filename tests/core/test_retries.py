"""Retries of provider failures within one budget (C75–C79, K.5)."""

from __future__ import annotations

import asyncio

import pytest

from rho_core import events as ev
from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind
from rho_core.events import InvalidResponseReset, RetryableFailureReset
from rho_core.history.messages import AbortedAssistant, Text, UserMessage
from rho_core.providers.contract import OutputDelta, UsageReported
from rho_core.running.retries import backoff_delay
from rho_core.testing import FakeClock, ScriptedTool, ScriptedTurn
from rho_core.usage import ModelUsage
from tests.core.run_harness import (
    call,
    collect,
    names,
    of,
    open_session,
    read_until,
    run_all,
    run_failing,
    until,
    within,
)


def flaky(
    kind: ProviderErrorKind = ProviderErrorKind.UNAVAILABLE, retry_after: float | None = None
) -> ProviderError:
    return ProviderError(kind, "try again", retryable=True, retry_after=retry_after)


@pytest.mark.clause("C76")
def test_the_backoff_doubles_and_honours_retry_after_up_to_a_minute() -> None:
    assert [backoff_delay(n, None) for n in (1, 2, 3)] == [1.0, 2.0, 4.0]
    assert backoff_delay(1, 3.0) == 3.0
    assert backoff_delay(3, 3.0) == 4.0
    assert backoff_delay(1, 3600.0) == 60.0
    assert backoff_delay(1, 0.0) == 1.0


@pytest.mark.clause("C75", "C76", "C77")
async def test_retryable_provider_failures_are_retried() -> None:
    clock = FakeClock()
    session, provider = await open_session(
        [ScriptedTurn.failed(flaky()), ScriptedTurn.failed(flaky()), ScriptedTurn.completed("ok")],
        clock=clock,
    )
    events, outcome = await run_all(session)
    assert outcome.text == "ok"
    assert len(provider.requests) == 3
    resets = of(events, ev.ProviderStreamReset)
    assert [r.reason for r in resets] == [RetryableFailureReset(ProviderErrorKind.UNAVAILABLE)] * 2
    assert "after provider attempt 1 of 4" in resets[0].detail
    assert "try again" in resets[0].detail
    assert clock.slept == [1.0, 2.0] == [r.delay for r in resets]


@pytest.mark.clause("C31", "C78", "C91", "C23")
async def test_a_retry_after_a_partial_stream_resets_output_and_repeats_the_request() -> None:
    session, provider = await open_session(
        [
            ScriptedTurn.streaming_failed(
                [OutputDelta("lost"), UsageReported(ModelUsage(output_tokens=3))], flaky()
            ),
            ScriptedTurn.streaming(
                [OutputDelta("kept"), UsageReported(ModelUsage(output_tokens=5))]
            ),
        ],
        clock=FakeClock(),
    )
    events, outcome = await run_all(session)
    shown = ""
    for event in events:
        if isinstance(event, ev.ProviderStreamReset):
            shown = ""
        elif isinstance(event, ev.AssistantTextDelta):
            shown += event.text
    assert shown == "kept" == outcome.text
    first, second = provider.requests
    assert (first.messages, first.tools) == (second.messages, second.tools)
    assert outcome.usage.output_tokens == 5
    assert [e.usage.output_tokens for e in of(events, ev.UsageUpdated)] == [3, 5]
    assert not [m for m in session.history if isinstance(m, AbortedAssistant)]


@pytest.mark.clause("C79", "C75")
async def test_retryable_failures_exhaust_after_four_attempts_and_stay_retryable() -> None:
    session, provider = await open_session(
        [ScriptedTurn.failed(flaky()) for _ in range(6)], clock=FakeClock()
    )
    events, error = await run_failing(session)
    assert len(provider.requests) == 4
    assert len(of(events, ev.ProviderStreamReset)) == 3
    assert isinstance(error, ProviderError)
    assert error.retryable
    assert of(events, ev.Failed)[0].retryable


@pytest.mark.clause("C79")
async def test_permanent_failures_are_not_retried() -> None:
    error = ProviderError(ProviderErrorKind.AUTHENTICATION, "bad key")
    session, provider = await open_session([ScriptedTurn.failed(error)])
    events, raised = await run_failing(session)
    assert len(provider.requests) == 1
    assert raised is error
    assert names(events)[-1] == "Failed"


@pytest.mark.clause("C75")
async def test_malformed_responses_and_failures_share_the_budget() -> None:
    clock = FakeClock()
    session, provider = await open_session(
        [ScriptedTurn.completed()] + [ScriptedTurn.failed(flaky()) for _ in range(5)], clock=clock
    )
    events, error = await run_failing(session)
    assert len(provider.requests) == 4
    assert isinstance(error, ProviderError)
    assert error.provider_kind is ProviderErrorKind.UNAVAILABLE
    reasons = [r.reason for r in of(events, ev.ProviderStreamReset)]
    assert reasons[0] == InvalidResponseReset()
    assert clock.slept == [1.0, 2.0]  # a malformed answer does not count for the backoff


@pytest.mark.clause("C75")
async def test_the_budget_is_fresh_for_each_step_and_tools_are_not_rerun() -> None:
    tool = ScriptedTool("t")
    failures = [ScriptedTurn.failed(flaky()) for _ in range(3)]
    session, provider = await open_session(
        [*failures, ScriptedTurn.calls(call("c", "t")), *failures, ScriptedTurn.completed("ok")],
        tools=[tool],
        clock=FakeClock(),
    )
    _, outcome = await run_all(session)
    assert outcome.text == "ok"
    assert len(provider.requests) == 8
    assert len(tool.calls) == 1


@pytest.mark.clause("C40", "C76")
async def test_a_rate_limits_wait_is_carried_on_the_reset() -> None:
    clock = FakeClock()
    error = flaky(ProviderErrorKind.RATE_LIMIT, 3.0)
    session, _ = await open_session(
        [ScriptedTurn.failed(error), ScriptedTurn.completed("ok")], clock=clock
    )
    events, _ = await run_all(session)
    reset = of(events, ev.ProviderStreamReset)[0]
    assert reset.reason == RetryableFailureReset(ProviderErrorKind.RATE_LIMIT, 3.0)
    assert clock.slept == [3.0]


@pytest.mark.clause("C40")
async def test_a_zero_wait_is_no_wait() -> None:
    session, _ = await open_session(
        [ScriptedTurn.failed(flaky(retry_after=0.0)), ScriptedTurn.completed("ok")],
        clock=FakeClock(),
    )
    events, _ = await run_all(session)
    reason = of(events, ev.ProviderStreamReset)[0].reason
    assert reason == RetryableFailureReset(ProviderErrorKind.UNAVAILABLE, None)


@pytest.mark.clause("C62", "C67")
async def test_cancellation_during_backoff_stops_the_run_and_drops_the_partial_stream() -> None:
    clock = FakeClock(auto=False)
    session, provider = await open_session(
        [ScriptedTurn.streaming_failed([OutputDelta("part")], flaky())], clock=clock
    )
    async with session.start("go") as run:
        await read_until(run, ev.ProviderStreamReset)
        await until(lambda: clock.sleeping)
        run.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())
        assert isinstance((await collect(run))[-1], ev.Cancelled)
    assert len(provider.requests) == 1
    assert session.history == (UserMessage.of_text("go"),)


@pytest.mark.clause("C77")
async def test_cancellation_while_the_reset_is_blocked_is_noticed_at_the_wait() -> None:
    clock = FakeClock(auto=False)
    session, provider = await open_session(
        [ScriptedTurn.failed(flaky())], clock=clock, event_capacity=1
    )
    async with session.start("go") as run:
        await within(run.next_event())
        await until(lambda: provider.requests)
        for _ in range(20):
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(Cancelled):
            await within(run.outcome())
    assert session.history == (UserMessage.of_text("go"),)


@pytest.mark.clause("C66", "C34", "C99")
async def test_a_final_stream_failure_keeps_the_partial_answer_and_tells_its_diagnostic() -> None:
    error = ProviderError(ProviderErrorKind.OTHER, "broke", diagnostic="raw body")
    session, _ = await open_session([ScriptedTurn.streaming_failed([OutputDelta("part")], error)])
    events, _ = await run_failing(session)
    assert names(events)[-2:] == ["ProviderDiagnostic", "Failed"]
    assert of(events, ev.ProviderDiagnostic)[0].detail == "raw body"
    assert "raw body" not in repr(events)
    _user, aborted = session.history
    assert isinstance(aborted, AbortedAssistant)
    assert aborted.content == (Text("part"),)
    assert session.revision == 1
