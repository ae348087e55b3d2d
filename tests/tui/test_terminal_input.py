"""The input parser: pastes stay whole whatever they hold, in whatever pieces they arrive."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events

from rho_tui.widgets.terminal_input import (
    PASTE_END,
    PASTE_START,
    PasteSafeParser,
    install_terminal_input,
    key_name,
)

install_terminal_input()
ESCAPES = st.sampled_from(
    ["\x1b", "\x1b[", "\x1b[31m", "\x1b]0;t\x07", "\r", "\n", "\x03", "x", "漢"]
)
PASTED = st.lists(ESCAPES | st.text(max_size=4), max_size=12).map("".join)


def fed(parser: PasteSafeParser, *reads: str) -> list[object]:
    found: list[object] = []
    for read in reads:
        for event in parser.feed(read):
            found.append(event.text if isinstance(event, events.Paste) else event.key)
    return found


@pytest.mark.clause("case:D7")
@given(PASTED, st.lists(st.integers(1, 9), max_size=40))
@settings(max_examples=100)
def test_a_paste_arrives_whole_in_any_pieces(text: str, sizes: list[int]) -> None:
    if PASTE_END in text + PASTE_END[:-1]:
        return
    data = f"a{PASTE_START}{text}{PASTE_END}b"
    reads = []
    at = 0
    for size in sizes:
        # A read that ends right behind ESC or ESC [ is a key of its own for any parser.
        end = at + size
        while data[:end].endswith(("\x1b", "\x1b[")) and end < len(data):
            end += 1
        reads.append(data[at:end])
        at = end
    reads.append(data[at:])
    got = fed(PasteSafeParser(), *[read for read in reads if read])
    assert got == ["a", text.replace("\x00", ""), "b"]


def test_an_escape_before_a_paste_is_a_key_of_its_own() -> None:
    assert fed(PasteSafeParser(), f"\x1b{PASTE_START}x{PASTE_END}\r") == ["escape", "x", "enter"]


def test_other_input_is_parsed_as_before() -> None:
    parser = PasteSafeParser()
    assert fed(parser, "a\x1b[A\x1b[2~\x03") == ["a", "up", "insert", "ctrl+c"]
    assert fed(parser, "\x1b[2", "4~z") == ["f12", "z"]
    assert fed(parser, "\x1b") == []
    time.sleep(0.11)
    assert [event.key for event in parser.tick()] == ["escape"]


@pytest.mark.clause("case:D13")
@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("\r", "enter"),
        ("\n", "ctrl+j"),
        ("\x1b\r", "alt+enter"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[13;3u", "alt+enter"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[27;3;13~", "alt+enter"),
        ("\x1b[27;5;13~", "ctrl+enter"),
    ],
)
def test_every_kind_of_enter_has_one_name(data: str, name: str) -> None:
    assert [key_name(str(key)) for key in fed(PasteSafeParser(), data)] == [name]


@pytest.mark.skipif("sys.platform == 'win32'")
def test_the_driver_builds_the_safe_parser() -> None:
    from textual.drivers import linux_driver

    assert linux_driver.XTermParser is PasteSafeParser
