"""One budget for all rows of a card below its header, whatever they are (APP2.24)."""

from __future__ import annotations

import pytest

from rho_tui.transcript.blocks import Body, CardHeader, CardStatus, DiffBody, Fact, TextBody
from rho_tui.transcript.blocks import ToolCard as Card
from rho_tui.transcript.diff import parse_diff
from rho_tui.transcript.layout import Space, lay_out
from rho_tui.transcript.rows import all_rows

pytestmark = pytest.mark.clause("APP2.24")

HEADER = "✓ tool(x)"
LONG_TEXT = TextBody("\n".join(f"line {number}" for number in range(1, 21)))


def diff(lines: int) -> DiffBody:
    body = "".join(f"+added {number}\n" for number in range(1, lines + 1))
    return DiffBody(f"--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1,{lines} @@\n{body}")


def rows(*bodies: Body, facts: int = 0, expanded: bool = False) -> list[str]:
    """The rows of a card that may show five below its header."""
    shown = tuple(Fact(f"fact {number}") for number in range(1, facts + 1))
    card = Card(CardHeader("tool", "x"), CardStatus.OK, shown, bodies)
    return [row.text for row in all_rows(lay_out(card, Space(60, expanded, 5)))]


def test_a_short_diff_is_shown_whole_and_offers_nothing() -> None:
    found = rows(diff(5))
    assert found[0] == HEADER
    assert [row.split("added ")[1] for row in found[1:]] == ["1", "2", "3", "4", "5"]
    assert found == rows(diff(5), expanded=True)


def test_a_diff_over_the_budget_collapses_like_any_body() -> None:
    for body in (diff(20), LONG_TEXT):
        found = rows(body)
        assert len(found) == 7
        assert found[-1] == "    ... 15 more lines, ctrl+o to expand"


def test_what_is_expanded_over_the_budget_offers_to_collapse() -> None:
    for body in (diff(20), LONG_TEXT):
        found = rows(body, expanded=True)
        assert len(found) == 22
        assert found[-1] == "    ctrl+o to collapse"


def test_facts_over_the_budget_are_hidden_too() -> None:
    found = rows(facts=8)
    assert found[1:] == [
        *(f"  ├ fact {number}" for number in range(1, 6)),
        "    ... 3 more lines, ctrl+o to expand",
    ]
    assert rows(facts=8, expanded=True)[-2:] == ["  └ fact 8", "    ctrl+o to collapse"]


def test_facts_and_body_share_the_budget() -> None:
    found = rows(LONG_TEXT, facts=2)
    assert found[1:] == [
        "  ├ fact 1",
        "  └ fact 2",
        "    line 1",
        "    line 2",
        "    line 3",
        "    ... 17 more lines, ctrl+o to expand",
    ]
    assert rows(TextBody("a\nb\nc"), facts=2)[-1] == "    c"


@pytest.mark.clause("APP2.31")
@pytest.mark.parametrize("after", ["/dev/null", "b/gone.txt"])
def test_a_deleted_file_keeps_its_name(after: str) -> None:
    (file,) = parse_diff(f"--- a/gone.txt\n+++ {after}\n@@ -1 +0,0 @@\n-bye\n").files
    assert (file.path, file.added, file.removed) == ("gone.txt", 0, 1)
