"""What `grep` found, drawn: paths, numbers, marked matches, long lines cut around them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.tooling.values import ToolOutput, ToolSucceeded
from rho_core.tools.search.grep import GrepTool
from rho_core.tools.search.regex import LineMatcher
from rho_tui.transcript.blocks import CardHeader, CardStatus, SearchBody, TextBody, ToolCard
from rho_tui.transcript.card_rows import CardRows
from rho_tui.transcript.rows import Row, all_rows
from rho_tui.transcript.search_rows import SearchLines, SearchRows
from rho_tui.transcript.tool_cards import CallFacts, tool_card
from rho_tui.transcript.wrap import text_width
from tests.tools.tool_calls import ToolCalls


async def found(folder: Path, **arguments: Any) -> ToolCard:
    """The card of a real search."""
    output: ToolOutput = await ToolCalls(GrepTool(use_global_excludes=False), folder).run(
        **arguments
    )
    return tool_card(CallFacts("grep", arguments, completion=ToolSucceeded(output)))


def rows(card: ToolCard, width: int = 80, *, expanded: bool = False) -> list[Row]:
    return all_rows(CardRows(card, width, expanded=expanded, max_rows=20))


def body(card: ToolCard, width: int = 80) -> list[Row]:
    return rows(card, width)[1 + len(card.facts) :]


def marked(row: Row) -> list[str]:
    return [text for text, key in row.runs if "bg:mark" in key]


def searched(text: str, pattern: str, **options: bool) -> ToolCard:
    return ToolCard(CardHeader("grep"), CardStatus.OK, (), (SearchBody(text, pattern, **options),))


@pytest.mark.clause("APP2.29")
async def test_path_number_and_match_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nneedle = needle + 1\n")
    (tmp_path / "b.py").write_text("# a needle\n")
    card = await found(tmp_path, pattern="ne+dle")
    assert [fact.text for fact in card.facts] == ["2 matches in 2 files"]
    shown = body(card)
    assert [row.text.strip() for row in shown] == [
        "a.py",
        "2 | needle = needle + 1",
        "b.py",
        "1 | # a needle",
    ]
    assert shown[0].runs[-1] == ("a.py", "primary")
    assert ("2 | ", "muted") in shown[1].runs
    assert marked(shown[1]) == ["needle", "needle"]
    assert marked(shown[3]) == ["needle"]


async def test_notes_of_an_incomplete_search_stay_and_are_dim(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hit\n" * 5)
    shown = body(await found(tmp_path, pattern="hit", max_per_file=2))
    assert [row.text.strip() for row in shown[3:5]] == ["... +3 more in this file", ""]
    assert shown[3].runs[-1][1] == "muted"
    assert "2 matches shown (5 total)" in shown[5].text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"pattern": "a.c"}, ["abc"]),
        ({"pattern": "a.c", "literal": True}, ["a.c"]),
        ({"pattern": "ABC", "case_sensitive": False}, ["abc"]),
        ({"pattern": "^\\S+"}, ["漢abc"]),
        ({"pattern": "d+$"}, ["dd"]),
        ({"pattern": "x*"}, []),
    ],
)
async def test_matches_are_those_of_the_call(
    tmp_path: Path, arguments: dict[str, Any], expected: list[str]
) -> None:
    (tmp_path / "f").write_text("漢abc a.c dd\n")
    row = body(await found(tmp_path, **arguments))[1]
    assert marked(row)[:1] == expected[:1]


async def test_modes_without_lines_have_nothing_to_mark(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("hit\n")
    card = await found(tmp_path, pattern="hit", output_mode="files_with_matches")
    assert card.bodies == (TextBody("f\n\n1 files"),)


@pytest.mark.clause("case:C4")
async def test_a_long_line_is_cut_around_its_match(tmp_path: Path) -> None:
    (tmp_path / "a.min.js").write_text("x" * 400 + " stats " + "y" * 400)
    card = await found(tmp_path, pattern="stats")
    (line,) = body(card)[1:2]
    assert text_width(line.text) == 80
    assert marked(line) == ["stats"]
    before, after = line.text.split("stats")
    assert before.startswith("    1 | …x")
    assert after.endswith("y…")
    assert abs(len(before) - 8 - len(after)) <= 2
    assert body(card)[-1].text == "    ... lines are cut, ctrl+o to expand"
    whole = "".join(row.text.strip() for row in rows(card, expanded=True)[3:])
    assert whole.count("y") > 100
    assert whole.endswith("ctrl+o to collapse")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("hit" + "y" * 90, "hit" + "y" * 28 + "…"),
        ("x" * 90 + "hit", "…" + "x" * 28 + "hit"),
        ("x" * 21 + "hit" + "y" * 90, "x" * 21 + "hit" + "y" * 7 + "…"),
        ("x" * 40 + "h" + "i" * 60 + "t" + "y" * 90, "…h" + "i" * 29 + "…"),
        ("漢" * 40 + "hit" + "字" * 40, "…" + "漢" * 7 + "hit" + "字" * 6 + "…"),
    ],
)
def test_where_the_cut_falls(line: str, shown: str) -> None:
    (row,) = body(searched(f"7 | {line}", "hi+t"), 40)[:1]
    assert row.text == f"    7 | {shown}"
    assert text_width(row.text) <= 40
    assert marked(row)


def test_a_line_without_a_match_and_a_narrow_window_are_cut_at_the_end() -> None:
    assert body(searched("7 | " + "x" * 90, "no"), 40)[0].text == "    7 | " + "x" * 31 + "…"
    assert body(searched("a/" * 40 + "\n7 | x", "x"), 40)[0].text == "    " + "a/" * 17 + "a…"
    assert body(searched("7 | " + "x" * 90, "x"), 12)[0].text == "    7 | xxx…"


@pytest.mark.clause("case:A11", "case:D1")
def test_hostile_lines_and_patterns_are_shown_as_they_are() -> None:
    text = "[/red]\x1b[2J\n1 | [bold]\x1b]0;x\x07\u2028\u202e hit\tend"
    row = body(searched(text, "hit"))[1]
    assert row.text == "    1 | [bold]␛]0;x␇␤\N{REPLACEMENT CHARACTER} hit  end"
    assert marked(row) == ["hit"]
    for pattern in ("(", "(?=a)", "a" * 70_000, "\ud800"):
        assert marked(body(searched("1 | hit", pattern))[0]) == []


def test_a_huge_line_costs_no_more_than_its_beginning() -> None:
    line = "a漢" * 500_000
    began = time.monotonic()
    card = searched(f"1 | {line}\n" * 3, "(a|漢)*b|a")
    assert len(body(card)) == 4
    assert time.monotonic() - began < 8


@settings(max_examples=100)
@given(
    st.text(st.sampled_from("ab漢é\u0301😀 \t…|"), max_size=60),
    st.sampled_from(["a", "a+b", "漢|b", ".", "", "^a", "b$"]),
    st.integers(5, 60),
)
def test_every_row_fits_and_is_part_of_its_line(line: str, pattern: str, width: int) -> None:
    (row,) = SearchRows(SearchLines(SearchBody(f"3 | {line}", pattern)), width).rows(0, 1)
    assert text_width(row.text) <= width
    whole = f"3 | {line}".expandtabs(8)
    assert row.text.removesuffix("…").removeprefix("3 | ").removeprefix("…") in whole


@settings(max_examples=60)
@given(st.text("ab漢é😀", max_size=30))
def test_spans_are_characters(line: str) -> None:
    for start, end in LineMatcher("[a漢]+").spans(line):
        assert set(line[start:end]) <= {"a", "漢"}
        assert line[start - 1 : start] not in ("a", "漢")
        assert line[end : end + 1] not in ("a", "漢")
    covered = sum(end - start for start, end in LineMatcher("[a漢]+").spans(line))
    assert covered == line.count("a") + line.count("漢")
