"""The widgets of the chat screen that show a conversation."""

from __future__ import annotations

from dataclasses import dataclass

from rho_tui.widgets.activity_line import ActivityLine
from rho_tui.widgets.composer import Composer
from rho_tui.widgets.pending_input import PendingInputPanel
from rho_tui.widgets.prompt_dock import PromptDock
from rho_tui.widgets.status_line import StatusLine
from rho_tui.widgets.transcript_view import TranscriptView


@dataclass(frozen=True, slots=True)
class Surface:
    """What is drawn on, top to bottom."""

    transcript: TranscriptView
    pending: PendingInputPanel
    activity: ActivityLine
    dock: PromptDock
    composer: Composer
    status: StatusLine
