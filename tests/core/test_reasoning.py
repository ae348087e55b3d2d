"""Reasoning levels (B45–B48)."""

from __future__ import annotations

import pytest

from rho_core.reasoning import ReasoningLevel as Level


@pytest.mark.clause("B45")
def test_levels_are_ordered_and_parsed_leniently() -> None:
    words = ["off", "minimal", "low", "medium", "high", "xhigh", "max"]
    assert [level.value for level in Level] == words
    assert [level.rank for level in Level] == list(range(7))
    assert Level.parse("  High\n") is Level.HIGH
    assert Level.parse("none") is Level.parse("") is Level.OFF
    with pytest.raises(ValueError) as caught:
        Level.parse("extreme")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.clause("B46")
def test_cycles_only_through_supported_levels() -> None:
    assert Level.MAX.next_supported() is Level.OFF
    assert Level.LOW.next_supported() is Level.MEDIUM
    assert Level.LOW.next_supported([]) is Level.LOW
    supported = [Level.LOW, Level.HIGH]
    assert Level.LOW.next_supported(supported) is Level.HIGH
    assert Level.HIGH.next_supported(supported) is Level.LOW
    assert Level.HIGH.next_supported([Level.HIGH]) is Level.HIGH
    assert Level.OFF.next_supported([Level.HIGH]) is Level.HIGH


@pytest.mark.clause("B47")
@pytest.mark.parametrize(
    ("level", "supported", "normal"),
    [
        ("minimal", ["off", "low", "high"], "low"),
        ("medium", ["off", "low", "high"], "high"),
        ("max", ["off", "low", "xhigh"], "xhigh"),
        ("high", ["off"], "high"),
        ("off", ["low"], "off"),
        ("high", ["high"], "high"),
        ("high", [], "high"),
        ("high", None, "high"),
    ],
)
def test_normalises_up_then_down_and_never_to_off(level, supported, normal) -> None:
    levels = None if supported is None else [Level(word) for word in supported]
    assert Level(level).normalize(levels) is Level(normal)


@pytest.mark.clause("B48")
def test_effort_and_summary_for_a_provider() -> None:
    assert (Level.OFF.effort, Level.OFF.summary) == (None, None)
    assert (Level.XHIGH.effort, Level.XHIGH.summary) == ("xhigh", "auto")
