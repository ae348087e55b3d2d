"""The composer: keys, pastes, history, palette, submission."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from textual import on
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.message import Message

from rho_tui.widgets.composer import SHELL_EXCLUDED, SHELL_INCLUDED, Composer
from rho_tui.widgets.composer_input import ComposerInput
from rho_tui.widgets.prompt_history import PromptHistory
from rho_tui.widgets.slash_commands import CommandRegistry, SlashCommand
from rho_tui.widgets.suggestion_palette import SuggestionPalette
from rho_tui.widgets.terminal_input import install_terminal_input
from tests.tui.terminal import HOSTILE, assert_no_controls, screen_text, settle, until, write

install_terminal_input()

COMMANDS = CommandRegistry(
    [
        SlashCommand("help", "show keys and commands"),
        SlashCommand("model", "choose a model", hint="[provider/model]"),
        SlashCommand("title", "name the session", hint="<name>", needs_argument=True),
        SlashCommand("new", "a fresh session", aliases=("clear",)),
    ]
)
SHIFT_ENTER, ALT_ENTER = "\x1b[13;2u", "\x1b[13;3u"
ESC, CTRL_C, CTRL_R, UP, DOWN = "\x1b", "\x03", "\x12", "\x1b[A", "\x1b[B"


class Files:
    async def find(self, query: str, limit: int) -> Sequence[str]:
        names = ["src/main.py", "src/a b.txt", "README.md", "[/red]\x1b[31m.py"]
        return [name for name in names if query in name][:limit]


class ComposerApp(App):
    def __init__(self, **options: object) -> None:
        super().__init__()
        self.composer = Composer(commands=COMMANDS, files=Files(), **options)
        self.log_of: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self.composer

    def on_mount(self) -> None:
        self.composer.focus()

    @on(Composer.Submitted)
    @on(Composer.CommandEntered)
    @on(Composer.ShellEntered)
    @on(Composer.Interrupted)
    def keep(self, message: Message) -> None:
        self.log_of.append(message)

    @property
    def prompts(self) -> list[tuple[str, bool]]:
        return [(m.text, m.follow_up) for m in self.log_of if isinstance(m, Composer.Submitted)]

    @property
    def area(self) -> ComposerInput:
        return self.composer.query_one(ComposerInput)

    @property
    def palette(self) -> SuggestionPalette:
        return self.composer.query_one(SuggestionPalette)


@pytest.mark.clause("APP2.1")
async def test_text_and_enter_in_one_write_submit_the_whole_text() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "hello there\r")
        await until(pilot, lambda: app.prompts)
        assert app.prompts == [("hello there", False)]
        assert app.area.text == ""


async def test_editing_keys_of_one_write_act_in_order() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "abc\x15def\x7f\x1b[Dx\r")  # ctrl+u, backspace, left
        await until(pilot, lambda: app.prompts)
        assert app.prompts == [("dxe", False)]


@pytest.mark.clause("case:D7")
async def test_a_burst_without_paste_markers_is_one_block_and_submits_nothing() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "a\rb\rc\r")
        await until(pilot, lambda: app.area.text == "a\nb\nc\n")
        await settle(pilot)
        assert app.prompts == []
        await pilot.press("enter")
        await until(pilot, lambda: app.prompts)
        assert app.prompts == [("a\nb\nc", False)]


@pytest.mark.clause("case:D7")
async def test_an_end_marker_inside_a_paste_cannot_break_out() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "\x1b[200~a\nb\nc\n \x1b[201~rm -rf x\r")
        await until(pilot, lambda: "rm -rf x\n" in app.area.text)
        await settle(pilot)
        assert app.log_of == []
        assert app.area.text == "a\nb\nc\n rm -rf x\n"


NEWLINES = ("\n", "\x1b[106;5u", "\x1b[27;5;106~", "\x1b\r", SHIFT_ENTER, "\x1b[27;2;13~")


@pytest.mark.clause("case:D13")
async def test_every_newline_encoding_inserts_a_newline_and_only_enter_submits() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        for newline in NEWLINES:
            app.composer.clear()
            write(app, "one")
            write(app, newline)
            write(app, "two")
            await until(pilot, lambda: app.area.text == "one\ntwo")
        assert app.prompts == []
        await pilot.press("enter")
        await until(pilot, lambda: app.prompts)
        assert app.prompts == [("one\ntwo", False)]


@pytest.mark.clause("APP2.46", "APP5.39")
async def test_alt_enter_is_a_newline_when_idle_and_a_follow_up_while_running() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "a")
        write(app, ALT_ENTER)
        write(app, "b")
        await until(pilot, lambda: app.area.text == "a\nb")
        app.composer.running = True
        write(app, ALT_ENTER)
        await until(pilot, lambda: app.prompts)
        assert app.prompts == [("a\nb", True)]


@pytest.mark.clause("APP5.43", "case:D8")
async def test_a_long_paste_folds_and_is_expanded_when_sent() -> None:
    app = ComposerApp()
    pasted = "\n".join(f"line {number}" for number in range(40_000))
    async with app.run_test() as pilot:
        write(app, "look: ")
        write(app, f"\x1b[200~{pasted}\x1b[201~")
        await until(pilot, lambda: app.area.text == "look: [pasted 40000 lines]")
        await pilot.press("enter")
        await until(pilot, lambda: app.prompts)
        assert app.prompts == [(f"look: {pasted}", False)]


@pytest.mark.clause("APP5.43")
async def test_ten_lines_stay_literal_and_two_folds_have_different_markers() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        ten = "\n".join("abcdefghij")
        app.area.paste(ten)
        assert app.area.text == ten
        app.composer.clear()
        app.area.paste("a\n" * 11)
        app.area.paste("b\n" * 11)
        app.area.paste("c" * 1001)
        assert app.area.text == ("[pasted 12 lines][pasted 12 lines #2][pasted 1001 characters]")
        assert app.composer.text == "a\n" * 11 + "b\n" * 11 + "c" * 1001
        await settle(pilot)


@pytest.mark.clause("APP5.43")
async def test_a_folded_paste_is_one_thing_for_caret_and_deletion_and_undo_brings_it_back() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.area.paste("x\n" * 20)
        marker = "[pasted 21 lines]"
        write(app, "!")
        await until(pilot, lambda: app.area.text == f"{marker}!")
        write(app, "\x1b[D\x1b[D")  # over the mark, over the whole marker
        await until(pilot, lambda: app.area.cursor_location == (0, 0))
        write(app, "\x1b[C\x7f")  # behind the marker, delete it whole
        await until(pilot, lambda: app.area.text == "!")
        app.area.undo()
        assert app.composer.text == "x\n" * 20 + "!"


async def test_pasting_the_same_text_again_unfolds_it_for_editing() -> None:
    app = ComposerApp()
    async with app.run_test():
        app.area.paste("x\n" * 20)
        app.area.paste("x\n" * 20)
        assert app.area.text == "x\n" * 20


async def test_a_folded_paste_that_holds_marker_text_expands_once() -> None:
    app = ComposerApp()
    async with app.run_test():
        first = "[pasted 12 lines]\n" * 11
        app.area.paste(first)
        assert app.composer.text == first


@pytest.mark.clause("APP5.39")
async def test_ctrl_c_clears_first_and_reports_then_reports_only() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "draft")
        write(app, CTRL_C)
        await until(pilot, lambda: len(app.log_of) == 1)
        write(app, CTRL_C)
        await until(pilot, lambda: len(app.log_of) == 2)
        assert [m.cleared for m in app.log_of if isinstance(m, Composer.Interrupted)] == [
            True,
            False,
        ]
        assert app.area.text == ""
        app.area.undo()
        assert app.area.text == "draft"


@pytest.mark.clause("APP5.39", "APP5.45")
async def test_history_walks_and_restores_the_draft() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        for text in ("first", "second\nline"):
            app.composer.set_text(text)
            app.area.submit()
        await until(pilot, lambda: len(app.prompts) == 2)
        write(app, "dra")
        write(app, UP)
        await until(pilot, lambda: app.area.text == "second\nline")
        write(app, UP)  # from the last row to the first
        write(app, UP)
        await until(pilot, lambda: app.area.text == "first")
        write(app, DOWN)
        await until(pilot, lambda: app.area.text == "second\nline")
        write(app, DOWN)
        await until(pilot, lambda: app.area.text == "dra")


async def test_prompts_of_an_earlier_run_can_be_recalled_and_searched(tmp_path) -> None:
    store = PromptHistory(tmp_path / "prompts.jsonl")
    for text in ("fix the parser", "write docs [/red]\x1b[31m", "fix the lexer"):
        await store.append(text)
    app = ComposerApp(history=PromptHistory(tmp_path / "prompts.jsonl"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: len(app.composer._recall.entries) == 3)
        write(app, "draft")
        write(app, CTRL_R)
        await until(pilot, lambda: "docs" in screen_text(app) and not app.area.has_focus)
        assert_no_controls(app)
        write(app, "fix")
        await until(pilot, lambda: "(1/2)" in screen_text(app))
        write(app, CTRL_R)
        await until(pilot, lambda: "(2/2)" in screen_text(app))
        write(app, "\r")
        await until(pilot, lambda: app.area.text == "fix the parser")
        assert app.prompts == []
        await until(pilot, lambda: app.area.has_focus)
        write(app, CTRL_R)
        await until(pilot, lambda: "docs" in screen_text(app) and not app.area.has_focus)
        write(app, ESC)
        await until(pilot, lambda: app.area.has_focus)
        assert app.area.text == "fix the parser"
        await settle(pilot)


async def test_sent_prompts_reach_the_history_file(tmp_path) -> None:
    path = tmp_path / "prompts.jsonl"
    app = ComposerApp(history=PromptHistory(path))
    async with app.run_test() as pilot:
        write(app, "remember me\r")
        await until(pilot, lambda: path.exists() and b"remember me" in path.read_bytes())


@pytest.mark.clause("APP5.2")
async def test_the_palette_completes_commands() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "/")
        await until(pilot, lambda: "/title <name>" in screen_text(app))
        write(app, "mo")
        await until(pilot, lambda: "/new" not in screen_text(app))
        write(app, "\t")
        await until(pilot, lambda: app.area.text == "/model ")
        assert not app.palette.is_open
        write(app, "gpt\r")
        await until(pilot, lambda: app.log_of)
        command = app.log_of[0]
        assert isinstance(command, Composer.CommandEntered)
        assert (command.name, command.args) == ("model", "gpt")


@pytest.mark.clause("APP5.2")
async def test_enter_completes_and_runs_even_in_one_write() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "/he\r")
        await until(pilot, lambda: app.log_of)
        command = app.log_of[0]
        assert isinstance(command, Composer.CommandEntered)
        assert (command.name, command.args) == ("help", "")


async def test_enter_waits_for_an_argument_that_a_command_needs() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "/ti\r")
        await until(pilot, lambda: app.area.text == "/title ")
        await settle(pilot)
        assert app.log_of == []


@pytest.mark.clause("APP5.2")
async def test_escape_hides_the_palette_until_the_next_edit() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "/h")
        await until(pilot, lambda: app.palette.is_open)
        write(app, ESC)
        await until(pilot, lambda: not app.palette.is_open)
        write(app, "e")
        await until(pilot, lambda: app.palette.is_open)


@pytest.mark.clause("APP5.3")
async def test_a_recalled_command_does_not_open_the_palette_until_edited() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.set_text("/he")
        await settle(pilot)
        assert not app.palette.is_open
        write(app, "l")
        await until(pilot, lambda: app.palette.is_open)


@pytest.mark.clause("APP5.1")
async def test_text_that_only_looks_like_a_command_is_a_prompt() -> None:
    app = ComposerApp()
    texts = ["//help", " /help", "/usr/bin/env python is what?", "/help\nme", "not /help"]
    async with app.run_test() as pilot:
        for text in texts:
            app.composer.set_text(text)
            app.area.submit()
        await until(pilot, lambda: len(app.log_of) == len(texts))
        assert app.prompts == [(text.strip(), False) for text in texts]


@pytest.mark.clause("APP5.47")
async def test_a_mention_is_completed_and_paths_with_spaces_are_quoted() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "see @src")
        await until(pilot, lambda: "src/a b.txt" in screen_text(app))
        write(app, DOWN)
        write(app, "\r")
        await until(pilot, lambda: app.area.text == 'see @"src/a b.txt" ')
        assert app.prompts == []


@pytest.mark.clause("APP5.47")
async def test_addresses_open_no_palette_and_hostile_names_are_harmless() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "mail me@src")
        await settle(pilot)
        assert not app.palette.is_open
        app.composer.set_text("")
        write(app, "@red")
        await until(pilot, lambda: app.palette.is_open)
        await settle(pilot)
        assert "[/red]" in screen_text(app)
        assert_no_controls(app)


@pytest.mark.clause("APP5.52", "APP5.54")
async def test_shell_lines_are_labelled_and_told_apart() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "!ls -l")
        await until(pilot, lambda: SHELL_INCLUDED in screen_text(app))
        write(app, "\r")
        await until(pilot, lambda: app.log_of)
        write(app, "!!pwd")
        await until(pilot, lambda: SHELL_EXCLUDED in screen_text(app))
        write(app, "\r")
        await until(pilot, lambda: len(app.log_of) == 2)
        shells = [m for m in app.log_of if isinstance(m, Composer.ShellEntered)]
        assert [(m.command, m.included) for m in shells] == [("ls -l", True), ("pwd", False)]


@pytest.mark.clause("APP5.52")
async def test_escape_leaves_shell_mode_and_keeps_the_text() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, "!ls")
        write(app, ESC)
        await until(pilot, lambda: app.area.text == "ls")
        await until(pilot, lambda: SHELL_INCLUDED not in screen_text(app))


async def test_input_before_the_app_is_ready_is_kept_and_sent_then() -> None:
    app = ComposerApp()
    app.composer.ready = False
    async with app.run_test() as pilot:
        write(app, "early\r")
        await until(pilot, lambda: app.composer._submit_when_ready == "early")
        assert app.area.text == "early"
        app.composer.ready = True
        await until(pilot, lambda: app.prompts)
        assert app.prompts == [("early", False)]


async def test_text_edited_after_an_early_enter_is_not_sent_by_itself() -> None:
    app = ComposerApp()
    app.composer.ready = False
    async with app.run_test() as pilot:
        write(app, "early\r")
        await until(pilot, lambda: app.composer._submit_when_ready == "early")
        write(app, "x")
        await until(pilot, lambda: app.composer._submit_when_ready is None)
        app.composer.ready = True
        await settle(pilot)
        assert app.prompts == []
        assert app.area.text == "earlyx"


@pytest.mark.clause("case:E4")
async def test_enter_sends_nothing_while_a_prompt_is_about_to_take_the_keys() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.hold_submission = True
        write(app, "yes please 1\r")
        await until(pilot, lambda: app.area.text == "yes please 1")
        await settle(pilot)
        assert app.prompts == []


async def test_blank_text_is_not_submitted() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.set_text("  \n ")
        assert app.area.submit() is False
        await settle(pilot)
        assert app.log_of == []


@pytest.mark.clause("APP2.6")
async def test_unsent_texts_come_back_in_front_of_the_draft() -> None:
    app = ComposerApp()
    async with app.run_test():
        app.composer.set_text("draft")
        app.composer.restore(["one", "two"])
        assert app.composer.text == "one\n\ntwo\n\ndraft"


async def test_hostile_text_is_shown_and_harmless() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        write(app, f"\x1b[200~{HOSTILE}\x1b[201~")
        await until(pilot, lambda: "[/red] [b]x[/] [@click=app.quit]q[/]" in screen_text(app))
        assert_no_controls(app)
        app.area.load_text("raw \x1b[2J \u202e \x9b end")  # whatever way it came in
        await until(pilot, lambda: "raw" in screen_text(app))
        assert_no_controls(app)


@pytest.mark.clause("case:D11")
async def test_one_backspace_removes_a_documented_unit_and_wide_text_stays_inside() -> None:
    app = ComposerApp()
    async with app.run_test(size=(12, 12)) as pilot:
        write(app, "漢字，e\u0301 🇩🇪 abc")
        await settle(pilot)
        for line in screen_text(app).splitlines():
            from rich.cells import cell_len

            assert cell_len(line) <= 12
        write(app, "\x7f")
        await until(pilot, lambda: app.area.text.endswith(" ab"))


async def test_it_takes_a_third_of_the_screen_whatever_its_size() -> None:
    class Boxed(ComposerApp):
        def compose(self) -> ComposeResult:
            with Vertical():
                yield self.composer

    app = Boxed()
    async with app.run_test() as pilot:
        app.area.load_text("\n".join("abcdefghijklmnop"))
        for size in ((80, 24), (80, 30), (40, 12), (20, 5), (1, 1), (120, 36)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda rows=size[1]: app.area.size.height == max(1, rows // 3))


async def test_page_keys_are_left_to_the_transcript() -> None:
    class Watching(ComposerApp):
        seen: list[str] = []

        def on_key(self, event) -> None:
            self.seen.append(event.key)

    app = Watching()
    async with app.run_test() as pilot:
        write(app, "text\x1b[5~\x1b[6~")
        await until(pilot, lambda: app.seen == ["pageup", "pagedown"])


async def test_keys_and_pastes_that_reach_the_screen_early_are_not_lost() -> None:
    class Unfocused(ComposerApp):
        def on_mount(self) -> None:
            self.screen.set_focus(None)

        def on_key(self, event) -> None:
            if not self.composer.has_composer_focus:
                self.composer.accept(event)

        def on_paste(self, event) -> None:
            self.composer.accept(event)

    app = Unfocused()
    async with app.run_test() as pilot:
        app.screen.set_focus(None)
        write(app, "early ")
        write(app, "\x1b[200~paste\x1b[201~")
        await until(pilot, lambda: app.area.text == "early paste")
