"""A one-line input that holds no control characters, whatever is pasted."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from rho_tui.transcript.sanitize import clean_line
from rho_tui.widgets.pastes import clean_paste

MAX_PASTE = 10_000


class LineInput(Input):
    """Textual's `Input` with pastes reduced to one harmless line."""

    DEFAULT_CSS = """
    LineInput { border: none; height: 1; padding: 0; background: transparent; }
    LineInput:focus { border: none; }
    """

    def __init__(
        self,
        value: str = "",
        *,
        placeholder: str = "",
        password: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(
            value,
            placeholder=placeholder,
            password=password,
            id=id,
            classes=classes,
            compact=True,
            select_on_focus=False,
        )
        self.cursor_blink = False

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = " ".join(clean_paste(event.text[:MAX_PASTE]).split("\n")).strip()
        start, end = self.selection
        self.replace(clean_line(text), start, end)
