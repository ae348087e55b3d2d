"""What a terminal does to an app under test: bytes in, a screen of text out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from textual.app import App
from textual.pilot import Pilot

from rho_tui.widgets.terminal_input import PasteSafeParser

HOSTILE = "[/red] [b]x[/] [@click=app.quit]q[/] \x1b[31mred\x1b]0;t\x07 \u202eevil\u202c \x9b2J end"
HUGE = "x" * 10_000


class ScriptClock:
    """A clock that moves only when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def write(app: App, data: str) -> None:
    """Send bytes as one write of the terminal."""
    parser = PasteSafeParser()
    events = [*parser.feed(data)]
    if "\x1b" in data[-2:]:
        time.sleep(0.11)  # past Textual's escape delay, so that a lone ESC is decided
        events += [*parser.tick()]
    stamp = events[0].time if events else 0.0
    for number, event in enumerate(events):
        event.time = stamp + number * 0.0001  # parsed in one go, whatever the machine's load
        event.set_sender(app)
        app._driver.send_message(event)


def screen_text(app: App) -> str:
    """All rows of the screen as text."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


def assert_no_controls(app: App) -> None:
    """Nothing on the screen can act on the terminal."""
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            for char in segment.text:
                assert ord(char) >= 0x20, repr(segment.text)
                assert not 0x7F <= ord(char) <= 0x9F, repr(segment.text)
                assert char not in "\u202a\u202b\u202d\u202e\u2066\u2067", repr(segment.text)


async def until(pilot: Pilot, condition: Callable[[], object], seconds: float = 3.0) -> None:
    """Wait for a condition, with a deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in time; screen:\n{screen_text(pilot.app)}")
        await asyncio.sleep(0.005)


async def settle(pilot: Pilot) -> None:
    """Let all messages that are on their way arrive, and the screen be drawn."""
    await pilot.pause()
