"""Numbered views: vectors, windows, snapshots, budgets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.errors import ToolError
from rho_core.tools.files import numbered
from rho_core.tools.files.numbered import (
    content_lines,
    numbered_row,
    snapshot_view,
    window_view,
)


def numbers(text: str) -> list[int]:
    """The row numbers of a view, without header and footer."""
    body = text.split("\n\n[", 1)[0].split("\n")[1:]
    return [int(row.split(":", 1)[0]) for row in body if row != "…"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("a\r\nb\r\r\n", ["a", "b\r"]),
        ("a\rb\x0bc\x0cd\u0085e\u2028f\n", ["a\rb\x0bc\x0cd\u0085e\u2028f"]),
        ("\ufeffa\n", ["\ufeffa"]),
    ],
)
@pytest.mark.clause("T3.1")
def test_only_newline_separates_lines(text: str, lines: list[str]) -> None:
    assert content_lines(text) == lines


@pytest.mark.clause("T3.2", "T3.3", "T3.4")
def test_a_whole_file_has_a_header_rows_and_no_footer() -> None:
    view = window_view("f.txt", ["a", "b"])
    assert view.text == "f.txt\n1:a\n2:b"
    assert (view.start_line, view.end_line, view.total_lines) == (1, 2, 2)


@pytest.mark.clause("T3.3", "case:C3")
def test_an_empty_file_is_its_header_only() -> None:
    assert window_view("f.txt", []).text == "f.txt"
    assert window_view("f.txt", [], offset=1).text == "f.txt"


@pytest.mark.clause("T3.4", "T3.5")
def test_a_window_has_absolute_numbers_and_a_footer() -> None:
    lines = [f"line-{number}" for number in range(1, 81)]
    view = window_view("f.txt", lines, offset=10, limit=2)
    assert view.text.startswith("f.txt\n10:line-10\n11:line-11\n\n[")
    assert "lines 10-11 of 80" in view.text
    assert "offset 12" in view.text


@pytest.mark.clause("T3.5")
def test_a_limit_beyond_the_end_is_saturated() -> None:
    view = window_view("f.txt", ["a", "b"], offset=2, limit=10**30)
    assert view.text.startswith("f.txt\n2:b\n\n[")
    assert "lines 2-2 of 2" in view.text


@pytest.mark.parametrize(("lines", "offset"), [(["a"] * 5, 100), ([], 2), (["a"] * 5, 6)])
@pytest.mark.clause("T3.5", "case:C3")
def test_an_offset_past_the_end_names_the_real_length(lines: list[str], offset: int) -> None:
    with pytest.raises(ToolError) as caught:
        window_view("f.txt", lines, offset=offset)
    expected = f"offset {offset} is past the end of the file ({len(lines)} line(s))"
    assert expected in caught.value.message


@pytest.mark.clause("case:C4")
def test_a_long_line_is_cut_with_the_number_of_characters_left_out() -> None:
    row = numbered_row(7, "x" * 5000)
    assert row.startswith("7:" + "x" * 2000 + "… ")
    assert "3,000 more characters" in row


@pytest.mark.clause("case:C4")
def test_a_view_over_its_budget_ends_at_a_whole_row_and_says_where_to_go_on() -> None:
    view = window_view("f.txt", ["é" * 10] * 1000, max_bytes=2_000)
    shown = numbers(view.text)
    assert len(view.text.encode()) <= 2_000
    assert shown == list(range(1, len(shown) + 1))
    assert f"lines 1-{shown[-1]} of 1000; the output limit is reached" in view.text
    assert f"continue with offset {shown[-1] + 1}" in view.text


@settings(max_examples=60)
@given(
    st.lists(st.text(max_size=300), max_size=60),
    st.integers(1, 70),
    st.none() | st.integers(1, 70),
    st.integers(400, 5000),
)
def test_windows_are_bounded_and_continuing_them_shows_every_line_once(
    raw: list[str], offset: int, limit: int | None, budget: int
) -> None:
    lines = [line.replace("\n", " ") for line in raw]
    if offset > max(1, len(lines)):
        return
    view = window_view("f", lines, offset=offset, limit=limit, max_bytes=budget)
    assert len(view.text.encode()) <= budget + 400
    if lines:
        last = len(lines) if limit is None else min(len(lines), offset + limit - 1)
        assert view.start_line == offset
        assert offset <= view.end_line <= last


@pytest.mark.clause("T3.6", "T3.7", "T3.8")
def test_a_snapshot_without_focus_is_head_and_tail() -> None:
    lines = [f"line-{number}" for number in range(1, 81)]
    view = snapshot_view("f.txt", lines)
    assert numbers(view.text) == [*range(1, 29), *range(73, 81)]
    assert "\n28:line-28\n…\n73:line-73\n" in view.text
    assert "36 of 80 lines" in view.text
    assert snapshot_view("f.txt", lines[:36]).text.endswith("36:line-36")


@pytest.mark.clause("T3.6")
def test_a_snapshot_with_focus_shows_two_lines_around_each() -> None:
    view = snapshot_view("f.txt", ["x"] * 80, [10, 11, 50, 0, 99])
    assert numbers(view.text) == [*range(8, 14), *range(48, 53)]


@pytest.mark.clause("T3.9")
def test_the_rows_of_many_hunks_are_capped_at_forty() -> None:
    view = snapshot_view("f.txt", ["x"] * 1000, range(10, 1000, 10))
    assert len(numbers(view.text)) == 40
    wide = snapshot_view("f.txt", ["x"] * 1000, range(100, 300))
    assert numbers(wide.text) == list(range(98, 138))


def test_a_snapshot_stays_within_its_budget() -> None:
    view = snapshot_view("f.txt", ["x" * 1999] * 36, max_bytes=8_000)
    assert len(view.text.encode()) <= 8_000
    assert "of 36 lines shown" in view.text


@pytest.mark.clause("T3.5")
@given(
    lines=st.lists(st.text("aé\U0001f600", max_size=6), min_size=1, max_size=12),
    slack=st.integers(-25, 25),
)
def test_as_many_whole_rows_are_shown_as_fit_to_the_byte(lines: list[str], slack: int) -> None:
    sizes = [len(f"{number}:{line}\n".encode()) for number, line in enumerate(lines, 1)]
    room = sum(sizes) + slack
    fitting = sum(sum(sizes[: count + 1]) <= room for count in range(len(sizes)))
    view = window_view("f", lines, max_bytes=room + len("f") + numbered._FOOTER_RESERVE)
    assert view.end_line == max(1, fitting)
    if fitting == len(lines):
        assert view.text == "\n".join(["f", *(f"{n}:{x}" for n, x in enumerate(lines, 1))])
