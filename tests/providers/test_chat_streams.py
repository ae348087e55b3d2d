"""Streams of the Chat Completions adapter, from bytes that the vendor's own types produce."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.errors import ProviderErrorKind
from rho_core.history.messages import Text, ToolCall
from rho_core.providers.chat_stream import ChatStream
from rho_core.providers.contract import (
    AnswerCutOff,
    ModelRequest,
    OutputLimit,
    ServiceTier,
    ServiceTierFallback,
    ToolCallDelta,
)
from rho_core.providers.http_errors import Redactor
from rho_core.providers.sse import SSEParser
from rho_core.providers.turn_output import DiscardEvents
from tests.providers.chat_wire import END, fragment, loose_event, stream
from tests.providers.harness import HELLO, chat, request_of, run_turn
from tests.providers.sdk_wire import CHAT_DONE, chat_chunk, chat_event
from tests.servers import Call, ChatServer, Turn, Usage


async def test_text_reasoning_calls_and_usage_arrive_in_order() -> None:
    raw = b"".join(
        [
            chat_chunk({"role": "assistant", "content": ""}),
            loose_event({"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}),
            chat_chunk({"content": "I "}),
            chat_chunk({"content": "read. 你好😀"}),
            chat_chunk(
                {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "a",
                            "type": "function",
                            "function": {"name": "read_file", "arguments": ""},
                        },
                        {
                            "index": 1,
                            "id": "b",
                            "type": "function",
                            "function": {"name": "bash", "arguments": ""},
                        },
                    ]
                }
            ),
            chat_chunk({"tool_calls": [{"index": 1, "function": {"arguments": '{"command":'}}]}),
            chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"path":"x"}'}}]}),
            chat_chunk({"tool_calls": [{"index": 1, "function": {"arguments": '"ls"}'}}]}),
            chat_chunk({}, "tool_calls"),
            chat_event(
                [],
                usage={
                    "prompt_tokens": 100,
                    "completion_tokens": 7,
                    "total_tokens": 107,
                    "prompt_tokens_details": {"cached_tokens": 60},
                },
            ),
            CHAT_DONE,
        ]
    )
    outcome = await stream(raw, context_window=8000)
    assert outcome.response is not None
    assert outcome.response.content == (
        Text("I read. 你好😀"),
        ToolCall.of("a", "read_file", {"path": "x"}),
        ToolCall.of("b", "bash", {"command": "ls"}),
    )
    assert outcome.text == "I read. 你好😀"
    assert outcome.reasoning == "hm"
    assert outcome.of(ToolCallDelta)[:2] == [
        ToolCallDelta(0, "a", "read_file"),
        ToolCallDelta(1, "b", "bash"),
    ]
    [usage] = outcome.usages
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (40, 60, 7)
    assert usage.context_window == 8000
    assert all(item.observed_at is not None for item in outcome.observed)


RICH = b"".join(
    [
        b": hello\r\n\r\n",
        chat_chunk({"content": "a\u2028b\u0085 é😀"}),
        chat_chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "t"}}]}),
        chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"k":"ü"}'}}]}),
        chat_chunk({}, "tool_calls"),
        CHAT_DONE,
    ]
)


async def _content(chunks: list[bytes]) -> Any:
    parser = SSEParser()
    reader = ChatStream(request_of(), DiscardEvents(), "host", Redactor())
    for chunk in chunks:
        for event in parser.feed(chunk):
            await reader.feed(event)
    return await reader.finish()


@pytest.mark.clause("case:H1", "case:H2", "case:H4")
async def test_a_cut_at_any_byte_changes_nothing() -> None:
    whole = await _content([RICH])
    assert whole == (Text("a\u2028b\u0085 é😀"), ToolCall.of("a", "t", {"k": "ü"}))
    for cut in range(len(RICH)):
        assert await _content([RICH[:cut], RICH[cut:]]) == whole


@settings(max_examples=60)
@given(st.lists(st.integers(0, len(RICH)), max_size=10))
async def test_any_number_of_cuts_changes_nothing(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(RICH)]
    chunks = [RICH[a:b] for a, b in itertools.pairwise(edges)]
    assert await _content(chunks) == await _content([RICH])


@pytest.mark.clause("case:H3")
async def test_noise_between_the_chunks_is_ignored() -> None:
    noise = (
        b": PROCESSING\n\ndata: null\n\nevent: ping\ndata: {}\n\ndata: []\n\n"
        b'data: {"choices":[]}\n\ndata: {"choices":null}\n\ndata: {"choices":[null,3]}\n\n'
        b'data: {"choices":[{"delta":null}],"usage":null}\n\nretry: 10\n\n'
    )
    outcome = await stream(noise + chat_chunk({"content": "ok"}) + noise + END)
    assert outcome.response is not None
    assert outcome.response.content == (Text("ok"),)


@pytest.mark.clause("case:H9")
@pytest.mark.parametrize(
    "raw",
    [
        chat_chunk({"content": "half"}),
        fragment(0, id="a", name="t", arguments='{"path":"a'),
        b"",
    ],
)
async def test_an_end_without_end_mark_is_an_interruption(raw: bytes) -> None:
    outcome = await stream(raw)
    assert outcome.response is None
    assert outcome.error is not None
    assert outcome.error.provider_kind is ProviderErrorKind.INTERRUPTED
    assert outcome.error.retryable


@pytest.mark.clause("case:H9", "case:H15")
async def test_done_alone_is_an_empty_answer_for_the_loop_to_refuse() -> None:
    outcome = await stream(CHAT_DONE)
    assert outcome.response is not None
    assert outcome.response.content == ()


async def test_a_finish_reason_ends_an_answer_where_done_is_never_sent() -> None:
    outcome = await stream(chat_chunk({"content": "all"}) + chat_chunk({}, "stop"))
    assert outcome.response is not None
    assert outcome.text == "all"


@pytest.mark.clause("case:H15")
@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"message": "overloaded", "code": 502}, ProviderErrorKind.UNAVAILABLE, True),
        (
            {"message": "slow down", "type": "rate_limit_exceeded"},
            ProviderErrorKind.RATE_LIMIT,
            True,
        ),
        ({"message": "no key", "code": "invalid_api_key"}, ProviderErrorKind.AUTHENTICATION, False),
        ("plain words", ProviderErrorKind.UNAVAILABLE, True),
    ],
)
async def test_an_error_object_inside_the_stream_is_an_error(
    error: Any, kind: ProviderErrorKind, retryable: bool
) -> None:
    raw = chat_chunk({"content": "half"}) + loose_event({"error": error, "choices": []})
    outcome = await stream(raw)
    assert outcome.error is not None
    assert (outcome.error.provider_kind, outcome.error.retryable) == (kind, retryable)
    assert (error if isinstance(error, str) else error["message"]) in outcome.error.message


async def test_length_keeps_the_text_and_refuses_half_a_call() -> None:
    text = await stream(chat_chunk({"content": "so far"}) + chat_chunk({}, "length") + CHAT_DONE)
    assert text.response is not None
    assert text.response.content == (Text("so far"),)
    assert text.events[-1] == AnswerCutOff(OutputLimit.OUTPUT_TOKENS)
    half = fragment(0, id="a", name="write", arguments='{"content":"aaa')
    call = await stream(half + chat_chunk({}, "length") + CHAT_DONE)
    assert call.error is not None
    assert not call.error.retryable
    assert "output limit in the middle of a call of write" in call.error.message
    nothing = await stream(chat_chunk({}, "length") + CHAT_DONE)
    assert nothing.error is not None
    assert "before any answer" in nothing.error.message
    assert not call.of(AnswerCutOff) + nothing.of(AnswerCutOff)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("stop", []),
        ("max_tokens", [AnswerCutOff(OutputLimit.OUTPUT_TOKENS)]),
        ("model_length", [AnswerCutOff(OutputLimit.CONTEXT_WINDOW)]),
    ],
)
async def test_an_answer_that_stops_short_is_told_in_the_words_of_any_server(
    reason: str, told: list[AnswerCutOff]
) -> None:
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    outcome = await stream(chat_chunk({"content": "so far"}) + loose_event(end) + CHAT_DONE)
    assert outcome.response is not None
    assert outcome.of(AnswerCutOff) == told


async def test_a_content_filter_is_an_error_and_the_text_before_it_was_shown() -> None:
    outcome = await stream(
        chat_chunk({"content": "well"}) + chat_chunk({}, "content_filter") + CHAT_DONE
    )
    assert outcome.text == "well"
    assert outcome.error is not None
    assert "content filter" in outcome.error.message


@pytest.mark.clause("case:H20", "C89")
@pytest.mark.parametrize(
    ("usage", "reported"),
    [
        (None, 0),
        ({}, 0),
        ({"prompt_tokens": None, "completion_tokens": None}, 0),
        ({"prompt_tokens": True, "completion_tokens": "5"}, 0),
        ({"prompt_tokens": 3}, 1),
    ],
)
async def test_missing_usage_is_missing_not_zero(usage: Any, reported: int) -> None:
    raw = chat_chunk({"content": "x"}) + loose_event({"choices": [], "usage": usage}) + END
    outcome = await stream(raw)
    assert outcome.error is None
    assert len(outcome.usages) == reported


@pytest.mark.clause("case:H20")
async def test_cumulative_usage_in_every_chunk_is_told_once() -> None:
    chunks = [
        loose_event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": n}})
        for n in (1, 2, 3)
    ]
    chunks.append(loose_event({"choices": [], "usage": {"prompt_tokens": None}}))
    outcome = await stream(chat_chunk({"content": "x"}) + b"".join(chunks) + END)
    assert [usage.output_tokens for usage in outcome.usages] == [3]


async def test_a_server_that_ignores_stream_is_understood() -> None:
    body = {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "whole",
                    "tool_calls": [
                        {
                            "id": "a",
                            "type": "function",
                            "function": {"name": "t", "arguments": '{"x": 1}'},
                        }
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    turn = Turn(raw=json.dumps(body, indent=2).encode(), content_type="application/json")
    outcome = await stream(b"", turn=turn)
    assert outcome.response is not None
    assert outcome.response.content == (Text("whole"), ToolCall.of("a", "t", {"x": 1}))


async def test_half_surrogate_pairs_are_joined_or_replaced() -> None:
    halves = b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n'
    halves += b'data: {"choices":[{"delta":{"content":"\\ude00!\\udc00"}}]}\n\n'
    outcome = await stream(halves + END)
    assert outcome.response is not None
    assert outcome.response.content == (Text("😀!\ufffd"),)
    assert outcome.text == "😀!\ufffd"


async def test_another_service_tier_than_asked_for_is_told() -> None:
    raw = chat_chunk({"content": "x"}, service_tier="default") + END
    outcome = await stream(raw, request_of(service_tier=ServiceTier.PRIORITY))
    assert outcome.of(ServiceTierFallback) == [ServiceTierFallback("priority", "default")]


async def test_fields_that_a_server_refuses_are_left_out_for_good() -> None:
    known = {"model", "messages", "stream", "tools"}
    async with ChatServer(Turn(text="ok"), known_fields=known) as server:
        async with chat(server, model="gpt-5") as provider:
            request = request_of(prompt_cache_key="k")
            first = await run_turn(provider, request)
            assert first.text == "ok", first.error
            assert len(server.requests) == 4
            second = await run_turn(provider, request)
            assert second.text == "ok"
            assert len(server.requests) == 5


async def test_the_scripted_server_speaks_what_the_sdk_reads() -> None:
    turn = Turn(
        text="hello", calls=(Call("bash", {"command": "ls"}),), usage=Usage(100, 20, cached=30)
    )
    from openai import AsyncOpenAI

    async with ChatServer(turn) as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="test")
        answer = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "hi"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in answer]
        await client.close()
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "hello"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 100


async def test_send_turn_gives_the_whole_answer() -> None:
    async with ChatServer(Turn(text="whole")) as server, chat(server) as provider:
        response = await provider.send_turn(ModelRequest(HELLO))
    assert response.content == (Text("whole"),)


async def test_content_as_typed_parts_is_understood() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "ok"},
        None,
    ]
    raw = loose_event({"choices": [{"index": 0, "delta": {"content": parts}}]})
    outcome = await stream(raw + END)
    assert (outcome.reasoning, outcome.text) == ("hm", "ok")
