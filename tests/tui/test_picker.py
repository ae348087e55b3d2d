"""Pickers and help: filter, choose, close, hostile rows."""

from __future__ import annotations

import pytest
from textual.app import App

from rho_tui.screens.help import COMPOSER_KEYS, HelpScreen, KeyHelp
from rho_tui.screens.picker import Picker, PickerItem
from rho_tui.widgets.filter_list import ListEntry, filter_entries
from rho_tui.widgets.slash_commands import CommandRegistry, SlashCommand
from tests.tui.terminal import HOSTILE, HUGE, assert_no_controls, screen_text, settle, until, write

ESC, DOWN = "\x1b", "\x1b[B"


class PickerApp(App):
    def __init__(self, screen) -> None:
        super().__init__()
        self.picker = screen
        self.results: list[object] = []

    def on_mount(self) -> None:
        self.push_screen(self.picker, self.results.append)


def items(count: int = 30) -> list[PickerItem[int]]:
    return [PickerItem(number, f"session {number}", f"{number}h ago") for number in range(count)]


@pytest.mark.clause("APP5.57")
async def test_typing_filters_and_enter_takes_even_in_one_write() -> None:
    app = PickerApp(Picker("Sessions", items()))
    async with app.run_test() as pilot:
        await until(pilot, lambda: "session 1" in screen_text(app))
        write(app, "27\r")
        await until(pilot, lambda: app.results)
        assert app.results == [27]


@pytest.mark.clause("APP5.57")
async def test_arrows_wrap_and_thirty_items_stay_inside_the_screen() -> None:
    app = PickerApp(Picker("Sessions", items()))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "(1/30)" in screen_text(app))
        write(app, "\x1b[A")
        await until(pilot, lambda: "▸ session 29" in screen_text(app))
        write(app, DOWN)
        write(app, "\x1b[6~")
        await until(pilot, lambda: "(1/30)" not in screen_text(app))
        write(app, ESC)
        await until(pilot, lambda: app.results == [None])


async def test_nothing_matches_and_nothing_to_pick_are_said() -> None:
    app = PickerApp(Picker("Sessions", items(), selected=3))
    async with app.run_test() as pilot:
        await until(pilot, lambda: "▸ session 3 " in screen_text(app))
        write(app, "nope")
        await until(pilot, lambda: "nothing matches" in screen_text(app))
        write(app, "\r")
        await settle(pilot)
        assert app.results == []
    app = PickerApp(Picker("Sessions", [], empty="no sessions yet"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: "no sessions yet" in screen_text(app))


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark"])
async def test_hostile_rows_are_harmless_at_every_size(theme: str) -> None:
    rows = [PickerItem(0, HOSTILE, HOSTILE), PickerItem(1, HUGE, HUGE), PickerItem(2, "a\nb\n")]
    app = PickerApp(Picker(HOSTILE, rows))
    app.theme = theme
    async with app.run_test(size=(1, 1)) as pilot:
        await until(pilot, lambda: app.picker.is_current)
        for size in ((20, 4), (40, 12), (120, 36)):
            await pilot.resize_terminal(*size)
            write(app, DOWN)
            await settle(pilot)
            assert_no_controls(app)
        assert "[/red]" in screen_text(app)


async def test_choosing_twice_pops_one_screen_only() -> None:
    app = PickerApp(Picker("Sessions", items()))
    async with app.run_test() as pilot:
        await until(pilot, lambda: "session 1" in screen_text(app))
        app.picker.finish(1)
        app.picker.finish(2)
        await settle(pilot)
        assert app.results == [1]
        assert len(app.screen_stack) == 1


def test_every_word_must_match_in_any_case() -> None:
    entries = [ListEntry("Fix Parser", "today"), ListEntry("docs", "parser"), ListEntry("x")]
    assert filter_entries(entries, "PARSER") == [0, 1]
    assert filter_entries(entries, "today fix") == [0]
    assert filter_entries(entries, "  ") == [0, 1, 2]


@pytest.mark.clause("APP5.19")
async def test_help_lists_keys_and_commands_and_can_be_searched() -> None:
    commands = CommandRegistry(
        [SlashCommand("model", "choose a model [x]", hint="[id]", aliases=("m",))]
    )
    screen = HelpScreen([*COMPOSER_KEYS, KeyHelp("ctrl+o", "expand a card")], commands)
    app = PickerApp(screen)
    async with app.run_test(size=(100, 36)) as pilot:
        await until(pilot, lambda: "expand a card" in screen_text(app))
        assert "/model [id]" in screen_text(app)
        assert "choose a model [x] (also /m)" in screen_text(app)
        write(app, "expand")
        await until(pilot, lambda: "/model" not in screen_text(app))
        write(app, ESC)
        await until(pilot, lambda: app.results == [None])
