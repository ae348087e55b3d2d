"""Point 10: what is typed before the app is ready, or faster than anybody types, is not lost."""

from __future__ import annotations

import termios
import time
from pathlib import Path

import pytest

from tests.e2e.bench import READY, Bench
from tests.e2e.terminal import RHO, wait_until
from tests.servers import Scenario, Turn

ANSWER = Scenario.of(Turn(text="Answer {n} is here."))


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.3, 0.5])
def test_a_prompt_typed_during_the_start_is_sent_once(bench: Bench, delay: float) -> None:
    model = bench.model(ANSWER)
    terminal = bench.rho(until=None)
    time.sleep(delay)  # the moment of the key press is what is tested
    # an arrow key first: it is no text
    terminal.send("\x1b[Atyped early\r")
    terminal.wait_for("Answer 0 is here.", seconds=30)
    terminal.wait_for(lambda text: "to interrupt" not in text and READY in text)
    assert [request.prompts for request in model.requests] == [["typed early"]]

    # text and Enter in one write, once it runs
    terminal.send("in one go\r")
    terminal.wait_for("Answer 1 is here.")
    terminal.wait_for(lambda text: "to interrupt" not in text and READY in text)
    assert [request.prompts[-1] for request in model.requests] == ["typed early", "in one go"]


SLOW_START = """
import time

from rho_tui.cli import chat

chat._chat = lambda _options, _typed: time.sleep(60)
from rho_tui.__main__ import main

main()
"""


@pytest.mark.clause("APP8.6")
def test_ctrl_c_during_a_slow_start_ends_it_quietly(bench: Bench, tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW_START, "utf-8")
    terminal = bench.rho(command=(RHO[0], str(script)), until=None)
    wait_until(lambda: not terminal.modes() & termios.ECHO, what="the terminal's new mode")
    terminal.send("\x03")
    assert terminal.wait_exit() == 130
    assert b"Traceback" not in terminal.raw
    assert terminal.modes() & termios.ECHO
