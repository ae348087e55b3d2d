"""The inline prompt that asks a person for authority (APP3.9-3.20)."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static

from rho_core.authority.approvals import (
    AllowForSession,
    AllowOnce,
    ApprovalDecision,
    ApprovalRequest,
    Deny,
)
from rho_core.tooling.values import ToolMetadata
from rho_tui.widgets.approval_facts import approval_lines, approval_title, diff_tail
from rho_tui.widgets.line_input import LineInput
from rho_tui.widgets.line_view import LineView
from rho_tui.widgets.lines import Line
from rho_tui.widgets.screen_height import follow_screen_height
from rho_tui.widgets.typing_guard import TypingGuard

DENIED = "denied by user"
"""Reason of a plain denial (APP3.16)."""
CANCELLED = "cancelled by user"
"""Reason when the person leaves the prompt with Esc (APP3.16)."""

_ROWS_AROUND_DETAILS = 15
"""The prompt's own 8 rows, the composer's 3, status, activity and a row of transcript."""
_MIN_DETAIL_ROWS = 3
_HINT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _Choice:
    digit: str
    letter: str
    label: str
    short: str


_CHOICES = (
    _Choice("1", "y", "Allow once", "Allow once"),
    _Choice("2", "a", "Allow this exact request for the session", "Allow same again this session"),
    _Choice("3", "n", "Deny", "Deny"),
    _Choice("4", "f", "Deny with feedback…", "Deny with feedback…"),
)
_NARROW = 50
_ONCE, _SESSION, _DENY, _FEEDBACK = range(4)


class ApprovalPrompt(Widget, can_focus=True):
    """Asks for one request; the owner shows one prompt at a time and keeps the queue.

    The prompt takes the focus, and keys, only after nobody has typed for the guard's quiet time, so
    that keys in flight go on into the composer and never decide. It answers exactly once.
    """

    DEFAULT_CSS = """
    ApprovalPrompt {
        height: auto;
        padding: 0 1;
        background: $surface;
        border-top: solid $warning;
    }
    ApprovalPrompt:focus-within, ApprovalPrompt:focus { border-top: solid $accent; }
    ApprovalPrompt .approval--title, ApprovalPrompt .approval--more,
    ApprovalPrompt .approval--footer { height: 1; }
    ApprovalPrompt .approval--more, ApprovalPrompt .approval--footer { color: $text-muted; }
    ApprovalPrompt .approval--choices { max-height: 4; }
    ApprovalPrompt LineInput { display: none; }
    ApprovalPrompt.-feedback LineInput { display: block; }
    ApprovalPrompt.-feedback .approval--choices { max-height: 1; }
    """

    waiting: var[int] = var(0, init=False)
    """Further requests behind this one."""

    class Answered(Message):
        """The person decided. `cancel_run` is set when they left with Esc or Ctrl+C (APP3.15)."""

        def __init__(
            self, approval_id: str, decision: ApprovalDecision, *, cancel_run: bool = False
        ) -> None:
            super().__init__()
            self.approval_id = approval_id
            self.decision = decision
            self.cancel_run = cancel_run

    class Armed(Message):
        """Keys are active from now on and the prompt has the focus."""

        def __init__(self, approval_id: str) -> None:
            super().__init__()
            self.approval_id = approval_id

    def __init__(
        self,
        approval_id: str,
        request: ApprovalRequest,
        *,
        preview: ToolMetadata | None = None,
        waiting: int = 0,
        guard: TypingGuard | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.approval_id = approval_id
        self.request = request
        self.set_reactive(ApprovalPrompt.waiting, waiting)
        self._preview = preview
        self._guard = guard or TypingGuard()
        self._shown_at = self._guard.now()
        self._armed = False
        self._answered = False
        self._cursor = _DENY
        self._hint_timer: Timer | None = None

    @property
    def armed(self) -> bool:
        """Whether keys decide."""
        return self._armed

    def compose(self) -> ComposeResult:
        """Title, details, what is out of view, choices, feedback line, footer."""
        capability = self.request.capability
        yield LineView(classes="approval--title")
        yield LineView(
            approval_lines(capability, self.request.reason, self._preview),
            tail=diff_tail(self._preview),
            classes="approval--details",
        )
        yield Static("", classes="approval--more", markup=False)
        yield LineView(classes="approval--choices")
        yield LineInput(placeholder="why not? the model reads this")
        yield Static("", classes="approval--footer", markup=False)

    def on_mount(self) -> None:
        """Start waiting for quiet."""
        self._shown_at = self._guard.now()
        self._show_title()
        self._show_choices()
        follow_screen_height(self, self._fit)
        if not self._try_to_arm():
            self._hint_timer = self.set_interval(_HINT_SECONDS, self._try_to_arm)

    def on_resize(self, _event: events.Resize) -> None:
        """Fit the labels to the screen."""
        self._show_choices()

    def watch_waiting(self) -> None:
        """Show how many requests wait."""
        if self.is_mounted:
            self._show_title()

    def on_line_view_moved(self, _event: LineView.Moved) -> None:
        """Say how much is out of view."""
        self._show_more()

    def on_line_view_line_clicked(self, event: LineView.LineClicked) -> None:
        """A click moves to a choice; clicking the one that is marked chooses it."""
        event.stop()
        if not event.view.has_class("approval--choices") or not self._armed or self._feedback_open:
            return
        if event.index == self._cursor:
            self._choose(event.index)
        else:
            self._move_to(event.index)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The feedback is written: deny with it."""
        event.stop()
        self._answer(Deny(event.value.strip() or DENIED))

    async def on_key(self, event: events.Key) -> None:
        """Decide, move, scroll; swallow other printable keys (APP3.15, APP3.20)."""
        if not self._armed:
            self._guard.note_key()
            event.stop()
            event.prevent_default()
            return
        handled = self._feedback_key(event) if self._feedback_open else self._choice_key(event)
        if handled:
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text is never an answer."""
        if not self._feedback_open:
            self._guard.note_key()
            event.stop()
            event.prevent_default()

    @property
    def _feedback_open(self) -> bool:
        return self.has_class("-feedback")

    def _choice_key(self, event: events.Key) -> bool:
        key = event.key
        for index, choice in enumerate(_CHOICES):
            if key == choice.digit or key.lower() in (choice.letter, f"shift+{choice.letter}"):
                self._choose(index)
                return True
        match key:
            case "escape" | "ctrl+c":
                self._answer(Deny(CANCELLED), cancel_run=True)
            case "enter":
                self._choose(self._cursor)
            case "up" | "left":
                self._move_to(self._cursor - 1)
            case "down" | "right":
                self._move_to(self._cursor + 1)
            case "pageup":
                self._details.page(-1)
            case "pagedown":
                self._details.page(1)
            case _:
                return event.is_printable
        return True

    def _feedback_key(self, event: events.Key) -> bool:
        if event.key == "ctrl+c":
            self._answer(Deny(CANCELLED), cancel_run=True)
        elif event.key == "escape":
            self.remove_class("-feedback")
            self.focus()
            self._show_footer()
        else:
            return False
        return True

    def _choose(self, index: int) -> None:
        match index:
            case 0:
                self._answer(AllowOnce())
            case 1:
                self._answer(AllowForSession())
            case 2:
                self._answer(Deny(DENIED))
            case _:
                self._move_to(_FEEDBACK)
                self.add_class("-feedback")
                self.query_one(LineInput).focus()
                self._show_footer()

    def _answer(self, decision: ApprovalDecision, *, cancel_run: bool = False) -> None:
        if self._answered:
            return
        self._answered = True
        self.post_message(self.Answered(self.approval_id, decision, cancel_run=cancel_run))

    def _move_to(self, index: int) -> None:
        self._cursor = max(0, min(len(_CHOICES) - 1, index))
        self._show_choices()

    def _try_to_arm(self) -> bool:
        if self._armed:
            return True
        left = self._guard.remaining(self._shown_at)
        if left > 0:
            self._show_footer(left)
            return False
        self._armed = True
        if self._hint_timer is not None:
            self._hint_timer.stop()
        if self.screen.is_current:
            self.focus()
        self._show_footer()
        self.post_message(self.Armed(self.approval_id))
        return True

    @property
    def _details(self) -> LineView:
        return self.query_one(".approval--details", LineView)

    def _fit(self, screen_rows: int) -> None:
        rows = max(_MIN_DETAIL_ROWS, screen_rows - _ROWS_AROUND_DETAILS)
        self._details.styles.max_height = rows

    def _show_title(self) -> None:
        runs = approval_title(self.request.capability)
        if self.waiting:
            runs = (*runs, (f"  ({self.waiting} more waiting)", "muted"))
        self.query_one(".approval--title", LineView).set_lines([Line(runs)])

    def _show_choices(self) -> None:
        lines = []
        for index, choice in enumerate(_CHOICES):
            here = index == self._cursor
            style = "accent" if here else ""
            mark = "▸" if here else " "
            label = choice.short if self.app.size.width < _NARROW else choice.label
            keys = f"{choice.digit}/{choice.letter}"
            lines.append(Line(((f"{mark} {keys} ", style), (label, style)), hang=6))
        self.query_one(".approval--choices", LineView).set_lines(lines, show=self._cursor)

    def _show_more(self) -> None:
        if not self.is_mounted:
            return
        above, below = self._details.hidden_rows()
        text = ""
        if above or below:
            first, last, total = self._details.visible_range()
            parts = [f"↓ {below} more below"] if below else []
            if above:
                parts.append(f"↑ {above} above")
            text = " · ".join([*parts, f"PgUp/PgDn {first}-{last}/{total}"])
        self.query_one(".approval--more", Static).update(Content(text), layout=False)

    def _show_footer(self, left: float = 0.0) -> None:
        if not self._armed:
            text = f"keys active in {left:.1f}s, once you pause typing"
        elif self._feedback_open:
            text = "Enter deny with this feedback · Esc back"
        elif self.app.size.width < _NARROW:
            text = "1-4 or letter · Esc deny and cancel"
        else:
            text = "1-4 or letter choose · ↑↓ Enter · Esc deny and cancel the run"
        self.query_one(".approval--footer", Static).update(Content(text), layout=False)
