"""First-run setup: every way through it, and no key on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from textual.app import App

from rho_tui.screens.setup import (
    DEFAULT_LOCAL_URL,
    ProbeFailed,
    SetupChoice,
    SetupKind,
    SetupScreen,
    key_problem,
    url_problem,
)
from tests.tui.terminal import HOSTILE, assert_no_controls, screen_text, settle, until, write

KEY = "sk-test-123-abcdefgh"
ESC = "\x1b"


class Probe:
    def __init__(self, result: Sequence[str] | Exception = ("m1", "m2")) -> None:
        self.result = result
        self.asked: list[tuple[str, str]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def models(self, base_url: str, api_key: str) -> Sequence[str]:
        self.asked.append((base_url, api_key))
        await self.gate.wait()
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class SetupApp(App):
    def __init__(self, probe: Probe | None = None) -> None:
        super().__init__()
        self.probe = probe or Probe()
        self.results: list[SetupChoice | None] = []

    def on_mount(self) -> None:
        self.push_screen(SetupScreen(self.probe), self.results.append)


async def opened(app: SetupApp, pilot) -> None:
    await until(pilot, lambda: "Which model should it use?" in screen_text(app))


@pytest.mark.parametrize(("digit", "kind"), [("1", SetupKind.OPENAI), ("2", SetupKind.ANTHROPIC)])
async def test_a_key_is_taken_and_never_shown(digit: str, kind: SetupKind) -> None:
    app = SetupApp()
    async with app.run_test() as pilot:
        await opened(app, pilot)
        write(app, digit)
        await until(pilot, lambda: "it is not shown" in screen_text(app))
        await settle(pilot)
        write(app, f"\x1b[200~ {KEY}\n\x1b[201~")
        await until(pilot, lambda: "•••" in screen_text(app))
        assert KEY[:8] not in screen_text(app)
        write(app, "\r")
        await until(pilot, lambda: app.results)
        assert app.results == [SetupChoice(kind, api_key=KEY)]
        assert KEY not in repr(app.results[0])


async def test_a_bad_key_is_refused_without_repeating_it() -> None:
    app = SetupApp()
    async with app.run_test() as pilot:
        await opened(app, pilot)
        write(app, "1")
        await until(pilot, lambda: "it is not shown" in screen_text(app))
        await settle(pilot)
        write(app, "\r")
        await until(pilot, lambda: "paste a key first" in screen_text(app))
        write(app, "two words\r")
        await until(pilot, lambda: "doesn't look like an API key" in screen_text(app))
        assert "two words" not in screen_text(app)
        assert app.results == []


async def test_the_models_of_a_server_are_listed_and_one_is_chosen() -> None:
    app = SetupApp(Probe(["llama", "qwen", HOSTILE]))
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(app, pilot)
        write(app, "3")
        await until(pilot, lambda: DEFAULT_LOCAL_URL in screen_text(app))
        await settle(pilot)
        write(app, "\r")
        await until(pilot, lambda: "qwen" in screen_text(app))
        assert_no_controls(app)
        write(app, "qwen\r")
        await until(pilot, lambda: app.results)
        assert app.results == [
            SetupChoice(SetupKind.LOCAL, base_url=DEFAULT_LOCAL_URL, model="qwen")
        ]
        assert app.probe.asked == [(DEFAULT_LOCAL_URL, "")]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (ProbeFailed("connection refused [/red]\x1b[2J"), "connection refused [/red]␛"),
        ((), "no models"),
    ],
)
async def test_a_server_that_cannot_be_asked_says_why_and_can_be_tried_again(result, said) -> None:
    app = SetupApp(Probe(result))
    async with app.run_test() as pilot:
        await opened(app, pilot)
        write(app, "3")
        await until(pilot, lambda: DEFAULT_LOCAL_URL in screen_text(app))
        await settle(pilot)
        write(app, "\r")
        await until(pilot, lambda: said in screen_text(app))
        assert_no_controls(app)
        app.probe.result = ["m"]
        write(app, "\r")
        await until(pilot, lambda: "(1/1)" in screen_text(app))


async def test_a_named_model_needs_no_probe() -> None:
    app = SetupApp(Probe(ProbeFailed("never asked")))
    async with app.run_test() as pilot:
        await opened(app, pilot)
        write(app, "3")
        await until(pilot, lambda: DEFAULT_LOCAL_URL in screen_text(app))
        await settle(pilot)
        write(app, "\t")
        await settle(pilot)
        write(app, KEY)
        write(app, "\t")
        await settle(pilot)
        write(app, "my-model\r")
        await until(pilot, lambda: app.results)
        choice = app.results[0]
        assert choice is not None
        assert (choice.model, choice.api_key) == ("my-model", KEY)
        assert app.probe.asked == []


async def test_escape_stops_the_probe_goes_back_and_then_skips() -> None:
    app = SetupApp()
    app.probe.gate.clear()
    async with app.run_test() as pilot:
        await opened(app, pilot)
        write(app, "3")
        await until(pilot, lambda: DEFAULT_LOCAL_URL in screen_text(app))
        await settle(pilot)
        write(app, "\r")
        await until(pilot, lambda: app.probe.asked)
        write(app, ESC)
        await until(pilot, lambda: "1 OpenAI" in screen_text(app))
        app.probe.gate.set()
        await settle(pilot)
        assert "1 OpenAI" in screen_text(app)
        write(app, ESC)
        await until(pilot, lambda: app.results == [None])


async def test_the_demo_is_one_key_away() -> None:
    app = SetupApp()
    async with app.run_test(size=(40, 12)) as pilot:
        await opened_or_started(app, pilot)
        write(app, "4")
        await until(pilot, lambda: app.results)
        assert app.results == [SetupChoice(SetupKind.DEMO)]


async def opened_or_started(app: SetupApp, pilot) -> None:
    await until(pilot, lambda: "OpenAI" in screen_text(app))


async def test_enter_twice_finishes_once_and_leaves_other_screens_alone() -> None:
    app = SetupApp()
    async with app.run_test() as pilot:
        await opened(app, pilot)
        write(app, "444")
        await until(pilot, lambda: app.results)
        await settle(pilot)
        assert len(app.results) == 1
        assert len(app.screen_stack) == 1


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("http://localhost:11434/v1", True),
        ("https://host/v1", True),
        ("ftp://host", False),
        ("localhost:1", False),
        ("http://user:pw@host/v1", False),
        ("http://host/v1?key=1", False),
        ("http://host:99999999/v1", False),
        ("http://[bad", False),
        ("", False),
    ],
)
@pytest.mark.clause("APP6.7")
def test_addresses(url: str, good: bool) -> None:
    assert (url_problem(url) == "") is good


def test_keys() -> None:
    assert key_problem(KEY) == ""
    for bad in ("", "a b", "a\x1bb", "ключ", "x" * 5000):
        problem = key_problem(bad)
        assert problem
        assert not bad or bad not in problem
