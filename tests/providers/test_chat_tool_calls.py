"""Tool call fragments in all the shapes that servers send them (9.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rho_core.history.messages import ToolCall
from rho_core.json_values import FrozenObject
from rho_core.providers.contract import ToolCallDelta
from tests.providers.chat_wire import CALLS_END, calls_in, fragment, loose_event, stream
from tests.providers.harness import request_of, spec


@pytest.mark.clause("case:H6")
@pytest.mark.parametrize("indexes", [(0, 0), (None, None), (0, None), (None, 0), (0, 1), (3, 7)])
@pytest.mark.parametrize("ids", [("a", "b"), (None, None), ("", "")])
async def test_calls_that_share_or_lack_indexes_and_ids_stay_apart(
    indexes: tuple[int | None, int | None], ids: tuple[str | None, str | None]
) -> None:
    raw = b"".join(
        fragment(
            index,
            **({} if call_id is None else {"id": call_id}),
            name="read_file",
            arguments=json.dumps({"path": path}),
        )
        for index, call_id, path in zip(indexes, ids, ("a.txt", "b.txt"), strict=True)
    )
    outcome = await stream(raw + CALLS_END)
    assert calls_in(outcome) == [
        ("read_file", {"path": "a.txt"}),
        ("read_file", {"path": "b.txt"}),
    ]
    assert outcome.response is not None
    made = [c.id for c in outcome.response.content if isinstance(c, ToolCall)]
    assert len(set(made)) == 2
    assert all(made)
    assert {d.id for d in outcome.of(ToolCallDelta) if d.id} == set(made)


@pytest.mark.clause("case:H8")
async def test_id_and_name_repeated_in_every_fragment_are_not_joined() -> None:
    raw = b"".join(
        fragment(0, id="a", name="read", arguments=piece) for piece in ('{"path"', ':"x', '"}')
    )
    outcome = await stream(raw + CALLS_END)
    assert calls_in(outcome) == [("read", {"path": "x"})]
    assert [d.name for d in outcome.of(ToolCallDelta)] == ["read", None, None]


async def test_an_id_that_comes_late_is_taken() -> None:
    raw = fragment(0, name="t", arguments="{") + fragment(0, id="late", arguments="}")
    outcome = await stream(raw + CALLS_END)
    assert outcome.response is not None
    assert outcome.response.content == (ToolCall.of("late", "t", {}),)


async def test_arguments_as_an_object_are_taken() -> None:
    raw = fragment(0, id="a", name="t", arguments={"path": "x"})
    assert calls_in(await stream(raw + CALLS_END)) == [("t", {"path": "x"})]


@pytest.mark.clause("case:H5")
@pytest.mark.parametrize(
    "fields", [{"arguments": ""}, {"arguments": None}, {"arguments": "  "}, {}]
)
async def test_no_arguments_mean_an_empty_object_when_nothing_is_required(
    fields: dict[str, Any],
) -> None:
    raw = fragment(0, id="a", name="list", **fields) + CALLS_END
    assert calls_in(await stream(raw, request_of(tools=(spec("list"),)))) == [("list", {})]
    assert calls_in(await stream(raw, request_of())) == [("list", {})]
    [(_, refused)] = calls_in(await stream(raw, request_of(tools=(spec("list", "path"),))))
    assert not isinstance(refused, dict)


@pytest.mark.clause("C80", "case:H11", "case:H12")
@pytest.mark.parametrize(
    "text",
    [
        '{"command":"echo \\"a',
        "[]",
        '"x"',
        "3",
        "null",
        "{" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        '[{"a":"\\ud800"}]',
    ],
)
async def test_malformed_arguments_are_handed_on_as_no_object(text: str) -> None:
    outcome = await stream(fragment(0, id="a", name="bash", arguments=text) + CALLS_END)
    [(name, arguments)] = calls_in(outcome)
    assert name == "bash"
    assert not isinstance(arguments, FrozenObject)
    assert arguments == text


@pytest.mark.clause("L7", "case:H11", "case:H12")
@pytest.mark.parametrize(
    ("text", "kept", "said"),
    [
        ('{"path":"\\ud800x"}', {"path": "\ufffdx"}, "'path' holds half of a surrogate pair"),
        ('{"a":[{"b":"\\udc00"}]}', {"a": ({"b": "\ufffd"},)}, "'a.0.b' holds half of"),
        ('{"\\ud83d":1}', {"\ufffd": 1}, "'\ufffd' holds half of a surrogate pair"),
        ('{"path":"a","path":"b"}', {"path": "b"}, "the key 'path' is given more than once"),
        ('{"limit":NaN}', {"limit": None}, "NaN is not JSON"),
        ('{"limit":-Infinity}', {"limit": None}, "-Infinity is not JSON"),
        ('{"limit":1e400}', {"limit": None}, "'limit' is too large for a number"),
        ('{"command":"a\nb"}', {"command": "a\nb"}, "a control character in a string"),
    ],
)
async def test_an_object_that_breaks_the_rules_of_json_becomes_a_call_that_says_so(
    text: str, kept: dict[str, Any], said: str
) -> None:
    outcome = await stream(fragment(0, id="a", name="bash", arguments=text) + CALLS_END)
    assert outcome.response is not None
    [call] = outcome.response.content
    assert isinstance(call, ToolCall)
    assert call.argument_error is not None
    assert call.argument_error.startswith(said)
    assert call.arguments == kept
    json.dumps(call.arguments, allow_nan=False, ensure_ascii=False).encode("utf-8")


async def test_a_pair_of_surrogates_written_as_escapes_is_one_character() -> None:
    raw = fragment(0, id="a", name="t", arguments='{"a":"\\ud83d\\ude00"}') + CALLS_END
    outcome = await stream(raw)
    assert outcome.response is not None
    assert outcome.response.content == (ToolCall.of("a", "t", {"a": "😀"}),)
    [call] = outcome.response.content
    assert isinstance(call, ToolCall)
    assert call.argument_error is None


async def test_many_faults_are_told_in_a_few_words() -> None:
    text = json.dumps({f"{number}{'k' * 500}": "\ud800" for number in range(50)})
    raw = fragment(0, id="a", name="t", arguments=text) + CALLS_END
    outcome = await stream(raw)
    assert outcome.response is not None
    [call] = outcome.response.content
    assert isinstance(call, ToolCall)
    assert call.argument_error is not None
    assert "and 47 more" in call.argument_error
    assert len(call.argument_error) < 600


@pytest.mark.clause("case:H6")
async def test_another_name_is_another_call_even_without_ids_and_arguments() -> None:
    raw = fragment(0, name="list") + fragment(0, name="status")
    assert calls_in(await stream(raw + CALLS_END)) == [("list", {}), ("status", {})]


async def test_the_old_function_call_field_is_understood() -> None:
    pieces = ({"name": "t", "arguments": '{"a"'}, {"arguments": ":1}"})
    raw = b"".join(
        loose_event({"choices": [{"index": 0, "delta": {"function_call": piece}}]})
        for piece in pieces
    )
    assert calls_in(await stream(raw + CALLS_END)) == [("t", {"a": 1})]
