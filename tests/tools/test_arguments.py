"""Hostile arguments: closed, strict, and refused with a message that says what would do."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tools.arguments import ToolArguments, parse_arguments, tool_spec


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Item(ToolArguments):
    """Not for the model."""

    title: str
    note: str | None = None
    flag: bool = False


class Sample(ToolArguments):
    path: str = Field(description="Where.")
    offset: int | None = Field(default=None, gt=0)
    every: bool = False
    colour: Colour = Colour.RED
    items: tuple[Item, ...] = ()
    ratio: float | None = None


def message_of(**arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        parse_arguments(Sample, arguments)
    assert caught.value.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert caught.value.message.startswith("invalid arguments: ")
    return caught.value.message


def test_valid_arguments_become_typed_values() -> None:
    parsed = parse_arguments(
        Sample,
        {"path": "a", "offset": 2, "colour": "blue", "items": [{"title": "t"}], "ratio": 1},
    )
    assert parsed.offset == 2
    assert parsed.colour is Colour.BLUE
    assert parsed.items == (Item(title="t"),)
    assert parsed.ratio == 1.0


@pytest.mark.clause("T2.3")
def test_null_for_an_optional_key_is_the_same_as_leaving_it_out_at_every_level() -> None:
    parsed = parse_arguments(
        Sample,
        {
            "path": "a",
            "offset": None,
            "every": None,
            "items": [{"title": "t", "note": None, "flag": None}],
        },
    )
    assert parsed == Sample(path="a", items=(Item(title="t"),))


@pytest.mark.clause("T2.2")
def test_an_unknown_key_is_named_with_the_accepted_ones_and_a_guess() -> None:
    message = message_of(path="a", offst=3)
    assert "unknown key 'offst'" in message
    assert "did you mean 'offset'" in message
    assert "accepted keys: path, offset (optional)" in message


@pytest.mark.clause("T2.2")
def test_an_unknown_key_inside_a_list_is_named_by_its_place() -> None:
    assert "unknown key 'items.1.x'" in message_of(
        path="a", items=[{"title": "t"}, {"title": "t", "x": 1}]
    )


@pytest.mark.clause("T2.3")
@pytest.mark.parametrize("value", [-1, 0, 1.0, 1.5, "1", True, [1], {}])
def test_an_integer_is_never_coerced(value: object) -> None:
    assert "offset must be" in message_of(path="a", offset=value)


@pytest.mark.parametrize("value", [1, 0, "true", "yes"])
def test_a_boolean_is_never_coerced(value: object) -> None:
    assert "every must be" in message_of(path="a", every=value)


@pytest.mark.parametrize("value", [True, "1", float("nan"), float("inf")])
def test_a_number_is_never_coerced(value: object) -> None:
    assert "ratio must be" in message_of(path="a", ratio=value)


@pytest.mark.parametrize("value", [None, 1, ["a"], {"a": 1}])
def test_a_required_string_is_never_coerced(value: object) -> None:
    assert "path must be" in message_of(path=value)


def test_a_missing_key_is_named() -> None:
    assert "missing key 'path'" in message_of(offset=1)


def test_values_are_never_repeated_and_long_keys_are_cut() -> None:
    message = message_of(
        path="a", colour="sk-test-123", **{"k" * 500 + "\n\x1b[31m": "sk-test-456"}
    )
    assert "sk-test" not in message
    assert "\x1b" not in message
    assert len(message) < 600


def test_text_that_is_no_unicode_is_refused() -> None:
    message_of(path="\ud800")


def test_arguments_that_are_nested_too_deeply_are_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    message_of(path=deep)


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(["path", "offset", "every", "colour", "items", "x", ""]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=6,
        ),
    )
)
def test_whatever_the_model_sends_is_a_value_or_invalid_arguments(
    arguments: dict[str, Any],
) -> None:
    try:
        parsed = parse_arguments(Sample, arguments)
    except ToolError as error:
        kind: ToolErrorKind | None = error.tool_kind
    else:
        kind = None
        assert type(parsed.path) is str
        assert parsed.offset is None or type(parsed.offset) is int
    assert kind in (None, ToolErrorKind.INVALID_ARGUMENTS)


@pytest.mark.clause("D1")
def test_the_schema_is_compact_closed_and_without_references() -> None:
    spec = tool_spec("sample", "Does it.", Sample)
    text = json.dumps(spec.input_schema)
    assert "$ref" not in text
    assert "$defs" not in text
    assert "null" not in text
    assert "Not for the model" not in text
    assert spec.input_schema["required"] == ("path",)
    assert spec.input_schema["additionalProperties"] is False
    properties = spec.input_schema["properties"]
    assert properties["path"] == {"type": "string", "description": "Where."}
    assert properties["offset"] == {"type": "integer", "minimum": 1}
    item = properties["items"]["items"]
    assert item["additionalProperties"] is False
    assert item["properties"]["title"] == {"type": "string"}
