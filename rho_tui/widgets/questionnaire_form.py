"""The inline form that puts a tool's questions to a person (APP4, G16-G22)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from rho_core.ids import HostInputId
from rho_core.questions import HostInputRequest, HostInputResponse
from rho_tui.transcript.sanitize import clean_line
from rho_tui.widgets.form_clock import FormClock
from rho_tui.widgets.line_view import LineView
from rho_tui.widgets.questionnaire_lines import (
    body_lines,
    footer_text,
    head_lines,
    option_at,
    timeout_lines,
)
from rho_tui.widgets.questionnaire_state import QuestionnaireState
from rho_tui.widgets.screen_height import follow_screen_height
from rho_tui.widgets.typing_guard import TypingGuard

_TICK_SECONDS = 0.2
_NEWLINE_KEYS = frozenset({"ctrl+j", "alt+enter", "shift+enter"})
_MAX_OTHER = 100_000
_MIN_BODY_ROWS = 4
_ROWS_AROUND_BODY = 14
"""The form's other rows, the composer's 3, status, activity and a row of transcript."""


class QuestionnaireForm(Widget, can_focus=True):
    """One form; the owner shows one at a time. It ends exactly once: answered or dismissed.

    The form takes the focus once nobody has typed for the guard's quiet time, so that a
    half-written prompt is not turned into an answer. Its clock starts when it is mounted.

    Args:
        request: What is asked.
        timeout_seconds: The configured `[questionnaire].timeout_seconds`; it only counts when the
            request carries a fallback.
        guard: Shared typing guard.
        clock: Monotonic clock in seconds, for the deadline.
    """

    DEFAULT_CSS = """
    QuestionnaireForm {
        height: auto;
        padding: 0 1;
        background: $surface;
        border-top: solid $warning;
    }
    QuestionnaireForm:focus { border-top: solid $accent; }
    QuestionnaireForm .questionnaire--head { max-height: 3; }
    QuestionnaireForm Static { height: 1; color: $text-muted; }
    QuestionnaireForm .questionnaire--error {
        color: $text-error;
        height: auto;
        max-height: 3;
        display: none;
    }
    QuestionnaireForm .questionnaire--timer { color: $text-warning; display: none; }
    QuestionnaireForm .questionnaire--fallback { max-height: 4; display: none; }
    """

    class Answered(Message):
        """The form is answered; `response.source` tells a person from the deadline."""

        def __init__(self, request_id: HostInputId, response: HostInputResponse) -> None:
            super().__init__()
            self.request_id = request_id
            self.response = response

    class Dismissed(Message):
        """The person closed the form without an answer."""

        def __init__(self, request_id: HostInputId) -> None:
            super().__init__()
            self.request_id = request_id

    def __init__(
        self,
        request: HostInputRequest,
        *,
        timeout_seconds: float | None = None,
        guard: TypingGuard | None = None,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.request = request
        self.state = QuestionnaireState(request)
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._form_clock: FormClock | None = None
        self._guard = guard or TypingGuard()
        self._shown_at = self._guard.now()
        self._armed = False
        self._ended = False
        self._warned_clear = False
        self._ticker: Timer | None = None

    @property
    def armed(self) -> bool:
        """Whether keys reach the form."""
        return self._armed

    @property
    def clock_running(self) -> bool:
        """Whether a deadline counts down."""
        return self._form_clock is not None and self._form_clock.running

    def compose(self) -> ComposeResult:
        """Head, the open question, error, deadline, footer."""
        yield LineView(classes="questionnaire--head")
        yield LineView(classes="questionnaire--body")
        yield Static("", classes="questionnaire--error", markup=False)
        yield Static("", classes="questionnaire--timer", markup=False)
        yield LineView(timeout_lines(self.request), classes="questionnaire--fallback")
        yield Static("", classes="questionnaire--footer", markup=False)

    def on_mount(self) -> None:
        """The form opens: its clock starts."""
        self._form_clock = FormClock(self.request, self._timeout_seconds, self._clock())
        self._shown_at = self._guard.now()
        follow_screen_height(self, self._fit)
        self._show()
        self._show_timer()
        self.tick()
        if not self._ended and (not self._armed or self.clock_running):
            self._ticker = self.set_interval(_TICK_SECONDS, self.tick)

    def tick(self) -> None:
        """Called by the form's timer: arm when the person pauses, expire when due."""
        if self._ended or self._form_clock is None:
            return
        if self._guard.typed_since(self._shown_at):
            # somebody is there, wherever the key went: nothing is answered for them any more
            self._touch()
        if not self._armed and self._guard.remaining(self._shown_at) <= 0:
            self._armed = True
            if self.screen.is_current:
                self.focus()
            self._show_footer()
        fallback = self._form_clock.expire(self._clock())
        if fallback is not None:
            self._end(self.Answered(self.request.id, fallback))
            return
        self._show_timer()
        if self._armed and not self.clock_running and self._ticker is not None:
            self._ticker.stop()

    async def on_key(self, event: events.Key) -> None:
        """Every key on the form stops its clock; keys it has no use for go on."""
        if self._ended:
            return
        self._touch()
        if not self._armed:
            self._guard.note_key()
            handled = event.key != "escape"
        else:
            handled = self._handle_key(event)
        if handled:
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text goes into the own text, where one is allowed."""
        if self._ended:
            return
        self._touch()
        event.stop()
        event.prevent_default()
        if not self._armed or self.state.in_review:
            return
        room = _MAX_OTHER - len(self.state.current.other.text)
        if self.state.current.type_text(event.text[: max(0, room)]):
            self._show()

    def on_mouse_down(self, _event: events.MouseDown) -> None:
        """A click anywhere on the form is interaction."""
        self._touch()
        self._armed = True
        self.focus()

    def on_line_view_line_clicked(self, event: LineView.LineClicked) -> None:
        """A click on an option selects or toggles it."""
        event.stop()
        self._touch()
        if self._ended or not event.view.has_class("questionnaire--body"):
            return
        row = option_at(self.state, event.index)
        if row is not None:
            self.state.current.toggle(row)
            self._show()

    def _handle_key(self, event: events.Key) -> bool:
        if event.key != "ctrl+c":
            self._warned_clear = False
        match event.key:
            case "escape":
                self._end(self.Dismissed(self.request.id))
                return True
            case "ctrl+c":
                self._clear_or_dismiss()
                return True
            case "enter":
                response = self.state.confirm()
                if response is not None:
                    self._end(self.Answered(self.request.id, response))
                    return True
            case "up" | "down":
                self.state.move(-1 if event.key == "up" else 1)
            case "tab" | "alt+down":
                self.state.go(self.state.index + 1)
            case "shift+tab" | "alt+up":
                self.state.go(self.state.index - 1)
            case "pageup" | "pagedown":
                return self._page(-1 if event.key == "pageup" else 1)
            case _:
                if not self._question_key(event):
                    return event.is_printable
        self._show()
        return True

    def _question_key(self, event: events.Key) -> bool:
        """Keys of the open question: edit, toggle, move sideways, type."""
        state = self.state
        if state.in_review:
            return False
        current = state.current
        if current.in_other:
            if event.key in _NEWLINE_KEYS:
                current.other.insert("\n")
                return True
            if current.other.handle(event.key):
                return True
        if event.key == "space" and not current.in_other:
            current.toggle(max(0, current.cursor))
            return True
        if event.key in ("left", "right"):
            state.move(-1 if event.key == "left" else 1)
            return True
        if not event.is_printable or event.character is None:
            return False
        if current.type_text(event.character):
            return True
        return self._shortcut(event.character)

    def _shortcut(self, character: str) -> bool:
        """A digit picks an option, y and n answer a confirmation."""
        current = self.state.current
        if current.is_confirm and character in "yn":
            values = [choice.value.lower()[0] for choice in current.question.choices]
            current.move_to(values.index(character))
            return True
        if character in "123456789" and int(character) <= len(current.question.choices):
            current.toggle(int(character) - 1)
            return True
        return False

    def _page(self, direction: int) -> bool:
        body = self.query_one(".questionnaire--body", LineView)
        if not any(body.hidden_rows()):
            return False  # the whole question is in view: the key belongs to the transcript
        body.page(direction)
        return True

    def _clear_or_dismiss(self) -> None:
        if not self._warned_clear:
            self.state.clear_current()
            self._warned_clear = True
            self.state.error = "answer cleared; Ctrl+C again dismisses the form"
            self._show()
        else:
            self._end(self.Dismissed(self.request.id))

    def _touch(self) -> None:
        if self.clock_running and self._form_clock is not None:
            self._form_clock.touch()
            self._show_timer()

    def _end(self, message: Message) -> None:
        if self._ended:
            return
        self._ended = True
        if self._ticker is not None:
            self._ticker.stop()
        self.post_message(message)

    def _fit(self, screen_rows: int) -> None:
        rows = max(_MIN_BODY_ROWS, screen_rows - _ROWS_AROUND_BODY)
        self.query_one(".questionnaire--body", LineView).styles.max_height = rows

    def _show(self) -> None:
        self.query_one(".questionnaire--head", LineView).set_lines(head_lines(self.state))
        lines, keep = body_lines(self.state)
        self.query_one(".questionnaire--body", LineView).set_lines(lines, show=keep)
        error = self.query_one(".questionnaire--error", Static)
        error.update(Content(clean_line(self.state.error)))
        error.display = bool(self.state.error)
        self._show_footer()

    def _show_footer(self) -> None:
        text = footer_text(self.state) if self._armed else "keys active once you pause typing"
        footer = self.query_one(".questionnaire--footer", Static)
        footer.update(Content(text), layout=False)

    def _show_timer(self) -> None:
        clock = self._form_clock
        if clock is None or not clock.exists:
            return
        timer = self.query_one(".questionnaire--timer", Static)
        fallback = self.query_one(".questionnaire--fallback", LineView)
        if clock.running:
            left = math.ceil(clock.remaining(self._clock()))
            text = f"no answer within {left}s submits:"
        else:
            text = "timer stopped"
        if timer.display is not True:
            timer.display = True
        if fallback.display != clock.running:
            fallback.display = clock.running
        timer.update(Content(text), layout=False)
