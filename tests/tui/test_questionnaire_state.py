"""The questionnaire without a screen: answers, navigation, the deadline."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.questions import (
    DefaultSelection,
    HostChoice,
    HostInputRequest,
    HostInputResponse,
    HostInputSource,
    HostQuestion,
    SelectionMode,
)
from rho_tui.widgets.form_clock import FormClock
from rho_tui.widgets.questionnaire_state import NO_CURSOR, QuestionnaireState
from rho_tui.widgets.text_field import TextField


def choices(*names: str) -> tuple[HostChoice, ...]:
    return tuple(HostChoice(name, name.title()) for name in names)


def one(**options: object) -> HostQuestion:
    return HostQuestion("db", "Which database?", choices("pg", "sqlite", "mysql"), **options)


def many(**options: object) -> HostQuestion:
    return HostQuestion("parts", "Which?", choices("a", "b", "c"), SelectionMode.MANY, **options)


def confirm(**options: object) -> HostQuestion:
    return HostQuestion("ok", "Go on?", choices("yes", "no"), **options)


def form(*questions: HostQuestion) -> QuestionnaireState:
    return QuestionnaireState(HostInputRequest.questionnaire("Title", questions))


def answers(response: HostInputResponse | None) -> dict[str, tuple[str, ...]]:
    assert response is not None
    assert response.source is HostInputSource.USER
    return dict(response.answers)


@pytest.mark.clause("APP4.10")
def test_enter_takes_the_highlighted_choice() -> None:
    state = form(one())
    state.move(1)
    assert answers(state.confirm()) == {"db": ("sqlite",)}


@pytest.mark.clause("case:F2")
def test_a_required_confirmation_wants_an_explicit_choice() -> None:
    state = form(confirm())
    assert state.current.cursor == NO_CURSOR
    assert state.confirm() is None
    assert state.error == "choose an option"
    state.move(1)
    assert answers(state.confirm()) == {"ok": ("yes",)}


@pytest.mark.clause("case:F6")
def test_an_empty_multi_select_says_so_and_loses_nothing() -> None:
    state = form(many(), one())
    assert state.confirm() is None
    assert (state.index, state.error) == (0, "select at least one option")
    state.current.toggle(2)
    state.current.toggle(0)
    assert state.confirm() is None
    assert state.index == 1
    assert state.confirm() is None
    assert state.in_review
    assert answers(state.confirm()) == {"parts": ("a", "c"), "db": ("pg",)}


@pytest.mark.clause("APP4.12")
def test_submitting_jumps_to_the_first_question_that_is_not_answered() -> None:
    state = form(one(), many())
    state.go(2)
    assert state.confirm() is None
    assert (state.index, state.error) == (0, "choose an option")
    state.confirm()
    state.go(2)
    assert state.confirm() is None
    assert (state.index, state.error) == (1, "select at least one option")


@pytest.mark.clause("case:F4")
def test_own_text_and_ticked_options_both_arrive_exactly() -> None:
    state = form(many(allow_other=True))
    state.current.toggle(0)
    state.current.type_text("use [x] 漢 ")
    assert answers(state.confirm()) == {"parts": ("a", "use [x] 漢 ")}


@pytest.mark.clause("case:F2")
def test_whitespace_is_no_own_text() -> None:
    state = form(one(allow_other=True))
    state.current.type_text("  \n ")
    assert state.confirm() is None
    assert state.error == "write your answer, or choose an option"


def test_own_text_that_equals_a_ticked_value_is_not_sent_twice() -> None:
    state = form(many(allow_other=True))
    state.current.toggle(0)
    state.current.type_text("a")
    assert answers(state.confirm()) == {"parts": ("a",)}


def test_choosing_an_option_after_typing_drops_the_own_text() -> None:
    state = form(one(allow_other=True))
    state.current.type_text("other")
    state.current.move_to(0)
    assert answers(state.confirm()) == {"db": ("pg",)}


def test_optional_questions_may_stay_empty_and_are_left_out() -> None:
    state = form(many(required=False), confirm(required=False))
    state.confirm()
    state.confirm()
    assert answers(state.confirm()) == {}


@pytest.mark.clause("APP4.22", "G14")
@pytest.mark.parametrize("default", ["sqlite", "SQLite", " Sqlite "])
def test_a_selected_default_is_preselected(default: str) -> None:
    state = form(one(default_value=default))
    assert state.current.answer() == ("sqlite",)


@pytest.mark.clause("APP4.7")
def test_a_focused_default_is_recommended_but_not_selected() -> None:
    state = form(one(default_value="sqlite", default_selection=DefaultSelection.FOCUSED))
    assert state.current.answer() == ()
    assert (state.current.cursor, state.current.recommended) == (1, 1)
    assert answers(state.confirm()) == {"db": ("sqlite",)}


@pytest.mark.parametrize("default", [None, 7, {"a": 1}, [1, None], "unknown", "", [], True])
def test_a_default_that_is_none_selects_nothing(default: object) -> None:
    assert form(one(default_value=default)).current.answer() == ()
    assert form(many(default_value=default)).current.answer() == ()


def test_many_defaults_and_an_own_default() -> None:
    assert form(many(default_value=["c", "a"])).current.answer() == ("a", "c")
    assert form(one(default_value="oracle", allow_other=True)).current.answer() == ("oracle",)
    assert form(many(default_value=["b", "x"], allow_other=True)).current.answer() == ("b", "x")


@pytest.mark.clause("APP4.9")
def test_arrows_flow_across_questions_and_back_from_the_review() -> None:
    state = form(one(), many())
    state.move(-1)
    assert state.index == 0
    for _ in range(3):
        state.move(1)
    assert state.index == 1
    for _ in range(3):
        state.move(1)
    assert state.in_review
    state.move(-1)
    assert state.index == 1
    assert state.current.picked == set()


@given(
    st.lists(st.sampled_from(["up", "down", "next", "back", "enter", "toggle", "x"]), max_size=40)
)
@settings(max_examples=100)
def test_whatever_is_pressed_a_response_is_valid_or_an_error_is_shown(keys: list[str]) -> None:
    state = form(many(allow_other=True), confirm(), one(required=False, allow_other=True))
    for key in keys:
        match key:
            case "up" | "down":
                state.move(1 if key == "down" else -1)
            case "next" | "back":
                state.go(state.index + (1 if key == "next" else -1))
            case "toggle":
                state.current.toggle(max(0, state.current.cursor))
            case "x":
                state.current.type_text("x")
            case _:
                response = state.confirm()
                if response is not None:
                    state.request.validate(response)
                    return
    response = state.submit()
    if response is None:
        assert state.error
    else:
        state.request.validate(response)


def timed(fallback: bool) -> HostInputRequest:
    request = HostInputRequest.questionnaire("t", [one(required=False)])
    if not fallback:
        return request
    return request.with_timeout_fallback(HostInputResponse().answer("db", ["pg"]), "safe default")


@pytest.mark.clause("G22", "APP4.17", "APP4.19", "APP4.21")
@pytest.mark.parametrize(
    ("name", "seconds", "fallback", "touched_at", "read_at", "fires"),
    [
        ("no duration", None, True, None, 1e9, False),
        ("no fallback", 30, False, None, 1e9, False),
        ("neither", None, False, None, 1e9, False),
        ("before the deadline", 30, True, None, 29.9, False),
        ("at the deadline", 30, True, None, 30.0, True),
        ("long after the deadline", 30, True, None, 1e6, True),
        ("touched early", 30, True, 0.0, 1e6, False),
        ("touched just before", 30, True, 29.9, 1e6, False),
    ],
)
def test_only_an_untouched_form_that_opted_in_is_answered_at_the_deadline(
    name: str,
    seconds: float | None,
    fallback: bool,
    touched_at: float | None,
    read_at: float,
    fires: bool,
) -> None:
    request = timed(fallback)
    clock = FormClock(request, seconds, opened_at=1000.0)
    if touched_at is not None:
        assert clock.expire(1000.0 + touched_at) is None
        clock.touch()
    response = clock.expire(1000.0 + read_at)
    assert (response is not None) is fires, name
    if response is not None:
        assert response.source is HostInputSource.TIMEOUT_FALLBACK
        request.validate(response)
        assert clock.expire(1000.0 + read_at + 1) is None  # later ticks do nothing
        assert not clock.running


def test_the_field_moves_and_deletes_by_grapheme() -> None:
    field = TextField()
    field.insert("a👩‍👩‍👧é b\r\nc")
    assert field.text == "a👩‍👩‍👧é b\nc"
    for key in ("left", "left", "left", "left"):
        field.handle(key)
    field.handle("backspace")
    assert field.text == "a👩‍👩‍👧 b\nc"
    field.handle("backspace")
    assert field.text == "a b\nc"
    field.handle("home")
    field.handle("delete")
    assert field.text == " b\nc"
    field.handle("end")
    field.handle("alt+backspace")
    assert field.text == " \nc"
    assert not field.handle("f5")
