"""One-shot timers of a process that is held up at the worst moment."""

from __future__ import annotations

import time

import pytest
from textual import timer as textual_timer
from textual.app import App

from rho_tui.transcript.blocks import NoticeBlock
from rho_tui.widgets.one_shot import set_one_shot
from rho_tui.widgets.transcript_view import TranscriptView


@pytest.fixture
def held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the timers' clock takes longer than a short delay."""
    real = textual_timer._time.get_time

    def late() -> float:
        time.sleep(0.003)
        return real()

    monkeypatch.setattr(textual_timer._time, "get_time", late)


@pytest.mark.usefixtures("held_up")
async def test_a_one_shot_timer_fires_however_late() -> None:
    app = App()
    async with app.run_test() as pilot:
        fired: list[int] = []
        set_one_shot(app, 0.001, lambda: fired.append(1))
        deadline = time.monotonic() + 2.0
        while not fired and time.monotonic() < deadline:
            await pilot.pause(0.01)
        assert fired


@pytest.mark.usefixtures("held_up")
async def test_the_transcript_draws_on_after_a_hold_up() -> None:
    class Transcript(App):
        def compose(self):
            yield TranscriptView()

    app = Transcript()
    async with app.run_test() as pilot:
        view = app.query_one(TranscriptView)
        for number in range(3):
            before = view.frames
            view.append(f"n{number}", NoticeBlock("something new"))
            deadline = time.monotonic() + 2.0
            while view.frames == before and time.monotonic() < deadline:
                await pilot.pause(0.01)
            assert view.frames > before
