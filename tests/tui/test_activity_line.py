"""The activity row and the panel of waiting input."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from rho_tui.widgets.activity_line import SPINNER, ActivityLine, Phase, format_elapsed
from rho_tui.widgets.pending_input import PendingInputPanel, PendingItem, pending_lines
from tests.tui.terminal import HOSTILE, ScriptClock, assert_no_controls, screen_text, settle, until


class ActivityApp(App):
    def __init__(self) -> None:
        super().__init__()
        self.clock = ScriptClock()
        self.line = ActivityLine(clock=self.clock)
        self.panel = PendingInputPanel()
        self.jumps = 0

    def compose(self) -> ComposeResult:
        yield self.line
        yield self.panel

    def on_activity_line_jump_requested(self) -> None:
        self.jumps += 1


@pytest.mark.clause("APP1.18")
async def test_a_phase_shows_spinner_label_time_and_hint_and_idle_has_no_timer() -> None:
    app = ActivityApp()
    async with app.run_test() as pilot:
        assert not app.line.ticking
        app.line.set_phase(Phase.THINKING)
        app.clock.now += 65
        await until(pilot, lambda: "thinking · 1m 05s · esc to interrupt" in screen_text(app))
        assert screen_text(app)[0] in SPINNER
        app.line.set_phase(Phase.RUNNING_TOOL)
        app.clock.now += 1
        await until(pilot, lambda: "running tool · 1m 06s" in screen_text(app))
        app.line.set_phase(None)
        await until(pilot, lambda: not screen_text(app).strip())
        assert not app.line.ticking


async def test_a_tick_lays_nothing_out() -> None:
    app = ActivityApp()
    async with app.run_test() as pilot:
        app.line.set_phase(Phase.RESPONDING)
        await settle(pilot)
        layouts = 0
        original = app.screen._refresh_layout

        def counting(*args, **kwargs):
            nonlocal layouts
            layouts += 1
            return original(*args, **kwargs)

        app.screen._refresh_layout = counting
        for _ in range(5):
            app.clock.now += 1
            app.line._advance()
            await settle(pilot)
        assert layouts == 0


@pytest.mark.clause("APP1.19", "APP1.20")
async def test_labels_and_chip_degrade_by_width() -> None:
    app = ActivityApp()
    async with app.run_test(size=(80, 5)) as pilot:
        app.line.set_phase(Phase.WAITING_FOR_PROVIDER)
        app.line.at_bottom = False
        await until(pilot, lambda: "↓ jump to bottom  ctrl+end" in screen_text(app))
        app.line.attention = "approval"
        await until(pilot, lambda: "↓ approval needed  ctrl+end" in screen_text(app))
        await pilot.resize_terminal(30, 5)
        await until(pilot, lambda: "↓ ask  ctrl+end" in screen_text(app))
        await pilot.resize_terminal(3, 5)
        await settle(pilot)
        assert screen_text(app)[0] in SPINNER


async def test_a_click_on_the_chip_asks_to_jump() -> None:
    app = ActivityApp()
    async with app.run_test(size=(80, 5)) as pilot:
        app.line.at_bottom = False
        await settle(pilot)
        await pilot.click(ActivityLine, offset=(2, 0))
        await pilot.click(ActivityLine, offset=(75, 0))
        await until(pilot, lambda: app.jumps == 1)


async def test_hostile_labels_are_harmless() -> None:
    app = ActivityApp()
    async with app.run_test(size=(100, 8)) as pilot:
        app.line.set_phase(Phase.RETRYING, HOSTILE)
        app.panel.show([PendingItem("steer", HOSTILE, "current run"), PendingItem("next", "x\ny")])
        await until(pilot, lambda: "[/red]" in screen_text(app))
        await until(pilot, lambda: "STEER" in screen_text(app))
        assert_no_controls(app)


@pytest.mark.clause("APP1.23", "APP1.24")
async def test_waiting_input_is_counted_and_hides_when_there_is_none() -> None:
    items = [PendingItem("steer", "one"), PendingItem("next", "two"), PendingItem("next", "three")]
    lines = pending_lines(items)
    assert lines[0].runs[0][0] == "pending input · 1 steer · 2 follow-ups"
    assert len(pending_lines([*items, *items])) == 4
    app = ActivityApp()
    async with app.run_test() as pilot:
        app.panel.show(items)
        await until(pilot, lambda: "NEXT" in screen_text(app))
        app.panel.show([])
        await until(pilot, lambda: not app.panel.display)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0s"), (59.9, "59s"), (60, "1m 00s"), (3725, "1h 02m")]
)
def test_elapsed_format(seconds: float, shown: str) -> None:
    assert format_elapsed(seconds) == shown
