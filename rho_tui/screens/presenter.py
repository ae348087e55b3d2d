"""Shows what a conversation tells: transcript, activity, status, prompts, pending input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rho_tui.host.catalogue import ProviderChoice
from rho_tui.host.config import Config
from rho_tui.screens.pending import PendingInput
from rho_tui.screens.status import with_choice
from rho_tui.screens.surface import Surface
from rho_tui.transcript.blocks import SessionHeaderBlock

if TYPE_CHECKING:
    from rho_tui.host.facts import ConversationEvent
    from rho_tui.screens.folding import Folding

HINTS = (
    ("/", "commands"),
    ("@", "mention a file"),
    ("!", "run a shell command"),
    ("esc", "stop the model"),
    ("ctrl+o", "expand the newest card"),
)


class Presenter:
    """Folds events into the widgets; decides nothing.

    What events are and mean is only imported for the first of them (`Folding`): the first screen
    does not wait for it.
    """

    def __init__(self, surface: Surface, config: Config, version: str) -> None:
        self.surface = surface
        self.config = config
        self._version = version
        self.choice: ProviderChoice | None = None
        self.pending = PendingInput()
        self._folding: Folding | None = None

    def begin(self, headline: str = "") -> None:
        """A fresh transcript with the session's header on top."""
        transcript = self.surface.transcript
        transcript.clear_blocks()
        transcript.append(
            "header", SessionHeaderBlock(self._version, hints=HINTS, headline=headline)
        )
        self._folding = None
        self.pending.clear()
        self.surface.dock.clear()
        self.surface.activity.activity = None
        self.show_pending()

    def headline(self, text: str) -> None:
        """Change the warning line of the header."""
        header = SessionHeaderBlock(self._version, hints=HINTS, headline=text)
        self.surface.transcript.set_block("header", header)

    def provider(self, choice: ProviderChoice | None) -> None:
        """Another provider answers from now on, or none."""
        self.choice = choice
        status = self.surface.status
        status.facts = with_choice(status.facts, choice)

    def replayed(self, event: ConversationEvent) -> None:
        """Show an event of the past: what it meant for the screen of that time is over."""
        self._folding_of_this_conversation().replayed(event)

    def fold(self, event: ConversationEvent) -> None:
        """Show an event as it happens."""
        self._folding_of_this_conversation().fold(event)

    @staticmethod
    def load() -> None:
        """Import what the first event needs. Takes a while, so it has a thread of its own."""
        from rho_tui.screens import folding  # noqa: F401 - importing it is the purpose

    def show_pending(self) -> None:
        """Draw what waits, unless a prompt needs the room."""
        free = self.surface.dock.wanted == "nothing"
        self.surface.pending.show(self.pending.shown() if free else ())

    def _folding_of_this_conversation(self) -> Folding:
        if self._folding is None:
            from rho_tui.screens.folding import Folding

            self._folding = Folding(self)
        return self._folding
