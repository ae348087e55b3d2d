"""The questionnaire on the screen: keys, countdown, hostile text."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Static

from rho_core.questions import (
    HostChoice,
    HostInputRequest,
    HostInputResponse,
    HostInputSource,
    HostQuestion,
    SelectionMode,
)
from rho_tui.widgets.composer import Composer
from rho_tui.widgets.questionnaire_form import QuestionnaireForm
from rho_tui.widgets.typing_guard import TypingGuard
from tests.tui.terminal import (
    HOSTILE,
    HUGE,
    ScriptClock,
    assert_no_controls,
    screen_text,
    settle,
    until,
    write,
)

DB = HostQuestion(
    "db",
    "Which database?",
    (HostChoice("pg", "Postgres", "a server"), HostChoice("sqlite", "SQLite")),
    header="Database",
)
PARTS = HostQuestion(
    "parts",
    "Which parts?",
    tuple(HostChoice(name, name.upper()) for name in "abc"),
    SelectionMode.MANY,
    allow_other=True,
)
UP, DOWN, ESC = "\x1b[A", "\x1b[B", "\x1b"


class FormApp(App):
    def __init__(
        self,
        *questions: HostQuestion,
        timeout: float | None = None,
        fallback: HostInputResponse | None = None,
        quiet: float = 0.0,
    ) -> None:
        super().__init__()
        request = HostInputRequest.questionnaire("Setup", questions or (DB,))
        if fallback is not None:
            request = request.with_timeout_fallback(fallback, "the safe choice")
        self.request = request
        self.clock = ScriptClock()
        self.guard = TypingGuard(quiet, self.clock)
        self.composer = Composer(guard=self.guard)
        self.form = QuestionnaireForm(
            request, timeout_seconds=timeout, guard=self.guard, clock=self.clock
        )
        self.answers: list[HostInputResponse] = []
        self.dismissed = 0
        self.escapes = 0

    def compose(self) -> ComposeResult:
        yield Static("transcript")
        yield self.composer

    async def on_mount(self) -> None:
        self.composer.focus()
        await self.mount(self.form, before=self.composer)

    def on_questionnaire_form_answered(self, message: QuestionnaireForm.Answered) -> None:
        assert message.request_id == self.request.id
        self.request.validate(message.response)
        self.answers.append(message.response)

    def on_questionnaire_form_dismissed(self, message: QuestionnaireForm.Dismissed) -> None:
        assert message.request_id == self.request.id
        self.dismissed += 1

    def on_key(self, event) -> None:
        self.escapes += event.key == "escape"


@pytest.mark.clause("APP4.10", "G21")
async def test_arrows_and_enter_answer_a_choice() -> None:
    app = FormApp()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.form.has_focus)
        write(app, f"{DOWN}\r")
        await until(pilot, lambda: app.answers)
        assert dict(app.answers[0].answers) == {"db": ("sqlite",)}
        write(app, "\r\r")
        await settle(pilot)
        assert len(app.answers) == 1


async def test_several_questions_end_with_a_review() -> None:
    app = FormApp(DB, PARTS)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.form.has_focus)
        assert "1 Database" in screen_text(app)
        write(app, "\r")
        await until(pilot, lambda: "▸ 2. Which parts?" in screen_text(app))
        write(app, f" {DOWN}{DOWN} ")
        write(app, "my own")
        await until(pilot, lambda: "other: my own" in screen_text(app))
        write(app, "\x1b[200~ pasted\x1b[201~")
        await until(pilot, lambda: "other: my own pasted" in screen_text(app))
        write(app, "\r")
        await until(pilot, lambda: "Your answers" in screen_text(app))
        assert "A, C, my own pasted" in screen_text(app)
        write(app, "\x1b[Z\x1b[Z")  # shift+tab: back to the first question
        await until(pilot, lambda: "Which database?" in screen_text(app))
        write(app, "\t\t\r")
        await until(pilot, lambda: app.answers)
        assert dict(app.answers[0].answers) == {
            "db": ("pg",),
            "parts": ("a", "c", "my own pasted"),
        }


@pytest.mark.clause("case:F6", "APP4.12")
async def test_submitting_nothing_shows_an_error_and_keeps_the_form() -> None:
    app = FormApp(PARTS)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.form.has_focus)
        write(app, "\r")
        await until(pilot, lambda: "select at least one option" in screen_text(app))
        assert app.answers == []
        write(app, " \r")
        await until(pilot, lambda: app.answers)
        assert dict(app.answers[0].answers) == {"parts": ("a",)}


@pytest.mark.clause("APP4.13")
async def test_escape_dismisses_once_and_the_next_one_is_the_apps() -> None:
    app = FormApp()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.form.has_focus)
        write(app, ESC)
        await until(pilot, lambda: app.dismissed == 1)
        assert app.escapes == 0
        write(app, ESC)
        await until(pilot, lambda: app.escapes == 1)
        assert app.dismissed == 1
        assert app.answers == []


@pytest.mark.clause("APP4.13")
async def test_ctrl_c_clears_the_answer_first() -> None:
    app = FormApp()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.form.has_focus)
        write(app, f"{DOWN}\x03")
        await until(pilot, lambda: "cleared" in screen_text(app))
        assert app.form.state.current.answer() == ()
        write(app, "\x03")
        await until(pilot, lambda: app.dismissed == 1)


async def test_a_half_typed_draft_survives_and_answers_nothing() -> None:
    app = FormApp(PARTS, quiet=0.7)
    async with app.run_test() as pilot:
        write(app, "draft \r")
        await until(pilot, lambda: app.composer.has_composer_focus)
        app.composer.hold_submission = True
        write(app, "y 1")
        await settle(pilot)
        assert "y 1" in app.composer.text
        assert not app.form.armed
        app.clock.now += 0.8
        await until(pilot, lambda: app.form.has_focus)
        write(app, " \r")
        await until(pilot, lambda: app.answers)
        assert "y 1" in app.composer.text


FALLBACK = HostInputResponse().answer("db", ["sqlite"])


@pytest.mark.clause("G22", "APP4.20", "APP4.21")
async def test_an_untouched_form_counts_down_and_submits_the_fallback_once() -> None:
    app = FormApp(timeout=30, fallback=FALLBACK)
    async with app.run_test() as pilot:
        await until(pilot, lambda: "no answer within 30s" in screen_text(app))
        assert "Database: SQLite" in screen_text(app)
        assert "because the safe choice" in screen_text(app)
        app.clock.now += 10
        await until(pilot, lambda: "within 20s" in screen_text(app))
        await pilot.resize_terminal(60, 20)  # neither resize nor focus is interaction
        app.composer.focus()
        app.form.focus()
        await settle(pilot)
        assert app.form.clock_running
        app.clock.now += 20
        await until(pilot, lambda: app.answers)
        app.form.tick()
        app.clock.now += 100
        app.form.tick()
        await settle(pilot)
        assert len(app.answers) == 1
        assert app.answers[0] == FALLBACK.with_source(HostInputSource.TIMEOUT_FALLBACK)


@pytest.mark.clause("G22", "APP4.19")
@pytest.mark.parametrize("interaction", ["\x1b[C", "q", "\x1b[200~x\x1b[201~", "\t"])
async def test_any_key_or_paste_on_the_form_stops_the_clock_for_good(interaction: str) -> None:
    app = FormApp(timeout=30, fallback=FALLBACK)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.form.has_focus)
        write(app, interaction)
        await until(pilot, lambda: not app.form.clock_running)
        assert "timer stopped" in screen_text(app)
        app.clock.now += 1000
        app.form.tick()
        await settle(pilot)
        assert app.answers == []


@pytest.mark.clause("G22")
async def test_a_click_on_the_form_stops_the_clock_and_selects() -> None:
    app = FormApp(timeout=30, fallback=FALLBACK)
    async with app.run_test() as pilot:
        await until(pilot, lambda: "SQLite" in screen_text(app))
        row = next(y for y, line in enumerate(screen_text(app).splitlines()) if "○ SQLite" in line)
        await pilot.click(offset=(5, row))
        await until(pilot, lambda: not app.form.clock_running)
        assert app.form.state.current.answer() == ("sqlite",)


@pytest.mark.clause("APP4.19")
async def test_a_key_while_the_form_is_shown_stops_the_clock_wherever_it_goes() -> None:
    app = FormApp(timeout=30, fallback=FALLBACK, quiet=0.7)
    async with app.run_test() as pilot:
        shown = app.clock.now
        app.clock.now += 0.1
        write(app, "t")
        await until(pilot, lambda: app.composer.text == "t" and app.guard.typed_since(shown))
        app.form.tick()
        assert not app.form.clock_running
        app.clock.now += 1000
        app.form.tick()
        assert app.answers == []


@pytest.mark.clause("APP4.19", "case:F7")
async def test_the_clock_starts_when_the_form_opens_and_without_a_fallback_never() -> None:
    app = FormApp(timeout=30)
    app.clock.now += 500  # it waited behind another form
    async with app.run_test() as pilot:
        app.clock.now += 1000
        app.form.tick()
        await settle(pilot)
        assert app.answers == []
        assert "no answer within" not in screen_text(app)


async def test_thirty_options_scroll_inside_the_screen() -> None:
    many = tuple(HostChoice(f"v{n}", f"option number {n}") for n in range(30))
    app = FormApp(HostQuestion("q", "Pick one", many))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.form.has_focus)
        assert app.form.region.bottom <= 24
        for _ in range(29):
            write(app, DOWN)
        await until(pilot, lambda: "→ ● option number 29" in screen_text(app))
        write(app, "\x1b[5~")
        await until(pilot, lambda: "→ ● option number 29" not in screen_text(app))
        write(app, f"{UP}\r")
        await until(pilot, lambda: app.answers)
        assert dict(app.answers[0].answers) == {"q": ("v28",)}


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark"])
async def test_hostile_text_is_harmless_at_every_size(theme: str) -> None:
    question = HostQuestion(
        "q",
        f"{HOSTILE}\n{HUGE}",
        (HostChoice("a", HOSTILE, HOSTILE), HostChoice("b", HUGE, HUGE)),
        header=HOSTILE,
        help=HOSTILE,
        allow_other=True,
    )
    request = HostInputRequest.questionnaire(HOSTILE, [question, DB])
    app = FormApp(DB)
    app.request = request
    app.theme = theme
    fallback = HostInputResponse().answer("q", [HOSTILE]).answer("db", ["pg"])
    app.form = QuestionnaireForm(
        request.with_timeout_fallback(fallback, HOSTILE),
        timeout_seconds=60,
        guard=TypingGuard(0.0, app.clock),
        clock=app.clock,
    )
    async with app.run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: app.form.has_focus)
        for size, keys in (
            ((20, 4), DOWN),
            ((40, 12), DOWN),
            ((120, 36), "x\x1b[200~" + "y" * 500 + "\x1b[201~"),
            ((80, 24), "\r"),
        ):
            await pilot.resize_terminal(*size)
            write(app, keys)
            await settle(pilot)
            assert_no_controls(app)
        assert "[/red]" in screen_text(app)


async def test_shortcuts_digits_letters_and_space_pick() -> None:
    sure = HostQuestion("ok", "Sure?", (HostChoice("yes", "Yes"), HostChoice("no", "No")))
    app = FormApp(DB, sure, PARTS)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.form.has_focus)
        write(app, "2\r")
        write(app, "n\r")
        write(app, f"{DOWN} \r")
        await until(pilot, lambda: app.form.state.in_review)
        write(app, "\r")
        await until(pilot, lambda: app.answers)
        assert dict(app.answers[0].answers) == {
            "db": ("sqlite",),
            "ok": ("no",),
            "parts": ("b",),
        }
