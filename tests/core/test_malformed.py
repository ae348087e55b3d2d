"""Answers that cannot be used (C80, C81)."""

from __future__ import annotations

import pytest

from rho_core import events as ev
from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.events import InvalidResponseReset
from rho_core.history.codec import decode_message, encode_message
from rho_core.history.messages import (
    ContentBlock,
    EnrichedAssistant,
    Text,
    ToolCall,
    UserMessage,
)
from rho_core.json_values import freeze
from rho_core.providers.contract import ModelResponse, ToolCallDelta
from rho_core.running.response import find_malformation
from rho_core.session import SessionState
from rho_core.testing import ScriptedTool, ScriptedTurn
from tests.core.run_harness import call, names, of, open_session, results, run_all, run_failing


def bad(arguments: object) -> ToolCall:
    return ToolCall("x", "t", arguments)  # type: ignore[arg-type]


@pytest.mark.clause("C80")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ((), ["provider returned an empty assistant response"]),
        ((call("", "t"),), ["malformed assistant response: ", "block 0", "empty id"]),
        ((Text("a"), call("1", "")), ["block 1", "empty name"]),
        ((call("1", "t"), call("1", "t")), ["'1'", "repeated"]),
        ((bad([1]),), ["block 0", "not an object"]),
        ((bad("{}"),), ["not an object"]),
        ((call("", ""), call("2", "")), ["block 0", "; ", "block 1"]),
    ],
)
def test_malformations_name_what_is_wrong(
    content: tuple[ContentBlock, ...], words: list[str]
) -> None:
    problem = find_malformation(ModelResponse(content))
    assert problem is not None
    for word in words:
        assert word in problem


def test_a_well_formed_response_has_no_problem() -> None:
    assert find_malformation(ModelResponse((Text(""), call("1", "t"), call("2", "t")))) is None


@pytest.mark.clause("C75", "C77")
async def test_a_malformed_response_is_retried_before_failing() -> None:
    session, provider = await open_session(
        [ScriptedTurn.completed(), ScriptedTurn.completed("better")]
    )
    events, outcome = await run_all(session)
    assert outcome.text == "better"
    assert len(provider.requests) == 2
    assert [r.reason for r in of(events, ev.ProviderStreamReset)] == [InvalidResponseReset()]
    order = names(events)
    assert order.index("ModelCallCompleted") < order.index("ProviderStreamReset")


@pytest.mark.clause("C80")
async def test_duplicate_call_ids_are_rejected_before_any_tool_starts() -> None:
    tool = ScriptedTool("t")
    twice = ScriptedTurn.calls(call("same", "t"), call("same", "t"))
    session, _ = await open_session([twice, twice], tools=[tool])
    events, error = await run_failing(session)
    assert isinstance(error, ProviderError)
    assert error.provider_kind is ProviderErrorKind.INVALID_RESPONSE
    assert not error.retryable
    assert "same" in error.message
    assert tool.calls == []
    assert not of(events, ev.ToolProposed, ev.ToolStarted)


@pytest.mark.clause("C81", "C67")
async def test_malformed_streams_retry_once_then_fail_without_history_growth() -> None:
    fragments = [ToolCallDelta(0, "c", "t", "x") for _ in range(512)]
    session, provider = await open_session(
        [ScriptedTurn.streaming(fragments, call("", "t")) for _ in range(3)]
    )
    events, _ = await run_failing(session)
    assert len(provider.requests) == 2
    assert len(of(events, ev.ToolCallUpdated)) == 1024
    assert names(events).count("ProviderStreamReset") == 1
    assert names(events).count("Failed") == 1
    assert session.history == (UserMessage.of_text("go"),)
    assert session.state is SessionState.FAILED


@pytest.mark.clause("L7", "D42", "case:H12")
async def test_a_call_with_an_argument_error_fails_unrun_beside_those_that_run() -> None:
    tool = ScriptedTool("t")
    broken = ToolCall("1", "t", freeze({"a": "\ufffd"}), argument_error="'a' is no text")
    unknown = ToolCall("3", "nobody", freeze({}), argument_error="'a' is no text")
    turn = ScriptedTurn.calls(broken, call("2", "t", n=1), unknown)
    session, provider = await open_session([turn, ScriptedTurn.completed("end")], tools=[tool])
    events, outcome = await run_all(session)
    assert outcome.text == "end"
    assert tool.calls == [{"n": 1}]
    first, second, third = results(provider.requests[1].messages)
    assert (first.ok, first.content) == (False, "invalid arguments: 'a' is no text")
    assert second.ok
    assert (third.ok, third.content) == (False, "tool 'nobody' is unavailable")
    assert not of(events, ev.ProviderStreamReset)
    assert {event.call_id for event in of(events, ev.ToolFinished)} == {"1", "2", "3"}


def test_an_argument_error_is_no_part_of_a_calls_identity_nor_stored() -> None:
    broken = ToolCall("1", "t", freeze({}), argument_error="x")
    assert broken == ToolCall("1", "t", freeze({}))
    message = EnrichedAssistant(content=(broken,))
    [again] = decode_message(encode_message(message)).content
    assert isinstance(again, ToolCall)
    assert again.argument_error is None
