"""The row above the composer: what is going on, for how long, and the jump chip (APP1.18-1.20)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip
from textual.timer import Timer

from rho_tui.transcript.rows import Run
from rho_tui.transcript.sanitize import clean_line
from rho_tui.transcript.wrap import text_width
from rho_tui.widgets.palette_widget import PaletteWidget

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧"
FRAME_SECONDS = 0.095
"""APP1.18; with animations off the row only changes with the seconds."""


class Phase(StrEnum):
    """What a run is doing; the value is the label (APP1.18)."""

    STARTING = "starting"
    WAITING_FOR_PROVIDER = "waiting for provider"
    THINKING = "thinking"
    RESPONDING = "responding"
    PREPARING_TOOL = "preparing tool"
    RUNNING_TOOL = "running tool"
    RETRYING = "retrying provider"
    COMPACTING = "compacting context"
    WAITING_FOR_APPROVAL = "waiting for approval"
    WAITING_FOR_INPUT = "waiting for input"


Attention = Literal["none", "ready", "approval", "input"]
_CHIPS: dict[Attention, tuple[str, str, str]] = {
    "none": ("jump to bottom", "bottom", "muted"),
    "ready": ("response ready", "ready", "accent"),
    "approval": ("approval needed", "ask", "warning bold"),
    "input": ("input needed", "input", "warning bold"),
}
"""Full label, short label, style (APP1.20)."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What is going on. `label` replaces the phase's own words, such as a retry countdown."""

    phase: Phase
    label: str = ""
    hint: str = "esc to interrupt"


class ActivityLine(PaletteWidget):
    """One row; it has a timer only while something is going on.

    Args:
        clock: Monotonic clock in seconds, for the elapsed time.
        jump_key: How the key that jumps to the bottom is shown.
    """

    ALLOW_SELECT = False

    DEFAULT_CSS = "ActivityLine { height: 1; width: 1fr; }"

    at_bottom: reactive[bool] = reactive(True)
    """Whether the transcript follows its end: no chip then."""

    attention: reactive[Attention] = reactive("none")
    """What the chip says."""

    animate_spinner: var[bool] = var(True)
    """False keeps the spinner still."""

    class JumpRequested(Message):
        """The chip was clicked."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        jump_key: str = "ctrl+end",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._clock = clock
        self._jump_key = jump_key
        self._activity: Activity | None = None
        self._started = 0.0
        self._moving = False
        self._timer: Timer | None = None

    @property
    def activity(self) -> Activity | None:
        """What is going on, None when idle. Once mounted it can be set; a reactive is slower."""
        return self._activity

    @activity.setter
    def activity(self, new: Activity | None) -> None:
        old, self._activity = self._activity, new
        if (old is None) is not (new is None):
            self._start() if old is None else self._stop()
            self.refresh()
        elif old != new and not self._moving:
            self.refresh()
        # else the next spinner frame shows it: a run of quick steps changes phase many times a
        # frame, and each repaint of this row makes Textual look at the whole screen

    def set_phase(self, phase: Phase | None, label: str = "") -> None:
        """Show a phase; the clock runs on until `set_phase(None)`."""
        self.activity = None if phase is None else Activity(phase, label)

    def join_frame(self) -> None:
        """The screen is drawn anyway: move on with it; the own tick comes after a pause only."""
        if self._timer is not None:
            self._timer.reset()
            self._advance()

    @property
    def ticking(self) -> bool:
        """Whether a timer runs."""
        return self._timer is not None

    def on_click(self, event: events.Click) -> None:
        """A click on the chip jumps."""
        chip = self._chip(self.size.width)
        if chip and event.x >= self.size.width - _width(chip):
            self.post_message(self.JumpRequested())

    def render_line(self, y: int) -> Strip:
        """Activity at the left, chip at the right."""
        width = self.size.width
        palette = self.palette
        chip = self._chip(width)
        left = self._activity_runs(width - (_width(chip) + 2 if chip else 0))
        gap = max(0, width - _width(left) - _width(chip))
        runs = (*left, (" " * gap, ""), *chip)
        segments = [Segment(text, palette.style(key)) for text, key in runs]
        return Strip(segments).adjust_cell_length(width, palette.base)

    def _start(self) -> None:
        self._started = self._clock()
        self._moving = self.animate_spinner and self.app.animation_level != "none"
        self._timer = self.set_interval(FRAME_SECONDS if self._moving else 1.0, self._advance)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _advance(self) -> None:
        self.refresh()  # this row only, no layout

    def _activity_runs(self, width: int) -> tuple[Run, ...]:
        activity = self.activity
        if activity is None:
            return ()
        elapsed = max(0.0, self._clock() - self._started)
        frame = int(elapsed / FRAME_SECONDS) if self.animate_spinner else 0
        spinner: Run = (SPINNER[frame % len(SPINNER)], "accent")
        label = clean_line(activity.label or activity.phase.value)
        for words in _degraded(label, format_elapsed(elapsed), activity.hint):
            runs: tuple[Run, ...] = (spinner, (f" {words}", "muted"))
            if _width(runs) <= width:
                return runs
        return (spinner,) if width >= 1 else ()

    def _chip(self, width: int) -> tuple[Run, ...]:
        if self.at_bottom:
            return ()
        full, short, style = _CHIPS[self.attention]
        key = self._jump_key
        for text in (f"↓ {full}  {key}", f"↓ {short}  {key}", f"↓ {key}"):
            if text_width(text) <= width // 2 or text.count(" ") == 1:
                return ((text, style),) if text_width(text) <= width else ()
        return ()


def format_elapsed(seconds: float) -> str:
    """`7s`, `2m 05s`, `1h 02m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"


def _degraded(label: str, elapsed: str, hint: str) -> Iterator[str]:
    yield f"{label} · {elapsed} · {hint}" if hint else f"{label} · {elapsed}"
    yield f"{label} · {elapsed}"
    yield label
    yield elapsed


def _width(runs: tuple[Run, ...]) -> int:
    return sum(text_width(text) for text, _ in runs)
