"""Point 5: however Rho ends, nothing it started goes on and the terminal is as it was."""

from __future__ import annotations

import signal
import stat
import termios
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.e2e.bench import READY, Bench, alive, ask, family, family_asleep, wait_dead
from tests.e2e.terminal import RHO, Terminal
from tests.servers import Call, Turn

SLEEPING = Call("bash", {"command": "printf 'as%s\\n' leep; sleep 300 & sleep 300"})
TURNS = [Turn(calls=(SLEEPING,))]
PYTHON = RHO[0]

CRASHING = """
import sys

from rho_tui.screens.chat import ChatScreen


def fail(screen):
    secret = "a-local-variable"
    raise RuntimeError("a provoked fault")


ChatScreen.action_toggle_card = fail
from rho_tui.__main__ import main

main()
"""

# what the app switches on, and what switches it off
MODES = {
    "alternate screen": (b"\x1b[?1049h", b"\x1b[?1049l"),
    "hidden cursor": (b"\x1b[?25l", b"\x1b[?25h"),
    "bracketed paste": (b"\x1b[?2004h", b"\x1b[?2004l"),
    "mouse": (b"\x1b[?1000h", b"\x1b[?1000l"),
    "mouse motion": (b"\x1b[?1003h", b"\x1b[?1003l"),
    "focus reports": (b"\x1b[?1004h", b"\x1b[?1004l"),
}


def assert_restored(terminal: Terminal) -> None:
    raw = bytes(terminal.raw)
    for name, (switch_on, switch_off) in MODES.items():
        assert switch_on in raw, f"{name} was never on: this test looks at the wrong bytes"
        assert raw.rindex(switch_off) > raw.rindex(switch_on), f"{name} was left on"
    wanted = termios.ECHO | termios.ICANON | termios.ISIG
    assert terminal.modes() & wanted == wanted


def asleep(bench: Bench, terminal: Terminal) -> list[psutil.Process]:
    """Start the command; returns all children of Rho."""
    ask(terminal, "sleep well")
    terminal.wait_for(lambda text: "asleep" in text.replace("'as%s", ""))
    return family_asleep(terminal.process.pid)


@pytest.mark.clause("T16.11", "APP5.39", "case:A17")
def test_escape_stops_a_command_within_a_second_and_two_ctrl_c_leave(bench: Bench) -> None:
    bench.model(TURNS)
    terminal = bench.rho("--permission-mode", "bypass")
    took = []
    for _attempt in range(3):  # the machine may be busy with something else
        children = [child for child in asleep(bench, terminal) if child.name() == "sleep"]
        pressed = time.monotonic()
        terminal.send("\x1b")
        terminal.wait_gone("to interrupt")
        took.append(time.monotonic() - pressed)
        wait_dead(children, seconds=1)
        if took[-1] < 1.0:
            break
    assert min(took) < 1.0
    terminal.wait_for(READY)

    children = family(terminal.process.pid)
    terminal.send("\x03")
    terminal.wait_for("ctrl+c again")
    terminal.send("\x03")
    assert terminal.wait_exit() == 0
    wait_dead(children)
    assert not bench.survivors()
    assert_restored(terminal)
    assert "to go on: rho --resume" in terminal.text


def type_exit(terminal: Terminal) -> None:
    ask(terminal, "/exit")


def press_ctrl_q(terminal: Terminal) -> None:
    terminal.send("\x11")


def terminate(terminal: Terminal) -> None:
    terminal.kill(signal.SIGTERM)


@pytest.mark.clause("T16.11", "APP7.19", "case:D6")
@pytest.mark.parametrize(
    ("leave", "status"), [(type_exit, 0), (press_ctrl_q, 0), (terminate, 128 + signal.SIGTERM)]
)
def test_leaving_during_a_command_leaves_nothing(
    bench: Bench, leave: Callable[[Terminal], None], status: int
) -> None:
    bench.model(TURNS)
    terminal = bench.rho("--permission-mode", "bypass")
    children = asleep(bench, terminal)
    leave(terminal)
    assert terminal.wait_exit() == status
    wait_dead(children)
    assert not bench.survivors()
    assert_restored(terminal)
    assert "to go on: rho --resume" in terminal.text


@pytest.mark.clause("T16.11")
def test_a_closed_terminal_leaves_nothing(bench: Bench) -> None:
    bench.model(TURNS)
    terminal = bench.rho("--permission-mode", "bypass")
    children = asleep(bench, terminal)
    rho = psutil.Process(terminal.process.pid)
    terminal.hang_up()
    wait_dead([rho, *children], seconds=10)
    assert not bench.survivors()


def test_a_terminal_that_closes_while_a_form_waits_ends_the_app(bench: Bench) -> None:
    terminal = bench.rho("--provider", "demo")
    ask(terminal, "ask me")
    terminal.wait_for("waiting for input")
    rho = psutil.Process(terminal.process.pid)
    terminal.hang_up()
    rho.send_signal(signal.SIGCONT)
    wait_dead([rho], seconds=10)


def test_a_continue_signal_changes_nothing(bench: Bench) -> None:
    """`kill -CONT`, which a hangup sends too: the terminal is not taken a second time."""
    terminal = bench.rho("--provider", "demo")
    terminal.wait_for(READY)
    for _ in range(3):
        terminal.kill(signal.SIGCONT)
        terminal.pump(0.1)
    terminal.send("once")
    terminal.wait_for(lambda text: "> once" in text)
    assert bytes(terminal.raw).count(b"\x1b[?1049h") == 1


@pytest.mark.clause("T16.11", "case:D6", "case:J5")
def test_a_crash_leaves_nothing_and_says_where_the_trace_is(bench: Bench, tmp_path: Path) -> None:
    script = tmp_path / "crashing.py"
    script.write_text(CRASHING, "utf-8")
    bench.model(TURNS)
    terminal = bench.rho("--permission-mode", "bypass", command=(PYTHON, str(script)))
    children = asleep(bench, terminal)
    terminal.send("\x0f")
    assert terminal.wait_exit() == 1
    wait_dead(children)
    assert not alive(bench.survivors())
    assert_restored(terminal)
    assert "fault of its own" in terminal.text
    raw = bytes(terminal.raw)
    assert b"a-local-variable" not in raw
    file = bench.home / "rho.log"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    log = file.read_text("utf-8")
    assert "a provoked fault" in log
    assert "a-local-variable" not in log.replace('secret = "a-local-variable"', "")
