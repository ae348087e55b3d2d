"""The text area inside the composer: keys, pastes, history and submission, in order of arrival.

Textual inserts characters in the widget but runs key bindings only after the key has bubbled up to
the app, so keys of one write would overtake each other. Here every key acts at once, in `_on_key`.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.document._document import Location, Selection
from textual.document._edit import Edit
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from rho_tui.transcript.sanitize import REPLACEMENT, clean_line
from rho_tui.widgets.enter_burst import SETTLE_SECONDS, EnterBurst
from rho_tui.widgets.one_shot import set_one_shot
from rho_tui.widgets.pastes import MAX_UNFOLD_CHARS, PasteStore, clean_paste
from rho_tui.widgets.prompt_history import PromptRecall
from rho_tui.widgets.terminal_input import key_name

_NEWLINE_KEYS = frozenset({"ctrl+j", "shift+enter", "ctrl+enter"})
_EXTRA_BINDINGS = {
    "alt+backspace": "delete_word_left",
    "ctrl+h": "delete_left",
    "alt+left": "cursor_word_left",
    "alt+right": "cursor_word_right",
    "alt+b": "cursor_word_left",
    "alt+f": "cursor_word_right",
}


class ComposerInput(TextArea):
    """Multi-line prompt text with folded pastes and recall of earlier prompts.

    Set by the composer: `running` makes Alt+Enter a follow-up; `key_hook` sees the name of each key
    first and returns whether it used it; `enter_hook` returns whether an Enter is used up.
    """

    DEFAULT_CSS = """
    ComposerInput {
        width: 1fr;
        height: auto;
        min-height: 1;
        border: none;
        padding: 0;
        background: transparent;
        scrollbar-size-vertical: 1;
        &:focus { border: none; }
    }
    """

    class Entered(Message):
        """Enter on non-blank text: the text as the model gets it, and as it was shown."""

        def __init__(self, text: str, shown: str, *, follow_up: bool) -> None:
            super().__init__()
            self.text = text
            self.shown = shown
            self.follow_up = follow_up

    class KeyNoted(Message):
        """A key or paste arrived."""

    def __init__(self, *, recall: PromptRecall, placeholder: str) -> None:
        # The text area asks for markers while it is built.
        self.pastes = PasteStore()
        self.recall = recall
        super().__init__(
            compact=True,
            highlight_cursor_line=False,
            placeholder=placeholder,
            id="composer-input",
        )
        self.cursor_blink = False
        self.match_cursor_bracket = False
        self.running = False
        self.key_hook: Callable[[str], bool] = lambda _key: False
        self.enter_hook: Callable[[], bool] = lambda: False
        self._burst = EnterBurst()
        self._waiting_enter: Timer | None = None

    # -- what the composer reads and sets ------------------------------------------------------

    @property
    def expanded_text(self) -> str:
        """The text with pastes unfolded."""
        return self.pastes.expand(self.text)

    def put_text(self, text: str) -> None:
        """Replace everything; long text is folded, undo starts afresh."""
        self.load_text(self.pastes.fold(clean_paste(text)))
        self.move_cursor(self.document.end)

    def insert_text(self, text: str) -> None:
        """Insert text at the caret, over a selection."""
        self._replace_via_keyboard(text, *self.selection)

    def submit(self, *, follow_up: bool = False) -> bool:
        """Hand the text over and become empty; False when there is nothing to hand over."""
        self._cancel_waiting_enter()
        if self.enter_hook():
            return False
        shown = self.text
        if not shown.strip():
            return False
        text = self.expanded_text
        self.load_text("")
        self.pastes.clear()
        self.recall.reset()
        self.post_message(self.Entered(text, shown, follow_up=follow_up))
        return True

    # -- keys ----------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        self.post_message(self.KeyNoted())
        key = key_name(event.key)
        if key != "enter":
            self._settle_waiting_enter(event)
        if self.key_hook(key):
            pass
        elif key == "enter":
            self._enter(event.time)
        elif key == "alt+enter" and self.running:
            self.submit(follow_up=True)
        elif key in _NEWLINE_KEYS or key == "alt+enter":
            self.insert_text("\n")
        elif event.is_printable:
            self._burst.text_key(event.time)
            await super()._on_key(event)
            return
        elif not await self._run_binding(key):
            return
        event.stop()
        event.prevent_default()

    async def _run_binding(self, key: str) -> bool:
        """Run the text area's own action for a key now; False when it has none."""
        action = _EXTRA_BINDINGS.get(key)
        if action is not None:
            return await self.app.run_action(action, self)
        for binding in self._bindings.key_to_bindings.get(key, ()):
            if await self.app.run_action(binding.action, self):
                return True
        return False

    def _enter(self, at: float) -> None:
        if self._waiting_enter is not None:
            self._take_enter_as_newline()
        match self._burst.enter(at):
            case "submit":
                self.submit()
            case "newline":
                self.insert_text("\n")
            case _:
                self._waiting_enter = set_one_shot(self, SETTLE_SECONDS, self.submit)

    def _settle_waiting_enter(self, event: events.Key) -> None:
        """Something followed an Enter that was waiting: text makes it a newline, a key submits."""
        if self._waiting_enter is None:
            return
        if event.is_printable:
            self._take_enter_as_newline()
        else:
            self.submit()

    def _take_enter_as_newline(self) -> None:
        self._cancel_waiting_enter()
        self.insert_text("\n")
        self._burst.newline_taken()

    def _cancel_waiting_enter(self) -> None:
        if self._waiting_enter is not None:
            self._waiting_enter.stop()
            self._waiting_enter = None

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.KeyNoted())
        if self._waiting_enter is not None:
            self._take_enter_as_newline()
        self._burst.paste(event.time)
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Insert pasted text: literally when short, else folded behind a marker."""
        text = clean_paste(text)
        if not text:
            return
        row, column = self.cursor_location
        before = self.pastes.marker_before(self.document[row], column)
        if before is not None and before[1] == text and len(text) <= MAX_UNFOLD_CHARS:
            self._replace_via_keyboard(text, (row, before[0]), (row, column))
            return
        self.insert_text(self.pastes.fold(text))

    # -- history -------------------------------------------------------------------------------

    def action_cursor_up(self, select: bool = False) -> None:
        """Up; on the first visual row the prompt before."""
        if not select and self.navigator.is_first_wrapped_line(self.cursor_location):
            self._show_recalled(self.recall.older(self.text))
            return
        super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down; on the last visual row the prompt after, or the draft."""
        if not select and self.navigator.is_last_wrapped_line(self.cursor_location):
            self._show_recalled(self.recall.newer())
            return
        super().action_cursor_down(select)

    def _show_recalled(self, text: str | None) -> None:
        if text is not None:
            self.put_text(text)

    def action_cursor_page_up(self) -> None:
        """Page keys belong to the transcript (APP5.40)."""
        raise SkipAction()

    def action_cursor_page_down(self) -> None:
        """Page keys belong to the transcript (APP5.40)."""
        raise SkipAction()

    # -- folded pastes are one thing -----------------------------------------------------------

    def edit(self, edit: Edit) -> object:  # type: ignore[override]  # EditResult, passed through
        """Every edit ends a walk through history."""
        self.recall.reset()
        return super().edit(edit)

    def _replace_via_keyboard(self, insert: str, start: Location, end: Location):  # type: ignore[no-untyped-def]  # Textual's private signature
        return super()._replace_via_keyboard(insert, *self._whole_markers(start, end))

    def _delete_via_keyboard(self, start: Location, end: Location):  # type: ignore[no-untyped-def]  # Textual's private signature
        return super()._delete_via_keyboard(*self._whole_markers(start, end))

    def _whole_markers(self, start: Location, end: Location) -> tuple[Location, Location]:
        """The range, grown over every marker that it would cut through (test 130)."""
        top, bottom = sorted((start, end))
        for row, is_top in ((top[0], True), (bottom[0], False)):
            for first, last in self.pastes.spans(self.document[row]):
                if is_top and first < top[1] < last:
                    top = (row, first)
                if not is_top and first < bottom[1] < last:
                    bottom = (row, last)
        if start == end and top != bottom:
            # A bare caret inside a marker: typing there replaces the marker.
            return top, bottom
        return top, bottom

    def validate_selection(self, selection: Selection) -> Selection:
        """The caret never rests inside a marker."""
        row, column = selection.end
        if row >= self.document.line_count:
            return selection
        for first, last in self.pastes.spans(self.document[row]):
            if first < column < last:
                moving_left = self.selection.end >= (row, last)
                edge = (row, first if moving_left else last)
                start = edge if selection.is_empty else selection.start
                return Selection(start, edge)
        return selection

    # -- drawing -------------------------------------------------------------------------------

    def get_line(self, line_index: int) -> Text:
        """A line as it is painted: what could act on the terminal shows as a picture."""
        line = self.document.get_line(line_index)
        # One character for one: the caret and the wrapping count characters of the document.
        shown = (
            "".join(char if char == "\t" else (clean_line(char) or REPLACEMENT) for char in line)
            if not (line.isascii() and line.isprintable())
            else line
        )
        text = Text(shown, end="", no_wrap=True)
        for first, last in self.pastes.spans(line):
            text.stylize("italic", first, last)
        return text
