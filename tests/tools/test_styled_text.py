"""Colours beside the plain text of a command's output: where they stand, cut and bounded."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.tools.shell.capture import OutputCapture
from rho_core.tools.shell.command import CommandExit
from rho_core.tools.shell.report import shell_report
from rho_core.tools.shell.run import ShellResult
from rho_core.tools.shell.styled_text import MAX_STYLE_CHARACTERS, StyledText
from rho_core.tools.shell.terminal_text import plain_text

RED, OFF = "\x1b[31m", "\x1b[0m"
HOSTILE = st.text(st.sampled_from("ab\x1b[]0;13m\x07\\\r\n\b\t\x00\x9bPK漢"), max_size=60)


@pytest.mark.clause("case:A11")
@pytest.mark.parametrize(
    ("raw", "text", "marks"),
    [
        ("plain", "plain", ()),
        (f"{RED}red{OFF} not", "red not", ((0, "31"), (3, "0"))),
        (f"a\n{RED}b\nc{OFF}\nd", "a\nb\nc\nd", ((2, "31"), (5, "0"))),
        ("\x1b[1m\x1b[38;5;200mx\x1b[m", "x", ((0, "1"), (0, "38;5;200"), (1, "0"))),
        (f"{OFF}x{OFF}{OFF}y", "xy", ()),
        (f"{RED}{OFF}x", "x", ()),
        ("\x1b[2J\x1b[?1003h\x1b]0;t\x07\x9b31mx", "x", ((0, "31"),)),
        (f"{RED}50%{OFF}\r\x1b[32m100%{OFF}", "100%", ((0, "32"), (4, "0"))),
        (f"ok{RED}|{OFF}\b{RED}/{OFF}", "ok/", ((2, "31"), (3, "0"))),
        (f"a\x00{RED}b", "ab", ((1, "31"),)),
    ],
)
def test_colours_are_told_by_their_offset(
    raw: str, text: str, marks: tuple[tuple[int, str], ...]
) -> None:
    assert StyledText.read(raw) == StyledText(text, marks)


@settings(max_examples=100)
@given(HOSTILE)
def test_the_text_is_what_the_model_reads(raw: str) -> None:
    styled = StyledText.read(raw)
    assert styled.text == plain_text(raw)
    offsets = [offset for offset, _ in styled.marks]
    assert offsets == sorted(offsets)
    assert all(re.fullmatch(r"[0-9;:]*", arguments) for _, arguments in styled.marks)


def in_force(styled: StyledText) -> list[str]:
    """For each character the sequences that hold there, from the last reset on."""
    found = []
    held: list[str] = []
    marks = list(styled.marks)
    for at in range(len(styled.text)):
        while marks and marks[0][0] <= at:
            arguments = marks.pop(0)[1]
            held = [] if arguments == "0" else [*held, arguments]
        found.append("+".join(held))
    return found


STYLED = st.lists(st.sampled_from(["ab", "c\n", RED, OFF, "\x1b[1m", "漢"]), max_size=12).map(
    lambda parts: StyledText.read("".join(parts))
)


@settings(max_examples=100)
@given(STYLED, st.integers(0, 12), st.integers(0, 12))
def test_a_cut_keeps_the_colour_of_every_character(styled: StyledText, a: int, b: int) -> None:
    start, end = sorted((min(a, len(styled.text)), min(b, len(styled.text))))
    part = styled.cut(start, end)
    assert part.text == styled.text[start:end]
    assert in_force(part) == in_force(styled)[start:end]


@settings(max_examples=60)
@given(st.lists(STYLED, max_size=4))
def test_no_colour_reaches_into_the_part_that_follows(parts: list[StyledText]) -> None:
    joined = StyledText.join("--", [*parts, "end"])
    assert joined.text == "--".join([*(part.text for part in parts), "end"])
    expected = [force for part in parts for force in [*in_force(part), "", ""]]
    assert in_force(joined) == [*expected, "", "", ""]


def test_too_many_colours_are_left_out_in_the_middle() -> None:
    styled = StyledText.read(f"{RED}x{OFF}y" * 20_000)
    kept = styled.styles()
    assert sum(12 + len(str(arguments)) for _, arguments in kept) <= MAX_STYLE_CHARACTERS + 13
    assert kept[:2] == [[0, "31"], [1, "0"]]
    assert kept[-2:] == [[39_998, "31"], [39_999, "0"]]
    assert StyledText.read(f"{RED}x").styles() == [[0, "31"]]


@pytest.mark.parametrize("raw", [RED * 30_000 + "\b" * 60_000, f"a{RED}\b" * 20_000, "\r" * 90_000])
def test_hostile_output_is_read_in_linear_time(raw: str) -> None:
    began = time.monotonic()
    assert StyledText.read(RED + raw).text == plain_text(RED + raw)
    assert time.monotonic() - began < 5


def result_of(stdout: str, stderr: str = "", *, limit: int = 1_000) -> ShellResult:
    capture = OutputCapture(limit)
    capture.feed(0, stdout.encode())
    capture.feed(1, stderr.encode())
    return ShellResult(CommandExit(0, 1.25), capture, False)


@pytest.mark.clause("T16.7")
def test_the_report_tells_the_colours_of_its_own_text() -> None:
    report = shell_report(result_of(f"{RED}out", "\x1b[1merr"), 1_000, timeout_seconds=None)
    assert report.text == "stdout:\nout\n\nstderr:\nerr\n\ntime: 1.2s"
    assert report.facts["styles"] == [[8, "31"], [11, "0"], [21, "1"], [24, "0"]]
    plain = shell_report(result_of("out"), 1_000, timeout_seconds=None)
    assert "styles" not in plain.facts


@pytest.mark.clause("T30.4")
def test_the_head_and_the_tail_keep_their_colours() -> None:
    lines = "".join(f"{RED}line {n:04}{OFF} ok\n" for n in range(2_000))
    report = shell_report(result_of(lines), 1_000, timeout_seconds=None)
    text = report.text
    marks = tuple((offset, arguments) for offset, arguments in report.facts["styles"])
    styled = StyledText(text, marks)
    force = in_force(styled)
    numbers = list(re.finditer(r"^line \d{4}", text, re.MULTILINE))
    assert numbers[0].group() == "line 0000"
    assert numbers[-1].group() == "line 1999"
    for number in numbers:
        assert set(force[number.start() : number.end()]) == {"31"}
    assert {force[at] for at, char in enumerate(text) if char in "[…]k:"} == {""}
