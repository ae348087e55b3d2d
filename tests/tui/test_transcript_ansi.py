from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_tui.transcript.ansi import AnsiText, ansi_runs
from rho_tui.transcript.lines import LineRows
from rho_tui.transcript.sanitize import is_clean

ESCAPES = st.sampled_from(
    [
        "\x1b",
        "[",
        "31",
        ";",
        "m",
        "0",
        "\r",
        "\b",
        "\n",
        "\t",
        "]0;t",
        "\x07",
        "\x1b\\",
        "\x9b",
        "K",
        "G",
        "38;5;9",
        "48;2;1;2;3",
        "a",
        "bc ",
        "漢",
        "\x00",
        "P",
        "?25l",
        "\x1b[0m",
        ":",
    ]
)


def shown(line: str) -> str:
    return "".join(text for text, _ in ansi_runs(line))


@pytest.mark.clause("case:A11")
def test_control_sequences_of_the_case_leave_plain_red_done() -> None:
    line = "\x1b[2J\x1b[H\x1b[31mred\x1b[0m\x1b[?1003h\x1b]0;x\x07 done"
    assert ansi_runs(line) == [("red", "fg:1"), (" done", "")]


def test_all_colour_forms_and_attributes() -> None:
    line = (
        "\x1b[1;3;4;7;91;42mA\x1b[22;23;24;27mB\x1b[39;49mC\x1b[38;5;200mD\x1b[48;2;1;2;3mE\x1b[mF"
    )
    assert ansi_runs(line) == [
        ("A", "bold italic reverse underline fg:9 bg:2"),
        ("B", "fg:9 bg:2"),
        ("C", ""),
        ("D", "fg:200"),
        ("E", "fg:200 bg:#010203"),
        ("F", ""),
    ]


def test_malformed_colours_are_ignored() -> None:
    for args in ("38;5", "38;2;1", "38;5;999", "48;2;300;0;0", "99999999999", "38", ";;;38;7"):
        assert shown(f"\x1b[{args}mx") == "x"


def test_progress_bars_show_their_last_state() -> None:
    assert shown("10%\r20%\r\x1b[K30%") == "30%"
    assert shown("abcdef\rXY") == "XYcdef"
    assert shown("abc\b\bX") == "aXc"
    assert shown("50%\r") == "50%"
    assert shown("a\x1b[5Gb") == "a   b"


def test_strings_sequences_and_incomplete_ones_are_dropped() -> None:
    assert shown("a\x1bPq#0\x1b\\b") == "ab"
    assert shown("a\x1b_x\x1b\\b\x1b^y\x1b\\c") == "abc"
    assert shown("a\x1b") == "a"
    assert shown("a\x1b[31") == "a"
    assert shown("a\x9d0;t\x9cb\x90z\x9cc\x85d") == "abcd"


def test_tabs_go_to_the_next_stop_of_the_line() -> None:
    assert shown("a\tb\x1b[31m\tc") == "a       b       c"


def test_bidi_and_surrogates_in_output_are_replaced() -> None:
    assert shown("a\u202eb\ud800") == "a�b�"


def test_colour_carries_over_lines_until_it_is_reset() -> None:
    text = AnsiText("\x1b[32mone\ntwo\nthree\x1b[0m\nfour\n")
    assert [text.runs(index) for index in range(len(text))] == [
        [("one", "fg:2")],
        [("two", "fg:2")],
        [("three", "fg:2")],
        [("four", "")],
    ]
    assert AnsiText("\x1b[32mone\ntwo").runs(1) == [("two", "fg:2")]


def test_a_line_far_down_is_styled_without_reading_from_the_top() -> None:
    text = AnsiText("\x1b[31mred\n" * 50_000)
    assert text.runs(49_999) == [("red", "fg:1")]


@settings(max_examples=100)
@given(st.lists(ESCAPES, max_size=40), st.data())
def test_chunks_change_nothing_and_nothing_harmful_comes_out(
    parts: list[str], data: st.DataObject
) -> None:
    output = "".join(parts)
    whole = AnsiText(output)
    pieces = AnsiText()
    rest = output
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        pieces.feed(rest[:size])
        rest = rest[size:]
    assert len(whole) == len(pieces)
    for index in range(len(whole)):
        runs = whole.runs(index)
        assert runs == pieces.runs(index)
        assert all(is_clean(text) and "\n" not in text for text, _ in runs)
        assert whole.plain(index) == "".join(text for text, _ in runs)


@settings(max_examples=100)
@given(st.lists(ESCAPES, max_size=40), st.integers(1, 12))
def test_heights_by_arithmetic_are_those_of_the_rows(parts: list[str], width: int) -> None:
    text = AnsiText("".join(parts))
    rows = LineRows(text, width)
    assert rows.height == len(rows.rows(0, rows.height))
    assert rows.height == sum(text.height(index, width) for index in range(len(text)))
