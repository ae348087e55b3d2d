from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from rho_tui.transcript.lines import LineRows, PlainLines, mark_runs
from rho_tui.transcript.rows import Prefixed, RowList
from rho_tui.transcript.wrap import (
    cell_height,
    column_at,
    crop_cells,
    wrap_cells,
    wrap_words,
)

TEXT = st.text(st.sampled_from("ab ,漢字é\u0301👩\u200d👧❤\ufe0f🇩🇪 \n"), max_size=60)


def words(text: str, width: int) -> list[str]:
    return [row.text for row in wrap_words([(text, "", "")], width)]


def test_prose_breaks_at_spaces_and_long_words_are_cut() -> None:
    assert words("hello world foo bar", 8) == ["hello", "world", "foo bar"]
    assert words("aaaaaaa b", 3) == ["aaa", "aaa", "a b"]
    assert words("  indented text", 10) == ["  indented", "text"]
    assert words("a\n\nb", 5) == ["a", "", "b"]


@pytest.mark.clause("case:D11")
def test_wide_characters_never_exceed_the_width() -> None:
    text = "漢字，👩‍👩‍👧 e\u0301 🇩🇪 abc"
    for width in range(2, 20):
        for row in wrap_words([(text, "", "")], width):
            assert cell_len(row.text) <= width


@settings(max_examples=100)
@given(TEXT, st.integers(1, 20), st.integers(0, 60))
def test_wrapping_keeps_every_character_and_its_style(text: str, width: int, cut: int) -> None:
    spans = [(text[:cut], "bold", ""), (text[cut:], "", "http://x")]
    rows = wrap_words(spans, width)
    joined = "".join(row.text + row.join for row in rows)
    assert [line.rstrip(" ") for line in joined.removesuffix("\n").split("\n")] == [
        line.rstrip(" ") for line in text.split("\n")
    ]
    for row in rows:
        assert "\n" not in row.text
        linked = "".join(piece for piece, key in row.runs if not key)
        assert linked == "".join(row.text[hit.start : hit.end] for hit in row.hits)


@settings(max_examples=100)
@given(TEXT, st.integers(2, 20))
def test_cutting_at_cells_keeps_the_line_and_its_height(text: str, width: int) -> None:
    line = text.replace("\n", "")
    rows = wrap_cells([(line, "")], width)
    assert "".join(row.text for row in rows) == line
    assert len(rows) == cell_height(line, width)


def test_a_line_of_a_megabyte_is_measured_and_cut() -> None:
    rows = LineRows(PlainLines("x" * 1_000_000), 100)
    assert rows.height == 10_000
    assert rows.rows(9_999, 10_000)[0].text == "x" * 100


def test_marks_fall_on_their_characters_before_tabs_are_expanded() -> None:
    runs = mark_runs([("one\t", "dim"), ("two\tend", "")], [(0, 3), (4, 7)], "bg:mark")
    assert runs == [
        ("one", "dim bg:mark"),
        ("     ", "dim"),
        ("two", "bg:mark"),
        ("     end", ""),
    ]


def test_only_rows_asked_for_are_made() -> None:
    made: list[int] = []

    class Counting(PlainLines):
        def runs(self, index: int) -> list[tuple[str, str]]:
            made.append(index)
            return super().runs(index)

    rows = LineRows(Counting("line\n" * 50_000), 80)
    assert rows.height == 50_000
    assert len(rows.rows(40_000, 40_030)) == 30
    assert made == list(range(40_000, 40_030))


def test_decoration_is_not_copied_but_its_source_is() -> None:
    body = RowList(wrap_words([("one two three", "", "")], 8))
    rows = Prefixed(body, (("• ", "b"),), (("  ", ""),), first_copy="- ", rest_copy="  ").rows(0, 2)
    assert [row.text for row in rows] == ["• one two", "  three"]
    assert "".join(row.copied() + row.join for row in rows) == "- one two three\n"
    assert rows[0].copied(3, 5) == "ne"


def test_cropping_and_column_lookup_count_cells() -> None:
    assert crop_cells("abcdef", 4) == "abc…"
    assert crop_cells("漢字漢字", 5) == "漢字…"
    assert crop_cells("abc", 3) == "abc"
    assert [column_at("a漢b", cell) for cell in range(5)] == [0, 1, 1, 2, 3]
