"""Tells the terminal when Rho waits or has finished while the user looks elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.app import App

if TYPE_CHECKING:
    from rho_tui.host.facts import ConversationEvent

#: by the event's name, so that the first screen need not import the events
_WORDS = {
    "ApprovalAsked": "Rho needs your approval",
    "QuestionAsked": "Rho has a question",
    "TurnEnded": "Rho has finished",
}


class Attention:
    """Rings only while the window is unfocused; `off` never."""

    def __init__(self, app: App[int], method: Literal["bell", "osc9", "off"]) -> None:
        self._app = app
        self._method = method

    def after(self, event: ConversationEvent) -> None:
        """Ring if the event wants a person who is not looking."""
        words = _WORDS.get(type(event).__name__)
        if words is None or self._method == "off" or self._app.app_focus:
            return
        if self._method == "bell":
            self._app.bell()
        elif self._app._driver is not None:
            # Textual has no call for it; the words are our own constants
            self._app._driver.write(f"\x1b]9;{words}\x07")
