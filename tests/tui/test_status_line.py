"""The status line: formats, vanish order, widths."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from rho_tui.transcript.wrap import text_width
from rho_tui.widgets.status_layout import (
    StatusFacts,
    StatusRow,
    format_money,
    format_tokens,
    layout_status,
    shorten_place,
)
from rho_tui.widgets.status_line import StatusLine
from tests.tui.terminal import HOSTILE, assert_no_controls, screen_text, settle, until

FACTS = StatusFacts(
    cwd="/home/me/code/rho",
    home="/home/me",
    branch="main",
    permission="Supervised",
    provider="OpenAI",
    model="gpt-5.6-sol",
    reasoning="medium",
    context_tokens=6000,
    context_window=1_000_000,
    cost=0.1234,
    rate=87.6,
)


def text(row: StatusRow) -> str:
    left = "".join(part for part, _ in row.left)
    right = "".join(part for part, _ in row.right)
    return f"{left} | {right}"


@pytest.mark.clause("APP1.33", "APP1.35", "APP1.37", "APP1.41")
def test_everything_fits_a_wide_terminal() -> None:
    place, facts = layout_status(FACTS, 120)
    assert text(place) == "~/code/rho (main) | "
    assert text(facts) == (
        "6.0K (0.6%) · $0.123 · 88 tok/s | Supervised · OpenAI · gpt-5.6-sol · medium"
    )


@pytest.mark.clause("APP1.38")
def test_fields_vanish_in_the_documented_order() -> None:
    gone: list[str] = []
    marks = {
        "reasoning": "medium",
        "rate": "tok/s",
        "provider": "OpenAI",
        "cost": "$",
        "context": "6.0K",
        "model": "gpt",
        "permission": "Supervised",
    }
    for width in range(100, -1, -1):
        shown = text(layout_status(FACTS, width)[1])
        for name, mark in marks.items():
            if mark not in shown and name not in gone:
                gone.append(name)
    assert gone == list(marks)


@pytest.mark.clause("APP1.38")
def test_signed_out_says_so_until_the_very_end() -> None:
    facts = replace(FACTS, signed_in=False)
    assert "not signed in · /login" in text(layout_status(facts, 80)[1])
    assert "OpenAI" not in text(layout_status(facts, 80)[1])
    assert "not signed in" in text(layout_status(facts, 14)[1])
    assert "not sig…" in text(layout_status(facts, 8)[1])


@pytest.mark.clause("APP1.36")
@pytest.mark.parametrize(
    ("tokens", "style"), [(74_999, "muted"), (75_000, "warning"), (90_000, "error")]
)
def test_a_full_context_warns(tokens: int, style: str) -> None:
    facts = replace(FACTS, context_tokens=tokens, context_window=100_000)
    assert layout_status(facts, 100)[1].left[0][1] == style


@pytest.mark.clause("APP1.35")
def test_unknown_context_is_a_question_mark_and_an_unknown_window_has_no_percent() -> None:
    unknown = layout_status(replace(FACTS, context_tokens=None), 100)[1]
    assert unknown.left[0] == ("?", "warning")
    no_window = layout_status(replace(FACTS, context_window=None), 100)[1]
    assert no_window.left[0][0] == "6.0K"


@pytest.mark.clause("APP1.39")
@pytest.mark.parametrize(
    ("tokens", "shown"),
    [(0, "0"), (999, "999"), (1000, "1.0K"), (999_949, "999.9K"), (999_950, "1.0M")],
)
def test_token_format(tokens: int, shown: str) -> None:
    assert format_tokens(tokens) == shown


@pytest.mark.clause("APP1.39")
@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(0, "$0.000"), (9.9994, "$9.999"), (9.9996, "$10.00"), (99.994, "$99.99"), (100, "$100")],
)
def test_money_format(dollars: float, shown: str) -> None:
    assert format_money(dollars) == shown


@pytest.mark.clause("APP1.33")
@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (40, "/a/long/path/project (main)"),
        (26, "…/long/path/project (main)"),
        (16, "…/project (main)"),
        (15, "…/path/project"),
        (9, "…/project"),
        (7, "project"),
        (5, "…ject"),
        (0, ""),
    ],
)
def test_the_place_keeps_its_last_segment(width: int, shown: str) -> None:
    assert shorten_place("/a/long/path/project", "main", width) == shown


@given(
    st.integers(0, 130),
    st.text(max_size=30),
    st.text(max_size=30),
    st.booleans(),
    st.none() | st.integers(0, 10**9),
)
@settings(max_examples=100)
def test_no_row_is_ever_wider_than_the_terminal(
    width: int, path: str, model: str, signed_in: bool, tokens: int | None
) -> None:
    facts = replace(
        FACTS, cwd=path, branch=model, model=model, signed_in=signed_in, context_tokens=tokens
    )
    for row in layout_status(facts, width):
        assert sum(text_width(part) for part, _ in (*row.left, *row.right)) <= width


class StatusApp(App):
    def compose(self) -> ComposeResult:
        yield StatusLine(FACTS)


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark"])
async def test_hostile_facts_are_shown_and_harmless(theme: str) -> None:
    app = StatusApp()
    app.theme = theme
    async with app.run_test(size=(100, 10)) as pilot:
        await until(pilot, lambda: "gpt-5.6-sol" in screen_text(app))
        line = app.query_one(StatusLine)
        line.facts = replace(FACTS, cwd=f"/x/{HOSTILE}", model="[/red]\x1b[2J", branch="")
        await until(pilot, lambda: "[/red]␛[2J" in screen_text(app))
        assert_no_controls(app)
        await pilot.resize_terminal(20, 5)
        await settle(pilot)
        assert_no_controls(app)
