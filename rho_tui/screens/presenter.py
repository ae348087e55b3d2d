"""Shows what a conversation tells: transcript, activity, status, prompts, pending input."""

from __future__ import annotations

from dataclasses import dataclass

from rho_core.events import SteeringApplied
from rho_tui.host import facts
from rho_tui.host.catalogue import ProviderChoice
from rho_tui.host.config import Config
from rho_tui.screens.activity import activity_after
from rho_tui.screens.pending import PendingInput
from rho_tui.screens.status import status_after, with_choice
from rho_tui.transcript.blocks import SessionHeaderBlock
from rho_tui.transcript.reducer import TranscriptReducer
from rho_tui.widgets.activity_line import ActivityLine
from rho_tui.widgets.composer import Composer
from rho_tui.widgets.pending_input import PendingInputPanel
from rho_tui.widgets.prompt_dock import PromptDock
from rho_tui.widgets.status_line import StatusLine
from rho_tui.widgets.transcript_view import TranscriptView

HINTS = (
    ("/", "commands"),
    ("@", "mention a file"),
    ("!", "run a shell command"),
    ("esc", "stop the model"),
    ("ctrl+o", "expand the newest card"),
)


@dataclass(frozen=True, slots=True)
class Surface:
    """The widgets of the chat screen that show a conversation."""

    transcript: TranscriptView
    pending: PendingInputPanel
    activity: ActivityLine
    dock: PromptDock
    composer: Composer
    status: StatusLine


class Presenter:
    """Folds events into the widgets; decides nothing."""

    def __init__(self, surface: Surface, config: Config, version: str) -> None:
        self._surface = surface
        self._config = config
        self._version = version
        self._choice: ProviderChoice | None = None
        self.pending = PendingInput()
        self._reducer = self._new_reducer()

    def begin(self, headline: str = "") -> None:
        """A fresh transcript with the session's header on top."""
        transcript = self._surface.transcript
        transcript.clear_blocks()
        transcript.append(
            "header", SessionHeaderBlock(self._version, hints=HINTS, headline=headline)
        )
        self._reducer = self._new_reducer()
        self.pending.clear()
        self._surface.dock.clear()
        self._surface.activity.activity = None
        self.show_pending()

    def headline(self, text: str) -> None:
        """Change the warning line of the header."""
        header = SessionHeaderBlock(self._version, hints=HINTS, headline=text)
        self._surface.transcript.set_block("header", header)

    def provider(self, choice: ProviderChoice | None) -> None:
        """Another provider answers from now on, or none."""
        self._choice = choice
        status = self._surface.status
        status.facts = with_choice(status.facts, choice)

    def replayed(self, event: facts.ConversationEvent) -> None:
        """Show an event of the past: what it meant for the screen of that time is over."""
        self._reducer.fold(event)
        self._update_status(event)

    def fold(self, event: facts.ConversationEvent) -> None:
        """Show an event as it happens."""
        self._reducer.fold(event)
        surface = self._surface
        surface.activity.activity = activity_after(event, surface.activity.activity)
        self._update_status(event)
        match event:
            case facts.ApprovalAsked() | facts.QuestionAsked():
                surface.dock.ask(event)
            case facts.ApprovalWithdrawn(approval_id=id) | facts.ApprovalAnswered(approval_id=id):
                surface.dock.close(id)
            case (
                facts.QuestionAnswered(request_id=id)
                | facts.QuestionTimedOut(request_id=id)
                | facts.QuestionDismissed(request_id=id)
            ):
                surface.dock.close(id)
            case SteeringApplied(ids=ids):
                for steering_id in ids:
                    self.pending.applied(steering_id)
                self.show_pending()
            case facts.PromptAccepted(steering=False):
                surface.composer.running = True
                surface.activity.attention = "none"
                surface.transcript.jump_to_bottom()
            case facts.TurnEnded(kind=kind):
                surface.composer.running = False
                surface.dock.clear()
                if kind is facts.TurnEndKind.COMPLETED and not surface.transcript.at_bottom:
                    surface.activity.attention = "ready"
            case _:
                pass

    def show_pending(self) -> None:
        """Draw what waits, unless a prompt needs the room."""
        free = self._surface.dock.wanted == "nothing"
        self._surface.pending.show(self.pending.shown() if free else ())

    def _update_status(self, event: facts.ConversationEvent) -> None:
        model = self._choice.model if self._choice else ""
        status = self._surface.status
        status.facts = status_after(event, status.facts, self._config.prices.get(model))

    def _new_reducer(self) -> TranscriptReducer:
        return TranscriptReducer(
            self._surface.transcript, show_reasoning=self._config.display.show_reasoning
        )
