"""Token estimates (J14–J22)."""

from __future__ import annotations

import gc

import pytest

from rho_core.history import tokens
from rho_core.history.handoff import with_portable_fallback
from rho_core.history.messages import (
    AbortedAssistant,
    EnrichedAssistant,
    Image,
    ModelIdentity,
    PartialToolCall,
    ProviderContextBlock,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from rho_core.history.tokens import (
    ContextSource,
    ContextUsage,
    estimate_message_tokens,
    estimate_messages_tokens,
    estimate_request_tokens,
)
from rho_core.json_values import freeze
from rho_core.providers.contract import ToolSpec
from rho_core.usage import ModelUsage

IDENTITY = ModelIdentity("p", "a", "m")
PAIR = (SystemMessage("12345678"), UserMessage.of_text("123456789"))


@pytest.mark.clause("J20", "J16")
def test_text_messages_with_overhead() -> None:
    assert estimate_request_tokens(PAIR) == 3 + 4 + 2 + 4 + 1 + 3 == 17


@pytest.mark.clause("J19")
def test_message_slices_carry_no_request_or_tool_overhead() -> None:
    assert estimate_messages_tokens(PAIR) == 14
    assert estimate_messages_tokens(()) == 0


@pytest.mark.clause("J14")
def test_characters_count_not_bytes_and_json_stays_unescaped() -> None:
    assert estimate_message_tokens(SystemMessage("äöü€\U0001f469")) == 4 + 2
    # {"id":"ä","ok":true,"content":""} has 33 characters
    assert estimate_message_tokens(ToolResult("ä", True, "")) == 6 + 9


@pytest.mark.clause("J17")
def test_blocks() -> None:
    call = ToolCall.of("1", "read", {"path": "x"})
    # {"id":"1","name":"read","arguments":{"path":"x"}} has 49 characters
    assert estimate_message_tokens(UserMessage((call,))) == 4 + 1 + 8 + 13
    assert estimate_message_tokens(UserMessage((Image("x" * 4097, "image/png"),))) == 4 + 1 + 85 + 2
    assert estimate_message_tokens(UserMessage(())) == 4


@pytest.mark.clause("J15", "J22")
def test_tool_schemas_count_and_key_order_does_not() -> None:
    def spec(schema: dict) -> ToolSpec:
        return ToolSpec("t", "d", freeze(schema))

    # {"name":"t","description":"d","input_schema":{"a":1,"b":2}} has 59 characters
    assert estimate_request_tokens((), [spec({"a": 1, "b": 2})]) == 3 + 12 + 15
    assert estimate_request_tokens((), [spec({"b": 2, "a": 1})]) == 3 + 12 + 15


@pytest.mark.clause("J18")
def test_replayed_context_counts_when_it_is_larger_than_its_stand_in() -> None:
    def turn(data: object, summary: str | None = None) -> EnrichedAssistant:
        block = ProviderContextBlock("k", IDENTITY, data)
        return EnrichedAssistant((Text(""),), IDENTITY, summary, (block,))

    assert estimate_message_tokens(turn("x" * 38)) == 4 + 1 + 10
    assert estimate_message_tokens(turn("x", "s" * 20)) == 4 + 1 + 5
    both = with_portable_fallback(turn("x", "s" * 20), "f" * 20)
    assert estimate_message_tokens(both) == 4 + 1 + 10


@pytest.mark.clause("J18")
def test_fragments_and_usage_of_an_aborted_turn_count_nothing() -> None:
    plain = AbortedAssistant((Text("abcd"),), "sum!")
    full = AbortedAssistant(
        (Text("abcd"),), "sum!", tool_calls=(PartialToolCall("1", "n", "{" * 99),),
        usage=ModelUsage(1, 2, 3), reasoning="r" * 99,
    )  # fmt: skip
    assert estimate_message_tokens(plain) == estimate_message_tokens(full) == 4 + 1 + 1 + 1


def test_a_message_is_measured_once_and_forgotten_with_it(monkeypatch) -> None:
    measured: list[object] = []
    real = tokens._measure

    def counting(message):
        measured.append(type(message))
        return real(message)

    monkeypatch.setattr(tokens, "_measure", counting)
    gc.collect()
    before = len(tokens._measured_messages)
    message = UserMessage.of_text("only once")
    assert [estimate_message_tokens(message) for _ in range(3)] == [7 + 1] * 3
    assert len(measured) == 1
    assert len(tokens._measured_messages) == before + 1
    del message
    gc.collect()
    assert len(tokens._measured_messages) == before


@pytest.mark.clause("J21")
def test_context_usage_from_reported_buckets() -> None:
    usage = ModelUsage(input_tokens=1000, cache_read_tokens=1500, cache_write_tokens=500)
    reading = ContextUsage.from_usage(usage)
    assert reading == ContextUsage(3000, None, ContextSource.PROVIDER_REPORTED)


@pytest.mark.clause("J21")
def test_context_usage_recovers_a_mixed_prompt_total() -> None:
    usage = ModelUsage(output_tokens=20, total_tokens=120, context_window=8000)
    assert ContextUsage.from_usage(usage).tokens == 100
    assert ContextUsage.from_usage(usage).context_window == 8000
    assert ContextUsage.from_usage(ModelUsage()).tokens is None


@pytest.mark.clause("J21")
def test_context_usage_without_a_report() -> None:
    assert ContextUsage.estimated(5, 10).source is ContextSource.ESTIMATED
    unknown = ContextUsage.unknown_after_compaction(10)
    assert (unknown.tokens, unknown.context_window) == (None, 10)
