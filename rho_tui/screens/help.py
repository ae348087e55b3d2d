"""Keys and commands, made from the registries that implement them (APP5.19)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical

from rho_tui.screens.dialog import ListDialog
from rho_tui.widgets.filter_list import FilterList, ListEntry
from rho_tui.widgets.line_view import LineView
from rho_tui.widgets.lines import text_line
from rho_tui.widgets.slash_commands import CommandRegistry


@dataclass(frozen=True, slots=True)
class KeyHelp:
    """A key, as people write it, and what it does."""

    key: str
    action: str


COMPOSER_KEYS = (
    KeyHelp("enter", "send; steer while a run is going"),
    KeyHelp("alt+enter", "newline; follow-up while a run is going"),
    KeyHelp("ctrl+j, shift+enter", "newline"),
    KeyHelp("up, down", "earlier and later prompts, at the first and last row"),
    KeyHelp("ctrl+r", "search earlier prompts"),
    KeyHelp("ctrl+c", "clear the text; again to quit"),
    KeyHelp("esc", "close suggestions, leave shell mode, interrupt the run"),
    KeyHelp("tab", "complete a command or a path"),
    KeyHelp("/", "commands"),
    KeyHelp("@", "mention a file"),
    KeyHelp("!", "run a shell line; !! keeps it out of the context"),
    KeyHelp("ctrl+z, ctrl+y", "undo, redo"),
)
"""What the composer itself does with keys; the app adds its bindings."""


class HelpScreen(ListDialog[None]):
    """A searchable list; Esc or Enter closes it."""

    DEFAULT_CSS = """
    HelpScreen LineView { height: auto; }
    """

    def __init__(self, keys: Sequence[KeyHelp], commands: CommandRegistry) -> None:
        super().__init__()
        self._entries = help_entries(keys, commands)

    def compose(self) -> ComposeResult:
        """Title, list, keys."""
        with Vertical():
            yield LineView([text_line("Keys and commands", "accent")])
            yield FilterList(
                self._entries,
                placeholder="type to search",
                max_rows=self.list_rows,
            )
            yield LineView([text_line("↑↓ scroll · Esc close", "muted")])

    def on_filter_list_chosen(self, event: FilterList.Chosen) -> None:
        """Enter closes."""
        event.stop()
        self.finish(None)


def help_entries(keys: Sequence[KeyHelp], commands: CommandRegistry) -> list[ListEntry]:
    """Keys first, then commands by name; both columns line up."""
    pairs = [(key.key, key.action) for key in keys]
    for command in commands.all():
        also = f" (also /{', /'.join(command.aliases)})" if command.aliases else ""
        pairs.append((command.usage, command.help + also))
    width = min(28, max((len(left) for left, _ in pairs), default=0))
    return [ListEntry(f"{left:<{width}}", right) for left, right in pairs]
