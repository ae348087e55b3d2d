"""The composer behind a real terminal: what the driver reads is what gets submitted."""

from __future__ import annotations

import sys

import pytest

pexpect = pytest.importorskip("pexpect")

SCRIPT = """
from textual.app import App
from rho_tui.widgets.composer import Composer
from rho_tui.widgets.terminal_input import install_terminal_input

class Tiny(App):
    def compose(self):
        yield Composer()
    def on_mount(self):
        self.query_one(Composer).focus()
    def on_composer_submitted(self, message):
        self.exit(message.text)
    def on_composer_interrupted(self, message):
        self.exit("interrupted")

install_terminal_input()
print("GOT " + ascii(Tiny().run()) + " END")
"""


def submitted(*writes: str) -> str:
    child = pexpect.spawn(
        sys.executable, ["-c", SCRIPT], dimensions=(24, 80), encoding="utf-8", timeout=15
    )
    try:
        child.expect("ype a message")  # the caret is on the T
        for write in writes:
            child.send(write)
        child.expect(r"GOT (.*?) END")
        return child.match.group(1)
    finally:
        child.close(force=True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_text_and_enter_in_one_write_through_the_real_driver() -> None:
    assert submitted("hello there\r") == "'hello there'"


@pytest.mark.clause("case:D7")
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_a_paste_with_escapes_and_line_ends_neither_submits_nor_interrupts() -> None:
    paste = "\x1b[200~one \x1b[31mred\x1b[0m\rtwo\x03\x11 three\x1b[201~"
    assert submitted(paste, " end\r") == r"'one red\ntwo three end'"
