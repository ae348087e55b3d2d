"""The composer: where prompts, commands and shell lines are written (APP1.28-1.31, 5.39-5.48)."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Static, TextArea

from rho_tui.widgets.composer_input import ComposerInput
from rho_tui.widgets.divider import Divider
from rho_tui.widgets.filter_list import FilterList, ListEntry
from rho_tui.widgets.prompt_history import PromptHistoryPort, PromptRecall
from rho_tui.widgets.screen_height import follow_screen_height
from rho_tui.widgets.slash_commands import CommandRegistry, parse_command
from rho_tui.widgets.suggestion_palette import SuggestionPalette
from rho_tui.widgets.suggestions import MAX_ROWS, FileFinder, Suggestion
from rho_tui.widgets.typing_guard import TypingGuard

PLACEHOLDER = "Type a message"
SHELL_INCLUDED = "shell · included in context"
SHELL_EXCLUDED = "shell · excluded from context"


class Composer(Widget):
    """The prompt line with its dividers, suggestions and history search.

    Args:
        commands: What `/` completes.
        files: What `@` completes; None switches mentions off.
        history: Keeps prompts between runs; None keeps them for this run only.
        guard: Shared typing guard; the composer notes every key in it.
        history_limit: Prompts that can be recalled, 0 for none.
    """

    DEFAULT_CSS = """
    Composer { height: auto; }
    Composer .composer--line { height: auto; }
    Composer .composer--mark { width: 2; height: 1; color: $text-muted; }
    """

    ready: var[bool] = var(True, init=False)
    """Whether prompts can be taken; Enter before that waits and submits when it turns True."""

    running: var[bool] = var(False, init=False)
    """Whether a run is going: Alt+Enter then queues a follow-up instead of making a newline."""

    hold_submission: var[bool] = var(False, init=False)
    """While True, Enter leaves the text where it is (a prompt is about to take the keys)."""

    reasoning: var[str] = var("off", init=False)
    """Reasoning level, which colours the dividers (APP1.29)."""

    class Submitted(Message):
        """A prompt. `follow_up` asks to run it after the turn that is going on."""

        def __init__(self, text: str, *, follow_up: bool = False) -> None:
            super().__init__()
            self.text = text
            self.follow_up = follow_up

    class DraftBegun(Message):
        """Somebody has begun to write: what a turn needs can be made ready."""

    class CommandEntered(Message):
        """A slash command, known or not: name without the slash, arguments stripped."""

        def __init__(self, name: str, args: str) -> None:
            super().__init__()
            self.name = name
            self.args = args

    class ShellEntered(Message):
        """A `!` line; `included` says whether its result goes into the model's context."""

        def __init__(self, command: str, *, included: bool) -> None:
            super().__init__()
            self.command = command
            self.included = included

    class Interrupted(Message):
        """Ctrl+C. `cleared` when it cleared text; the app counts the others (APP5.39)."""

        def __init__(self, *, cleared: bool) -> None:
            super().__init__()
            self.cleared = cleared

    def __init__(
        self,
        *,
        commands: CommandRegistry | None = None,
        files: FileFinder | None = None,
        history: PromptHistoryPort | None = None,
        guard: TypingGuard | None = None,
        history_limit: int = 1000,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._palette = SuggestionPalette(commands or CommandRegistry(), files)
        self._history = history
        self._guard = guard
        self._recall = PromptRecall(history_limit)
        self._input = ComposerInput(recall=self._recall, placeholder=PLACEHOLDER)
        self._input.key_hook = self._key
        self._input.enter_hook = self._before_submit
        self._submit_when_ready: str | None = None
        self._drafting = False
        self._search: FilterList | None = None

    # -- for the owner -------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The draft with pastes unfolded."""
        return self._input.expanded_text

    def set_text(self, text: str) -> None:
        """Replace the draft; suggestions stay closed until it is edited."""
        self._input.put_text(text)
        self._palette.hide_for(self._input.text)

    def restore(self, texts: Sequence[str]) -> None:
        """Put texts that weren't sent in front of the draft, apart by blank lines (APP2.6)."""
        parts = [text for text in (*texts, self.text) if text.strip()]
        self.set_text("\n\n".join(parts))

    def insert(self, text: str) -> None:
        """Insert text at the caret."""
        self._input.insert_text(text)

    def put_typed(self, text: str, *, entered: bool) -> None:
        """Take what was typed before there was a composer; `entered` says that Enter followed."""
        self._input.insert_text(text)
        if entered:
            self._input.submit()

    def clear(self) -> None:
        """Empty the draft."""
        self._input.load_text("")
        self._input.pastes.clear()
        self._recall.reset()

    def focus(self, scroll_visible: bool = True) -> Composer:
        """Put the caret into the text, or into the search while it is open."""
        if self._search is not None:
            self._search.focus_filter()
        else:
            self._input.focus(scroll_visible)
        return self

    @property
    def has_composer_focus(self) -> bool:
        """Whether keys go into the text."""
        return self._input.has_focus

    def accept(self, event: events.Key | events.Paste) -> None:
        """Take input that reached the screen because nothing had the focus."""
        self._input.focus()
        if isinstance(event, events.Paste):
            self._input.post_message(events.Paste(event.text))
        else:
            self._input.post_message(event.copy())

    # -- life ----------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Divider, suggestions, prompt line, divider."""
        yield Divider(classes="composer--top")
        yield self._palette
        with Horizontal(classes="composer--line"):
            yield Static("> ", classes="composer--mark", markup=False)
            yield self._input
        yield Divider(classes="composer--bottom")

    def on_mount(self) -> None:
        """Fit to the screen and load the history."""
        follow_screen_height(self, self._fit)
        if self._history is not None:
            self.run_worker(self._load_history(self._history), group="prompt-history")

    def _fit(self, screen_rows: int) -> None:
        self._input.styles.max_height = max(1, screen_rows // 3)

    async def _load_history(self, history: PromptHistoryPort) -> None:
        self._recall.fill(await history.load())

    def watch_ready(self, ready: bool) -> None:
        """Submit what waited, if it wasn't edited since."""
        waiting, self._submit_when_ready = self._submit_when_ready, None
        if ready and waiting is not None and waiting == self._input.text:
            self._input.submit()

    def watch_running(self, running: bool) -> None:
        """Alt+Enter changes its meaning."""
        self._input.running = running

    def watch_reasoning(self, level: str) -> None:
        """Colour the dividers."""
        for divider in self.query(Divider):
            divider.reasoning = level

    # -- input ---------------------------------------------------------------------------------

    def on_composer_input_key_noted(self, event: ComposerInput.KeyNoted) -> None:
        """Somebody types."""
        event.stop()
        if self._guard is not None:
            self._guard.note_key()

    def on_composer_input_entered(self, event: ComposerInput.Entered) -> None:
        """Tell commands, shell lines and prompts apart."""
        event.stop()
        self._remember(event.text)
        text = event.text.strip()
        if text.startswith("!"):
            command = text.lstrip("!").strip()
            if command:
                self.post_message(self.ShellEntered(command, included=not text.startswith("!!")))
            return
        parsed = parse_command(event.text)
        if parsed is not None:
            self.post_message(self.CommandEntered(*parsed))
            return
        self.post_message(self.Submitted(text, follow_up=event.follow_up))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep label and suggestions up to date."""
        event.stop()
        if self._submit_when_ready not in (None, self._input.text):
            self._submit_when_ready = None
        if bool(self._input.text) != self._drafting:
            self._drafting = not self._drafting
            if self._drafting:
                self.post_message(self.DraftBegun())
        self._show_mode()
        self._follow()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """Suggestions follow the caret."""
        event.stop()
        self._follow()

    def on_suggestion_palette_picked(self, event: SuggestionPalette.Picked) -> None:
        """A suggestion was clicked."""
        event.stop()
        self._complete()
        self._input.focus()

    def _key(self, key: str) -> bool:
        """Keys that mean something here before the text area sees them."""
        if self._search is not None and key in ("escape", "ctrl+c", "enter"):
            # The search is open but has not got the focus yet.
            if key != "enter":
                self._close_search()
            return True
        if self._palette.is_open:
            match key:
                case "up" | "down":
                    self._palette.move(-1 if key == "up" else 1)
                    return True
                case "tab":
                    self._complete()
                    return True
                case "escape":
                    self._palette.hide_for(self._input.text)
                    return True
        match key:
            case "ctrl+r":
                self._open_search()
            case "ctrl+c":
                return self._interrupt()
            case "escape" if self._input.text.startswith("!"):
                self._leave_shell()
            case _:
                return False
        return True

    def _before_submit(self) -> bool:
        """Enter: True when it was used up and nothing is to be submitted."""
        if self.hold_submission:
            return True
        self._follow()  # keys of one write come before the change is reported
        token, suggestion = self._palette.token, self._palette.current
        if token is not None and suggestion is not None:
            exact = suggestion.insert.strip().lstrip("/@") == token.query
            if not (exact and token.kind == "mention"):
                self._complete()
                if not suggestion.runs:
                    return True
        if not self.ready:
            self._submit_when_ready = self._input.text
            return True
        return False

    def _complete(self) -> None:
        """Put the marked suggestion in place of its token."""
        token, suggestion = self._palette.token, self._palette.current
        if token is None or suggestion is None:
            return
        self._replace_token(token.start, suggestion)
        self._palette.hide_for(self._input.text)

    def _replace_token(self, start: int, suggestion: Suggestion) -> None:
        row, column = self._input.cursor_location
        self._input.replace(
            suggestion.insert, (row, start), (row, column), maintain_selection_offset=False
        )

    def _interrupt(self) -> bool:
        if self._input.selected_text:
            return False  # copies
        cleared = bool(self._input.text)
        if cleared:
            self._input.clear()  # an edit, so that undo brings the text back
        self._submit_when_ready = None
        self.post_message(self.Interrupted(cleared=cleared))
        return True

    def _leave_shell(self) -> None:
        text = self._input.text
        marks = len(text) - len(text.lstrip("!"))
        self._input.delete((0, 0), (0, marks))

    def _show_mode(self) -> None:
        line = self._input.document[0]
        caption = ""
        if line.startswith("!!"):
            caption = SHELL_EXCLUDED
        elif line.startswith("!"):
            caption = SHELL_INCLUDED
        self.query_one(".composer--top", Divider).caption = caption

    def _follow(self) -> None:
        row, column = self._input.cursor_location
        document = self._input.document
        self._palette.follow(self._input.text, document.lines, row, column)

    # -- history -------------------------------------------------------------------------------

    def on_filter_list_chosen(self, event: FilterList.Chosen) -> None:
        """Take the prompt that was found; it can be edited before it is sent."""
        event.stop()
        entries = list(reversed(self._recall.entries))
        self._close_search()
        if event.index < len(entries):
            self.set_text(entries[event.index])

    def on_filter_list_cancelled(self, event: FilterList.Cancelled) -> None:
        """Back to the draft."""
        event.stop()
        self._close_search()

    def on_key(self, event: events.Key) -> None:
        """Ctrl+R again goes on to an earlier match."""
        if event.key == "ctrl+r" and self._search is not None:
            event.stop()
            event.prevent_default()
            self._search.move(1)

    def _open_search(self) -> None:
        if self._search is None:  # made when wanted: most sessions never search
            self._search = FilterList(
                [ListEntry(entry) for entry in reversed(self._recall.entries)],
                placeholder="search earlier prompts",
                empty="no earlier prompt",
                max_rows=MAX_ROWS,
            )
            self.mount(self._search, before=".composer--bottom")
        self.call_after_refresh(self.focus)

    def _close_search(self) -> None:
        search, self._search = self._search, None
        if search is not None:
            search.remove()
        self._input.focus()

    def _remember(self, text: str) -> None:
        if self._recall.add(text) and self._history is not None:
            self.run_worker(self._history.append(text), group="prompt-history", exit_on_error=False)
