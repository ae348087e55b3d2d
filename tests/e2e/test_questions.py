"""Point 3: a form with a deadline answers itself, unless somebody has touched it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.e2e.bench import Bench, ask
from tests.e2e.terminal import Terminal
from tests.servers import Call, Turn

FORM = {
    "title": "Where to",
    "questions": [
        {
            "id": "target",
            "question": "Which target shall I use?",
            "type": "choice",
            "choices": [{"label": "staging"}, {"label": "production"}],
        }
    ],
    "on_timeout": {"answers": {"target": "staging"}, "reason": "staging can be undone"},
}
ASKING = [Turn(calls=(Call("questionnaire", FORM),)), Turn(text="Understood, I go on.")]
DEADLINE = "[questionnaire]\ntimeout_seconds = 2\n"
PAST_DEADLINE = 3.0
TAKES_KEYS = "↑↓ choose"
"""The form says this once keys reach it; before that they belong to the draft."""


def opened(bench: Bench) -> Terminal:
    """Rho with the form open."""
    terminal = bench.rho()
    ask(terminal, "deploy it")
    terminal.wait_for(lambda text: "Which target shall I use?" in text and TAKES_KEYS in text)
    return terminal


def answer_of(result: str) -> dict[str, Any]:
    value = json.loads(result)
    assert isinstance(value, dict)
    return value


@pytest.mark.clause("APP4.17", "APP4.20", "APP4.21", "T19.13")
def test_an_untouched_form_submits_its_fallback(bench: Bench) -> None:
    bench.configure(DEADLINE)
    model = bench.model(ASKING)
    terminal = opened(bench)
    asked = time.monotonic()
    assert "staging can be undone" in terminal.text
    request = model.request(1)
    assert time.monotonic() - asked > 0.5
    (result,) = request.results
    assert answer_of(result) == {
        "answers": [{"id": "target", "answer": "staging"}],
        "source": "timeout_fallback",
    }
    terminal.wait_for("Understood, I go on.")
    assert "the fallback was used: staging can be undone" in terminal.wait_gone("Esc dismiss")


@pytest.mark.clause("APP4.19", "APP4.21")
def test_one_key_press_stops_the_clock_for_good(bench: Bench) -> None:
    bench.configure(DEADLINE)
    model = bench.model(ASKING)
    terminal = opened(bench)
    terminal.send("\x1b[B")
    nothing_happens_for(PAST_DEADLINE, terminal)
    assert len(model.requests) == 1
    assert "Which target shall I use?" in terminal.text
    assert "timer stopped" in terminal.text
    terminal.wait_for("● production")
    terminal.send("\r")
    (result,) = model.request(1).results
    assert answer_of(result) == {
        "answers": [{"id": "target", "answer": "production"}],
        "source": "user",
    }
    terminal.wait_for("Understood, I go on.")


@pytest.mark.clause("APP4.17", "case:F2")
def test_without_the_setting_a_form_waits_and_escape_dismisses_it(bench: Bench) -> None:
    """The model hears of it, and the run goes on."""
    model = bench.model(ASKING)
    terminal = opened(bench)
    nothing_happens_for(PAST_DEADLINE, terminal)
    assert len(model.requests) == 1
    assert "Which target shall I use?" in terminal.text
    terminal.send("\x1b")
    (result,) = model.request(1).results
    assert "dismissed" in result, result
    terminal.wait_for("Understood, I go on.")


def nothing_happens_for(seconds: float, terminal: Terminal) -> None:
    """Let time pass: that nothing comes of it is the point."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        terminal.pump(0.1)
