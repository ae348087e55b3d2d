"""Lines and their view: wrapping, cropping, scrolling, themes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from rho_tui.transcript.rows import Row, RowList
from rho_tui.transcript.wrap import text_width
from rho_tui.widgets.divider import Divider, fit_captions
from rho_tui.widgets.line_view import LineView
from rho_tui.widgets.lines import Line, lay_out, text_line
from rho_tui.widgets.status_layout import StatusFacts
from rho_tui.widgets.status_line import StatusLine
from tests.tui.terminal import HOSTILE, HUGE, assert_no_controls, screen_text, settle, until


@given(
    st.lists(st.tuples(st.text(max_size=30), st.just("")), max_size=4),
    st.integers(1, 40),
    st.integers(0, 12),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=100)
def test_no_row_is_wider_than_the_view_and_no_word_is_lost(
    runs: list[tuple[str, str]], width: int, hang: int, exact: bool, crop: bool
) -> None:
    laid = lay_out([Line(tuple(runs), hang=hang, exact=exact, crop=crop)], width)
    for row in laid.rows:
        # One character that is wider than the view can't be helped.
        assert text_width(row.text) <= max(width, 2 + (hang if hang * 2 < width else 0))
    if crop:
        assert len(laid.rows) == 1
    elif exact and all(text.isascii() and text.isprintable() for text, _ in runs):
        shown = "".join(row.text for row in laid.rows)
        assert shown.replace(" ", "") == "".join(text for text, _ in runs).replace(" ", "")


def test_rows_hang_and_know_their_line() -> None:
    laid = lay_out([text_line("one two three", hang=2), text_line("x")], 8)
    assert [row.text for row in laid.rows] == ["one two", "  three", "x"]
    assert (laid.starts, laid.owners, laid.span(0), laid.span(1)) == (
        (0, 2),
        (0, 0, 1),
        (0, 2),
        (2, 3),
    )


def test_a_cropped_line_ends_in_an_ellipsis() -> None:
    line = Line((("abc", "x"), ("漢字漢字", "y")), crop=True)
    assert lay_out([line], 8).rows[0].runs == (("abc", "x"), ("漢字…", "y"))
    assert lay_out([line], 20).rows[0].text == "abc漢字漢字"
    assert lay_out([line], 1).rows[0].text == "…"


class ViewApp(App):
    CSS = "LineView { max-height: 5; }"

    def __init__(self, view: LineView) -> None:
        super().__init__()
        self.view = view
        self.clicked: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.view
        yield Divider()
        yield StatusLine(StatusFacts(cwd="/x", model="m"))

    def on_line_view_line_clicked(self, event: LineView.LineClicked) -> None:
        self.clicked.append(event.index)


async def test_it_scrolls_to_a_line_pages_and_says_what_is_hidden() -> None:
    view = LineView([text_line(f"line {number}") for number in range(30)])
    app = ViewApp(view)
    async with app.run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: "line 4" in screen_text(app))
        assert view.hidden_rows() == (0, 25)
        view.show_line(20)
        await until(pilot, lambda: view.visible_range() == (17, 21, 30))
        view.page(1)
        await until(pilot, lambda: view.hidden_rows() == (20, 5))
        await pilot.click(LineView, offset=(2, 1))
        await until(pilot, lambda: app.clicked == [21])


async def test_a_tail_is_drawn_below_the_lines_and_made_for_each_width() -> None:
    widths: list[int] = []

    def tail(width: int) -> RowList:
        widths.append(width)
        return RowList([Row(((f"tail {width}", ""),))])

    app = ViewApp(LineView([text_line("head")], tail=tail))
    async with app.run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: "head\ntail 40" in screen_text(app))
        await pilot.resize_terminal(30, 12)
        await until(pilot, lambda: "head\ntail 30" in screen_text(app))


@pytest.mark.parametrize("themes", [("textual-dark", "textual-light"), ("nord", "ansi-light")])
async def test_a_theme_switch_repaints_with_the_new_colours(themes: tuple[str, str]) -> None:
    app = ViewApp(LineView([text_line("word", "accent")]))
    app.theme = themes[0]

    def colours() -> set[object]:
        return {
            (segment.text, segment.style.color, segment.style.bgcolor)
            for strip in app.screen._compositor.render_strips()
            for segment in strip
            if segment.style and segment.text.strip()
        }

    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot)
        before = colours()
        app.theme = themes[1]
        await until(pilot, lambda: not (colours() & before))


async def test_hostile_lines_are_harmless() -> None:
    app = ViewApp(LineView([text_line(HOSTILE), text_line(HUGE), text_line("a\nb\tc")]))
    async with app.run_test(size=(120, 12)) as pilot:
        await until(pilot, lambda: "[/red] [b]x[/]" in screen_text(app))
        assert_no_controls(app)


def test_captions_shrink_left_first_then_the_right_one_goes() -> None:
    assert fit_captions("left", "right", 40) == (" left ", " right ")
    assert fit_captions("a long left caption", "right", 24) == (" a long left c…", " right ")
    assert fit_captions("a long left caption", "right", 14)[1] == ""
    assert fit_captions("", "", 10) == ("", "")
