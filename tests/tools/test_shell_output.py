"""Capture, plain text and the report of a command's output (16.7–16.10, 30.4, A10–A12)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.tools.shell.capture import LIVE_LIMIT, LiveText, OutputCapture, StreamCapture
from rho_core.tools.shell.command import CommandExit
from rho_core.tools.shell.environment import shell_environment
from rho_core.tools.shell.report import shell_report
from rho_core.tools.shell.run import ShellResult
from rho_core.tools.shell.terminal_text import plain_text


def result_of(
    stdout: bytes,
    stderr: bytes = b"",
    *,
    limit: int = 1_000,
    code: int = 0,
    timed_out: bool = False,
) -> ShellResult:
    capture = OutputCapture(limit)
    for begin in range(0, len(stdout), 700):
        capture.feed(0, stdout[begin : begin + 700])
    capture.feed(1, stderr)
    return ShellResult(CommandExit(code, 1.25, timed_out=timed_out), capture, False)


@pytest.mark.clause("case:A11", "case:A12")
@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("plain", "plain"),
        ("tab\there\n", "tab\there\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1bPq#0;2\x1b\\after", "after"),
        ("\x1b(Bok\x1b=", "ok"),
        ("\x9b31mred", "red"),
        ("crlf\r\nnext\r\n", "crlf\nnext\n"),
        ("10%\r50%\r100%\r\n", "100%\n"),
        ("10%\x1b[K\r50%\x1b[K\r", "50%"),
        ("a\x00b\x07c\x7f", "abc"),
        ("_\bA_\bB", "AB"),
        ("\b\b\bx", "x"),
        ("unfinished \x1b[", "unfinished "),
        ("unfinished \x1b]0;title", "unfinished "),
        ("漢字 😀", "漢字 😀"),
    ],
)
def test_plain_text_is_what_a_person_would_have_read(raw: str, plain: str) -> None:
    assert plain_text(raw) == plain


@settings(max_examples=100)
@given(st.text(alphabet=st.sampled_from("a\x1b[]0;m\x07\\\r\n\b\t\x00\x9bPK漢")))
def test_plain_text_never_holds_a_control_character(raw: str) -> None:
    plain = plain_text(raw)
    assert all(character in "\t\n" or character.isprintable() for character in plain)
    assert plain_text(plain) == plain


@settings(max_examples=60)
@given(st.lists(st.text("abc\n", max_size=40), max_size=30), st.integers(1, 50))
def test_a_stream_keeps_its_exact_head_and_tail(parts: list[str], limit: int) -> None:
    stream = StreamCapture(limit)
    for part in parts:
        stream.feed(part.encode())
    whole = "".join(parts)
    assert stream.total == len(whole)
    if stream.is_complete:
        assert stream.head() == whole
    else:
        assert stream.head() == whole[:limit]
        assert stream.tail() == whole[-limit:]
        assert len(whole) > limit


@pytest.mark.clause("T30.4")
def test_the_report_counts_exactly_what_it_leaves_out() -> None:
    whole = "".join(f"line {n}\n" for n in range(5_000))
    text = shell_report(result_of(whole.encode()), 1_000, timeout_seconds=None).text
    assert len(text.encode()) <= 1_000
    head, _, rest = text.removeprefix("stdout:\n").partition("\n[… ")
    count, _, tail = rest.partition(" bytes left out …]\n")
    tail = tail.removesuffix("\n\ntime: 1.2s") + "\n"
    assert whole.startswith(head + "\n")
    assert whole.endswith(tail)
    assert int(count) == len(whole) - len(head + "\n") - len(tail)


@pytest.mark.clause("T2.18", "T16.10")
@settings(max_examples=80)
@given(
    st.binary(max_size=6_000),
    st.binary(max_size=6_000),
    st.integers(300, 3_000),
    st.sampled_from([0, 1, -9]),
)
def test_the_report_fits_its_budget_and_keeps_its_footer(
    stdout: bytes, stderr: bytes, budget: int, code: int
) -> None:
    result = result_of(stdout, stderr, limit=budget, code=code)
    text = shell_report(result, budget, timeout_seconds=None).text
    assert len(text.encode()) <= budget
    footer = text.rpartition("\n\n")[2]
    assert footer.startswith("time: 1.2s")
    assert ("exit code" in footer) == (code != 0)


@pytest.mark.clause("T2.18", "T16.12")
@pytest.mark.parametrize("budget", [200, 1_000, 5_000])
def test_the_report_of_a_timeout_fits_its_budget_and_keeps_both_ends(budget: int) -> None:
    whole = b"".join(b"line %d\n" % number for number in range(5_000))
    result = result_of(whole, b"e" * 5_000, limit=budget, code=-9, timed_out=True)
    text = shell_report(result, budget, timeout_seconds=2).text
    assert len(text.encode()) <= budget
    assert text.startswith("command timed out after 2s\n\nstdout:\nline 0\n")
    assert "4999\n\nstderr:\neee" in text
    assert text.endswith("eee")
    assert "time: " not in text


@pytest.mark.clause("T16.10")
def test_a_tiny_budget_still_shows_the_footer() -> None:
    text = shell_report(result_of(b"x" * 5_000, code=4), 1, timeout_seconds=None).text
    assert text.endswith("time: 1.2s  exit code: 4")


def test_a_quiet_stream_leaves_its_room_to_the_other() -> None:
    text = shell_report(result_of(b"o" * 50, b"e" * 5_000), 1_000, timeout_seconds=None).text
    assert "o" * 50 in text
    assert text.count("e") > 700


@pytest.mark.clause("case:A10")
@settings(max_examples=60)
@given(st.text(max_size=200), st.integers(1, 7))
def test_live_text_decodes_characters_torn_between_reads(text: str, step: int) -> None:
    data = text.encode("utf-8", "replace")
    live = LiveText(lambda: None)
    shown = ""
    for begin in range(0, len(data), step):
        live.feed(0, data[begin : begin + step])
        shown += live.take()
    assert shown == data.decode()


@pytest.mark.clause("T16.14")
def test_live_text_is_bounded_and_says_what_it_dropped() -> None:
    live = LiveText(lambda: None)
    for _ in range(100):
        live.feed(0, b"x" * 65_536)
    text = live.take()
    assert len(text) < 3 * LIVE_LIMIT
    assert "bytes not shown live" in text
    assert live.take() == ""


def test_a_spill_folder_that_cannot_be_made_costs_only_the_file(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    capture = OutputCapture(10, spill_folder=blocked / "spill")
    capture.feed(0, b"x" * 100)
    capture.close()
    assert capture.spill is not None
    assert capture.spill.path is None
    result = ShellResult(CommandExit(0, 0.1), capture, False)
    text = shell_report(result, 400, timeout_seconds=None).text
    assert "output is in" not in text


@pytest.mark.clause("case:A3", "case:A16")
def test_fixed_variables_override_what_is_inherited() -> None:
    from rho_core.authority.capabilities import ProcessEnvironment

    parent = {"PAGER": "less", "EDITOR": "vi", "FORCE_COLOR": "1", "KEY": "secret", "KEEP": "1"}
    child = shell_environment(ProcessEnvironment.inherit_except(["KEY"]), parent, "/somewhere")
    assert child["PAGER"] == "cat"
    assert child["GIT_EDITOR"] == "true"
    assert child["KEEP"] == "1"
    assert child["PWD"] == "/somewhere"
    assert "KEY" not in child
    assert "FORCE_COLOR" not in child
