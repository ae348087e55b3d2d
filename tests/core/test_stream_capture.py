"""What is kept of an answer while it streams (K.3 stream_capture_tests)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.errors import ProviderError
from rho_core.history.messages import ModelIdentity, PartialToolCall, Text, ToolCall
from rho_core.providers.contract import ProviderContext, ToolCallDelta
from rho_core.running.capture import StreamCapture
from rho_core.usage import ModelUsage

IDENTITY = ModelIdentity("p", "a", "m")


def capture() -> StreamCapture:
    return StreamCapture(IDENTITY)


def feed(into: StreamCapture, index: int, text: str, size: int) -> None:
    for at in range(0, len(text), size):
        into.tool_call(ToolCallDelta(index, arguments=text[at : at + size]))


@pytest.mark.clause("C18")
def test_tool_call_updates_repeat_the_known_identity_on_later_argument_deltas() -> None:
    into = capture()
    first = into.tool_call(ToolCallDelta(0, id="c1", name="read"))
    later = into.tool_call(ToolCallDelta(0, arguments='{"a"'))
    assert (first.id, first.name, first.arguments_delta) == ("c1", "read", "")
    assert (later.id, later.name, later.arguments_delta) == ("c1", "read", '{"a"')


@pytest.mark.clause("C87")
def test_arguments_complete_across_nested_and_escaped_fragments_and_late_identity() -> None:
    arguments = {"a": {"b": ['}"{', "\\", 'quote " inside']}, "z": '\\"'}
    into = capture()
    feed(into, 0, json.dumps(arguments), 1)
    assert into.aborted_message().content == ()  # type: ignore[union-attr]
    into.tool_call(ToolCallDelta(0, id="late"))
    into.tool_call(ToolCallDelta(0, name="tool"))
    message = into.aborted_message()
    assert message is not None
    assert message.content == (ToolCall.of("late", "tool", arguments),)
    assert message.tool_calls == (PartialToolCall("late", "tool", json.dumps(arguments)),)


@pytest.mark.clause("C87")
@pytest.mark.parametrize("text", ['{"a": 1', "[1, 2]", '"{}"', "{} {}", "{'a': 1}", "12"])
def test_incomplete_and_non_object_arguments_stay_fragments_only(text: str) -> None:
    into = capture()
    into.tool_call(ToolCallDelta(0, id="c", name="t", arguments=text))
    message = into.aborted_message()
    assert message is not None
    assert message.content == ()
    assert message.tool_calls == (PartialToolCall("c", "t", text),)


@pytest.mark.clause("C87")
def test_a_large_object_in_small_chunks_materialises_on_the_aborted_message() -> None:
    arguments = {"text": "x" * 2048}
    into = capture()
    into.tool_call(ToolCallDelta(0, id="c", name="t"))
    feed(into, 0, json.dumps(arguments), 17)
    message = into.aborted_message()
    assert message is not None
    assert message.content == (ToolCall.of("c", "t", arguments),)


@pytest.mark.clause("C86")
def test_text_merges_until_something_else_is_streamed() -> None:
    into = capture()
    into.output("a")
    into.output("b")
    into.reasoning()
    into.output("c")
    into.reasoning_summary("why")
    into.output("d")
    message = into.aborted_message()
    assert message is not None
    assert message.content == (Text("ab"), Text("c"), Text("d"))
    assert message.reasoning_summary == "why"


@pytest.mark.clause("C86")
def test_retained_context_seals_the_text_that_follows_it() -> None:
    into = capture()
    into.output("a")
    into.context(ProviderContext("sig", {"s": 1}, position=0))
    into.output("b")
    into.output("c")
    into.output("d")
    message = into.aborted_message()
    assert message is not None
    assert message.content == (Text("a"), Text("b"), Text("cd"))
    assert message.provider_context[0].identity == IDENTITY
    assert message.provider_context[0].data == {"s": 1}


@pytest.mark.clause("C88", "C16")
def test_raw_reasoning_alone_is_not_worth_a_message_but_usage_is() -> None:
    into = capture()
    into.reasoning()
    assert into.aborted_message() is None
    into.add_usage(ModelUsage(input_tokens=1))
    message = into.aborted_message()
    assert message is not None
    assert message.reasoning == ""


def test_context_that_is_not_json_is_an_invalid_response() -> None:
    with pytest.raises(ProviderError, match="not JSON"):
        capture().context(ProviderContext("sig", object()))


@pytest.mark.clause("C87")
@settings(max_examples=40)
@given(
    st.lists(
        st.dictionaries(st.text(max_size=4), st.text(max_size=6), max_size=3),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_fragments_assemble_by_index_for_every_partition(
    objects: list[dict[str, str]], size: int, random: object
) -> None:
    texts = [json.dumps(item) for item in objects]
    pieces = [
        [ToolCallDelta(i, arguments=text[at : at + size]) for at in range(0, len(text), size)]
        for i, text in enumerate(texts)
    ]
    into = capture()
    for i in reversed(range(len(objects))):
        into.tool_call(ToolCallDelta(i, id=f"c{i}", name="t"))
    while any(pieces):
        queue = random.choice([p for p in pieces if p])  # type: ignore[attr-defined]
        into.tool_call(queue.pop(0))
    message = into.aborted_message()
    assert message is not None
    assert [p.arguments for p in message.tool_calls] == texts
    materialised = {b.id: b.arguments for b in message.content if isinstance(b, ToolCall)}
    assert materialised == {f"c{i}": item for i, item in enumerate(objects)}
