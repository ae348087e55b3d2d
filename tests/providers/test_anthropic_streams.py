"""Streams of the Messages adapter, from bytes that the vendor's own types produce."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.errors import ProviderErrorKind
from rho_core.history.messages import Text, ToolCall
from rho_core.json_values import FrozenObject
from rho_core.providers.anthropic_stream import AnthropicStream
from rho_core.providers.contract import (
    AnswerCutOff,
    ModelRequest,
    OutputLimit,
    ProviderContext,
    ServiceTier,
    ServiceTierFallback,
    ToolCallDelta,
)
from rho_core.providers.http_errors import Redactor
from rho_core.providers.sse import SSEParser
from rho_core.providers.turn_output import DiscardEvents
from tests.providers.harness import KEY, Outcome, anthropic, request_of, run_turn, spec
from tests.providers.sdk_wire import (
    block,
    message_end,
    message_start,
    messages_event,
    text_block,
    thinking_block,
    tool_block,
)
from tests.servers import AnthropicServer, Call, Turn, Usage

PING = b'event: ping\ndata: {"type": "ping"}\n\n'


async def stream(raw: bytes, request: ModelRequest | None = None, **options: Any) -> Outcome:
    turn = options.pop("turn", Turn(raw=raw))
    async with AnthropicServer(turn) as server, anthropic(server, **options) as provider:
        return await run_turn(provider, request or request_of())


@pytest.mark.clause("case:H16")
async def test_thinking_text_calls_and_usage_arrive_in_order() -> None:
    raw = b"".join(
        [
            message_start(cache_read_input_tokens=50, cache_creation_input_tokens=5),
            PING,
            thinking_block(0, "sig1", "Let me", " see"),
            text_block(1, "I ", "read. 你好😀"),
            tool_block(2, "toolu_1", "read_file", '{"pa', 'th":"x"}'),
            thinking_block(3, "sig2"),
            tool_block(4, "toolu_2", "bash", '{"command":"ls"}'),
            block(5, {"type": "redacted_thinking", "data": "zzz"}),
            message_end("tool_use", 42),
        ]
    )
    outcome = await stream(raw, context_window=200_000)
    assert outcome.error is None
    assert outcome.response is not None
    assert outcome.response.content == (
        Text("I read. 你好😀"),
        ToolCall.of("toolu_1", "read_file", {"path": "x"}),
        ToolCall.of("toolu_2", "bash", {"command": "ls"}),
    )
    assert outcome.reasoning == "Let me see"
    assert [(c.position, c.data) for c in outcome.of(ProviderContext)] == [
        (0, {"type": "thinking", "thinking": "Let me see", "signature": "sig1"}),
        (2, {"type": "thinking", "thinking": "", "signature": "sig2"}),
        (3, {"type": "redacted_thinking", "data": "zzz"}),
    ]
    assert outcome.of(ToolCallDelta)[0] == ToolCallDelta(0, "toolu_1", "read_file")
    [usage] = outcome.usages
    assert (usage.input_tokens, usage.output_tokens) == (10, 42)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (50, 5)
    assert (usage.total_tokens, usage.context_window) == (107, 200_000)


RICH = b"".join(
    [
        message_start(),
        thinking_block(0, "sig", "hm"),
        text_block(1, "a\u2028b\u0085 é😀"),
        tool_block(2, "toolu_1", "t", '{"k":', '"ü"}'),
        message_end("tool_use"),
    ]
)


async def _content(chunks: list[bytes]) -> Any:
    parser = SSEParser()
    reader = AnthropicStream(request_of(), DiscardEvents(), "host", Redactor())
    for chunk in chunks:
        for event in parser.feed(chunk):
            await reader.feed(event)
    return await reader.finish()


@pytest.mark.clause("case:H1", "case:H2", "case:H4")
async def test_a_cut_at_any_byte_changes_nothing() -> None:
    whole = await _content([RICH])
    assert whole == (Text("a\u2028b\u0085 é😀"), ToolCall.of("toolu_1", "t", {"k": "ü"}))
    for cut in range(len(RICH)):
        assert await _content([RICH[:cut], RICH[cut:]]) == whole


@settings(max_examples=60)
@given(st.lists(st.integers(0, len(RICH)), max_size=10))
async def test_any_number_of_cuts_changes_nothing(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(RICH)]
    chunks = [RICH[a:b] for a, b in itertools.pairwise(edges)]
    assert await _content(chunks) == await _content([RICH])


@pytest.mark.clause("case:H5")
async def test_a_call_without_input_gets_an_empty_object() -> None:
    raw = message_start() + tool_block(0, "a", "list") + message_end("tool_use")
    outcome = await stream(raw, request_of(tools=(spec("list"),)))
    assert outcome.response is not None
    assert outcome.response.content == (ToolCall.of("a", "list", {}),)


@pytest.mark.clause("C80", "case:H11")
async def test_malformed_input_is_handed_on_as_no_object() -> None:
    raw = message_start() + tool_block(0, "a", "bash", '{"command":"ech') + message_end("tool_use")
    outcome = await stream(raw)
    assert outcome.response is not None
    [call] = outcome.response.content
    assert isinstance(call, ToolCall)
    assert not isinstance(call.arguments, FrozenObject)


async def test_input_given_whole_at_the_start_is_taken() -> None:
    start = {"type": "tool_use", "id": "a", "name": "t", "input": {"path": "x"}}
    outcome = await stream(message_start() + block(0, start) + message_end("tool_use"))
    assert outcome.response is not None
    assert outcome.response.content == (ToolCall.of("a", "t", {"path": "x"}),)
    assert "".join(d.arguments for d in outcome.of(ToolCallDelta)) == '{"path":"x"}'


async def test_unsigned_thinking_is_shown_and_not_kept() -> None:
    raw = (
        message_start() + thinking_block(0, "", "hm") + text_block(1, "x") + message_end("end_turn")
    )
    outcome = await stream(raw)
    assert outcome.reasoning == "hm"
    assert outcome.of(ProviderContext) == []


@pytest.mark.clause("case:H3")
async def test_noise_between_the_events_is_ignored() -> None:
    noise = (
        b'data: null\n\n: hi\n\ndata: {}\n\ndata: []\n\nevent: later\ndata: {"type":"later"}\n\n'
    )
    noise += PING + b'data: {"type":"content_block_delta","index":99,"delta":{"type":"new"}}\n\n'
    noise += b'data: {"type":"content_block_delta","delta":null}\n\n'
    raw = noise + message_start() + noise + text_block(0, "ok") + noise + message_end("end_turn")
    outcome = await stream(raw)
    assert outcome.response is not None, outcome.error
    assert outcome.response.content == (Text("ok"),)


@pytest.mark.clause("case:H9")
@pytest.mark.parametrize(
    "raw",
    [
        message_start() + text_block(0, "half"),
        message_start() + tool_block(0, "a", "t", '{"path":"a'),
        message_start(),
        b"",
    ],
)
async def test_an_end_without_end_mark_is_an_interruption(raw: bytes) -> None:
    outcome = await stream(raw)
    assert outcome.error is not None
    assert outcome.error.provider_kind is ProviderErrorKind.INTERRUPTED
    assert outcome.error.retryable
    assert len(outcome.usages) == (1 if raw else 0)


@pytest.mark.clause("case:H15")
@pytest.mark.parametrize(
    ("kind", "expected", "retryable"),
    [
        ("overloaded_error", ProviderErrorKind.UNAVAILABLE, True),
        ("api_error", ProviderErrorKind.UNAVAILABLE, True),
        ("rate_limit_error", ProviderErrorKind.RATE_LIMIT, True),
        ("authentication_error", ProviderErrorKind.AUTHENTICATION, False),
        ("invalid_request_error", ProviderErrorKind.OTHER, False),
    ],
)
async def test_an_error_event_in_the_middle_is_classified(
    kind: str, expected: ProviderErrorKind, retryable: bool
) -> None:
    error = {"type": "error", "error": {"type": kind, "message": f"why: {KEY}"}}
    raw = message_start() + text_block(0, "half")
    raw += f"event: error\ndata: {json.dumps(error)}\n\n".encode()
    outcome = await stream(raw)
    assert outcome.text == "half"
    assert outcome.error is not None
    assert (outcome.error.provider_kind, outcome.error.retryable) == (expected, retryable)
    assert "why: [redacted]" in outcome.error.message
    assert KEY not in (outcome.error.diagnostic or "")


@pytest.mark.parametrize(
    ("reason", "limit"),
    [
        ("end_turn", None),
        ("stop_sequence", None),
        ("pause_turn", None),
        ("max_tokens", OutputLimit.OUTPUT_TOKENS),
        ("model_context_window_exceeded", OutputLimit.CONTEXT_WINDOW),
    ],
)
async def test_stop_reasons_that_keep_the_text(reason: str, limit: OutputLimit | None) -> None:
    outcome = await stream(message_start() + text_block(0, "so far") + message_end(reason))
    assert outcome.response is not None
    assert outcome.response.content == (Text("so far"),)
    assert outcome.of(AnswerCutOff) == ([] if limit is None else [AnswerCutOff(limit)])


async def test_a_refusal_and_a_limit_without_an_answer_are_errors() -> None:
    refused = await stream(message_start() + text_block(0, "no") + message_end("refusal"))
    assert refused.error is not None
    assert "declined" in refused.error.message
    only_thinking = message_start() + thinking_block(0, "s", "hm") + message_end("max_tokens")
    limit = await stream(only_thinking)
    assert limit.error is not None
    assert "before any answer" in limit.error.message
    assert not limit.of(AnswerCutOff)
    open_call = message_start() + messages_event(
        "content_block_start",
        index=0,
        content_block={"type": "tool_use", "id": "a", "name": "write", "input": {}},
    )
    cut = await stream(open_call + message_end("max_tokens"))
    assert cut.error is not None
    assert "in the middle of a call of write" in cut.error.message
    assert not cut.error.retryable


async def test_a_server_that_ignores_stream_is_understood() -> None:
    body = {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "text", "text": "whole"},
            {"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    turn = Turn(raw=json.dumps(body, indent=2).encode(), content_type="application/json")
    outcome = await stream(b"", turn=turn)
    assert outcome.response is not None, outcome.error
    assert outcome.response.content == (Text("whole"), ToolCall.of("a", "t", {"x": 1}))
    assert outcome.usages[0].output_tokens == 2


async def test_the_tier_that_was_used_is_told_when_it_is_not_the_one_asked_for() -> None:
    start = message_start().replace(
        b'"input_tokens":10', b'"service_tier":"standard","input_tokens":10'
    )
    raw = start + text_block(0, "x") + message_end("end_turn")
    outcome = await stream(raw, request_of(service_tier=ServiceTier.PRIORITY))
    assert outcome.of(ServiceTierFallback) == [ServiceTierFallback("priority", "standard")]


async def test_the_scripted_server_speaks_what_the_sdk_reads() -> None:
    from anthropic import AsyncAnthropic

    turn = Turn(
        text="hello",
        reasoning="hm",
        calls=(Call("bash", {"command": "ls"}),),
        usage=Usage(100, 20, 30),
    )
    async with AnthropicServer(turn) as server:
        client = AsyncAnthropic(base_url=server.base_url, api_key="test")
        async with client.messages.stream(
            model="claude-sonnet-5",
            max_tokens=100,
            messages=[{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        ) as answer:
            message = await answer.get_final_message()
        await client.close()
    assert [b.type for b in message.content] == ["thinking", "text", "tool_use"]
    assert message.usage.cache_read_input_tokens == 30


async def test_a_signed_thought_returns_over_the_wire_unchanged() -> None:
    from rho_core.history.messages import EnrichedAssistant, ProviderContextBlock, ToolResult

    turns = [
        Turn(reasoning="Let me see", calls=(Call("read_file", {"path": "x"}, id="toolu_9"),)),
        Turn(text="done"),
    ]
    async with AnthropicServer(turns) as server, anthropic(server) as provider:
        first = await run_turn(provider, request_of())
        assert first.response is not None
        context = tuple(
            ProviderContextBlock(c.kind, provider.identity, c.data, c.position)
            for c in first.of(ProviderContext)
        )
        turn = EnrichedAssistant(first.response.content, provider.identity, None, context)
        history = (*request_of().messages, turn, ToolResult("toolu_9", True, "text"))
        second = await run_turn(provider, request_of(history))
        assert second.text == "done", second.error
        replayed = server.requests[1].body["messages"][1]["content"][0]
    assert replayed == {"type": "thinking", "thinking": "Let me see", "signature": "c2lnbmF0dXJl"}
