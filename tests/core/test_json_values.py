"""JSON values: strict when read, immutable when held (L6, L7, L12, L13)."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given, settings

from rho_core.json_values import FrozenObject, canonical_json, freeze, parse_json, thaw
from tests.core.messages_strategies import json_values


@pytest.mark.clause("L12")
def test_a_frozen_value_cannot_change_and_aliases_nothing() -> None:
    source = {"list": [1, {"x": 2}], "n": None}
    frozen = freeze(source)
    source["list"].append(3)
    assert frozen == {"list": (1, {"x": 2}), "n": None}
    for change in (
        lambda: frozen.__setitem__("a", 1),
        lambda: frozen.__delitem__("n"),
        lambda: frozen.update(a=1),
        lambda: frozen.pop("n"),
        lambda: frozen.popitem(),
        lambda: frozen.clear(),
        lambda: frozen.setdefault("a", 1),
        lambda: frozen.__ior__({"a": 1}),
        lambda: frozen["list"][1].update(x=3),
    ):
        with pytest.raises(TypeError):
            change()
    assert copy.deepcopy(frozen) is frozen
    assert copy.copy(frozen) is frozen
    assert pickle.loads(pickle.dumps(frozen)) == frozen


def test_equal_objects_hash_equally_whatever_the_order_of_keys() -> None:
    left, right = freeze({"a": 1, "b": [2]}), freeze({"b": [2], "a": 1.0})
    assert left == right
    assert hash(left) == hash(right)
    assert len({left, right}) == 1


@pytest.mark.clause("L12")
def test_thaw_gives_a_plain_copy_to_change() -> None:
    thawed = thaw(freeze({"a": [1, {"b": 2}]}))
    assert thawed == {"a": [1, {"b": 2}]}
    assert type(thawed) is dict
    assert type(thawed["a"][1]) is dict
    thawed["a"].append(1)


@pytest.mark.clause("L6", "L7")
@pytest.mark.parametrize(
    "bad",
    [
        float("nan"), float("inf"), {1: 2}, {"a": {1, 2}}, object(), b"bytes", "\ud800",
        {"\udfff": 1}, [["\ud800"]],
    ],
)  # fmt: skip
def test_what_json_cannot_hold_is_refused(bad: object) -> None:
    with pytest.raises(ValueError):
        freeze(bad)


@pytest.mark.clause("L6", "L7")
@pytest.mark.parametrize(
    "text",
    [
        "", "{", "NaN", "[Infinity]", "-Infinity", '{"a":1,"a":2}', '"\\ud800"', "1e999",
        '{"\\udfff":1}', "[1,]", "'a'", "1 2", b"\xff",
    ],
)  # fmt: skip
def test_lax_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


@pytest.mark.parametrize("depth", [400, 600, 900, 100_000])
def test_nesting_never_escapes_as_a_recursion_error(depth: int) -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        text = opening * depth + "1" + closing * depth
        try:
            parse_json(text)
        except ValueError as error:
            assert "nested too deeply" in str(error)  # noqa: PT017 - shallow input may succeed


@settings(max_examples=60)
@given(json_values)
@pytest.mark.clause("J22", "L13")
def test_values_round_trip_exactly(value: object) -> None:
    text = canonical_json(value)
    again = parse_json(text)
    assert again == value
    assert canonical_json(again) == text
    assert freeze(thaw(value)) == value


@pytest.mark.clause("J22")
def test_canonical_json_is_compact_and_unescaped() -> None:
    assert canonical_json({"a": [1, 1.0, "ü\u2028"]}) == '{"a":[1,1.0,"ü\u2028"]}'
    assert canonical_json(FrozenObject()) == "{}"
