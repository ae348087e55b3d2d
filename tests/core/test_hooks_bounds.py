"""Bounds of hook fields and the report of what was cut (I7–I9)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.hooks.bounds import BoundsReport, FieldBounder, HookBounds


def bounder(field: int = 4, envelope: int = 100) -> FieldBounder:
    return FieldBounder(HookBounds(field, envelope))


@pytest.mark.clause("I7")
def test_defaults_and_minimum() -> None:
    assert HookBounds() == HookBounds(8192, 65_536)
    assert HookBounds(0, -3) == HookBounds(1, 1)


@pytest.mark.clause("I7")
def test_short_values_are_left_alone_and_a_fresh_report_claims_nothing() -> None:
    fields = bounder()
    assert fields.text("a", "1234") == "1234"
    assert fields.report == BoundsReport()
    assert not fields.report.truncated


@pytest.mark.clause("I7")
def test_long_values_are_cut_between_characters() -> None:
    fields = bounder()
    assert fields.text("a", "12345") == "1234"
    assert fields.text("b", "123ä") == "123"
    assert fields.text("c", "\U0001f469\U0001f469") == "\U0001f469"
    assert fields.report == BoundsReport(("a", "b", "c"))


@settings(max_examples=100)
@given(st.text(max_size=20), st.integers(1, 8))
@pytest.mark.clause("I7")
def test_a_cut_value_is_a_valid_prefix_within_the_bound(value: str, limit: int) -> None:
    fields = bounder(limit)
    cut = fields.text("a", value)
    assert len(cut.encode()) <= limit
    assert value.startswith(cut)
    assert fields.report.truncated == (cut != value)


@pytest.mark.clause("I7")
def test_recorded_fields_are_sorted_and_unique() -> None:
    fields = bounder()
    for name in ("b", "a", "b"):
        fields.record(name)
    assert fields.report.fields == ("a", "b")


@pytest.mark.clause("I9")
def test_an_id_that_is_cut_to_nothing_becomes_an_underscore() -> None:
    fields = bounder(1)
    assert fields.identifier("id", "ä") == "_"
    assert fields.report.fields == ("id",)


@pytest.mark.clause("I9")
@pytest.mark.skipif(sys.platform == "win32", reason="paths are text there")
def test_a_path_that_is_not_text_is_rendered_lossily_and_reported() -> None:
    fields = bounder(50)
    assert fields.path("path", Path("/w/ok")) == "/w/ok"
    assert fields.report.fields == ()
    assert fields.path("path", Path(os.fsdecode(b"/w/\xff"))) == "/w/\ufffd"
    assert fields.path("other", "/w/\ud800") == "/w/?"
    assert fields.report.fields == ("other", "path")


def test_text_that_cannot_be_encoded_is_replaced_and_reported() -> None:
    fields = bounder(50)
    assert fields.text("a", "x\ud800y") == "x?y"
    assert fields.report.fields == ("a",)


@pytest.mark.clause("I8")
def test_total_lists_are_bounded_and_reported() -> None:
    fields = bounder(4, 12)
    assert fields.text_list("args", ["aaaa"] * 8) == ("aaaa",) * 3
    assert fields.report.fields == ("args",)
    fields = bounder(4, 12)
    assert fields.text_list("args", ["a", "bbbbb"]) == ("a", "bbbb")
    assert fields.report.fields == ("args[1]",)


@pytest.mark.clause("I8")
def test_labels_are_sorted_bounded_and_reported() -> None:
    fields = bounder(4, 100)
    labels = {"zz": "1", "longkey": "v", "longkez": "w", "a": "toolong"}
    assert fields.labels("host_labels", labels) == {"a": "tool", "long": "v", "zz": "1"}
    assert fields.report.fields == (
        "host_labels.a", "host_labels.keys[1]", "host_labels.keys[2]",
    )  # fmt: skip
    fields = bounder(4, 7)
    assert fields.labels("host_labels", {"a": "1234", "b": "1234"}) == {"a": "1234"}
    assert fields.report.fields == ("host_labels",)
