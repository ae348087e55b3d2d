"""The palette above the composer: completions of the token under the caret (APP5.2, 5.47)."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from rho_tui.widgets.line_view import LineView
from rho_tui.widgets.lines import text_line
from rho_tui.widgets.slash_commands import CommandRegistry
from rho_tui.widgets.suggestions import (
    MAX_SUGGESTIONS,
    FileFinder,
    Suggestion,
    Token,
    command_suggestions,
    mention_suggestions,
    suggestion_lines,
    token_at,
)

_FIND_GROUP = "file-mentions"


class SuggestionPalette(LineView):
    """Shows suggestions and knows which one is marked; the composer feeds it and takes from it."""

    DEFAULT_CSS = """
    SuggestionPalette {
        display: none;
        max-height: 5;
        background: $panel;
        padding: 0 1;
        scrollbar-background: $panel;
        scrollbar-background-hover: $panel;
        scrollbar-background-active: $panel;
    }
    """

    class Picked(Message):
        """A suggestion was clicked."""

    def __init__(self, commands: CommandRegistry, files: FileFinder | None) -> None:
        super().__init__()
        self._commands = commands
        self._files = files
        self._token: Token | None = None
        self._suggestions: list[Suggestion] = []
        self._selected = 0
        self._hidden_for: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is something to pick."""
        return bool(self._suggestions)

    @property
    def token(self) -> Token | None:
        """What a pick replaces."""
        return self._token

    @property
    def current(self) -> Suggestion | None:
        """The marked suggestion."""
        return self._suggestions[self._selected] if self._suggestions else None

    def follow(self, text: str, lines: Sequence[str], row: int, column: int) -> None:
        """The text or the caret changed: suggest for the token that ends at the caret."""
        if self._hidden_for is not None and self._hidden_for != text:
            self._hidden_for = None
        token = token_at(lines, row, column) if self._hidden_for is None else None
        if token == self._token:
            return
        self._token = token
        if token is None:
            self._show([])
        elif token.kind == "command":
            self._show(command_suggestions(self._commands, token.query))
        elif self._files is not None:
            self.run_worker(self._find(token, self._files), group=_FIND_GROUP, exclusive=True)

    def hide_for(self, text: str) -> None:
        """Stay closed until the text is another one."""
        self._hidden_for = text
        self._token = None
        self._show([])

    def move(self, step: int) -> None:
        """Mark the suggestion `step` further, around the ends."""
        if self._suggestions:
            self._selected = (self._selected + step) % len(self._suggestions)
            self._draw()

    def on_line_view_line_clicked(self, event: LineView.LineClicked) -> None:
        """A click picks."""
        event.stop()
        if event.index < len(self._suggestions):
            self._selected = event.index
            self.post_message(self.Picked())

    async def _find(self, token: Token, files: FileFinder) -> None:
        try:
            paths = await files.find(token.query, MAX_SUGGESTIONS)
        except OSError:
            paths = ()
        if token == self._token:
            self._show(mention_suggestions(paths))

    def _show(self, suggestions: list[Suggestion]) -> None:
        self._suggestions = suggestions
        self._selected = 0
        self._draw()

    def _draw(self) -> None:
        lines = suggestion_lines(self._suggestions, self._selected)
        self.set_lines(lines or [text_line("")], show=self._selected)
        self.display = bool(self._suggestions)
