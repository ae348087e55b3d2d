"""What the events of one conversation mean for the chat screen."""

from __future__ import annotations

from typing import Protocol

from rho_core.events import (
    CompactionCompleted,
    CompactionStarted,
    CompactionTrigger,
    SteeringApplied,
)
from rho_tui.host import facts
from rho_tui.host.catalogue import ProviderChoice
from rho_tui.host.config import Config
from rho_tui.screens.activity import activity_after
from rho_tui.screens.pending import PendingInput
from rho_tui.screens.status_after import status_after
from rho_tui.screens.surface import Surface
from rho_tui.transcript.reducer import TranscriptReducer


class Shown(Protocol):
    """What events are drawn on, and what their meaning depends on."""

    surface: Surface
    config: Config
    pending: PendingInput
    choice: ProviderChoice | None

    def show_pending(self) -> None:
        """Draw what waits."""


class Folding:
    """Feed it every event of one conversation, in order."""

    def __init__(self, screen: Shown) -> None:
        self._screen = screen
        self._reducer = TranscriptReducer(
            screen.surface.transcript, show_reasoning=screen.config.display.show_reasoning
        )

    def replayed(self, event: facts.ConversationEvent) -> None:
        """Show an event of the past: what it meant for the screen of that time is over."""
        self._reducer.fold(event)
        self._update_status(event)

    def fold(self, event: facts.ConversationEvent) -> None:
        """Show an event as it happens."""
        self._reducer.fold(event)
        surface = self._screen.surface
        before = surface.activity.activity
        after = activity_after(event, before)
        if after is not before:  # most events say nothing new
            surface.activity.activity = after
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
                    self._screen.pending.applied(steering_id)
                self._screen.show_pending()
            case CompactionStarted(trigger=CompactionTrigger.MANUAL):
                surface.composer.running = True
            case (
                CompactionCompleted(trigger=CompactionTrigger.MANUAL)
                | facts.CompactionStopped(trigger=CompactionTrigger.MANUAL)
            ):
                surface.composer.running = False
            case facts.PromptAccepted(steering=False):
                surface.composer.running = True
                surface.activity.attention = "none"
                surface.transcript.jump_to_bottom()
            case facts.TurnEnded(kind=kind):
                surface.composer.running = False
                surface.dock.clear()
                surface.transcript.flush()  # whoever waits for the end sees it now
                if kind is facts.TurnEndKind.COMPLETED and not surface.transcript.at_bottom:
                    surface.activity.attention = "ready"
            case _:
                pass

    def _update_status(self, event: facts.ConversationEvent) -> None:
        screen = self._screen
        model = screen.choice.model if screen.choice else ""
        status = screen.surface.status
        before = status.facts
        after = status_after(event, before, screen.config.prices.get(model))
        if after is not before:
            status.facts = after
