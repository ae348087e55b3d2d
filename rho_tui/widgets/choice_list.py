"""A short list of choices with digits: arrows move, Enter or a digit chooses (APP5.59)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.message import Message

from rho_tui.widgets.line_view import LineView
from rho_tui.widgets.lines import Line, text_line


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice and what it means."""

    label: str
    detail: str = ""


class ChoiceList(LineView, can_focus=True):
    """Posts `Chosen` with the index of the choice."""

    DEFAULT_CSS = "ChoiceList { height: auto; }"

    class Chosen(Message):
        """A choice was made; `index` counts from 0."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(
        self, choices: Sequence[Choice], *, selected: int = 0, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._choices = tuple(choices)
        self._at = selected

    def on_mount(self) -> None:
        """Show the choices."""
        self._show()

    def on_key(self, event: events.Key) -> None:
        """Move and choose."""
        match event.key:
            case "up" | "left":
                self._move(self._at - 1)
            case "down" | "right":
                self._move(self._at + 1)
            case "enter" | "space":
                self.post_message(self.Chosen(self._at))
            case key if key.isdigit() and 1 <= int(key) <= len(self._choices):
                self._move(int(key) - 1)
                self.post_message(self.Chosen(self._at))
            case _:
                return
        event.stop()
        event.prevent_default()

    def on_line_view_line_clicked(self, event: LineView.LineClicked) -> None:
        """A click chooses."""
        event.stop()
        self._move(event.index // 2)
        self.post_message(self.Chosen(self._at))

    def _move(self, at: int) -> None:
        self._at = max(0, min(len(self._choices) - 1, at))
        self._show()

    def _show(self) -> None:
        lines: list[Line] = []
        for index, choice in enumerate(self._choices):
            here = index == self._at
            style = "accent" if here else ""
            lines.append(
                Line(((f"{'▸' if here else ' '} {index + 1} ", style), (choice.label, style)))
            )
            lines.append(text_line(f"    {choice.detail}", "muted", hang=4))
        self.set_lines(lines, show=2 * self._at + 1)
