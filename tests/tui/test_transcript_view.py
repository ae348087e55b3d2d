"""The transcript widget in a running app: painting, following, place, mouse, selection, cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from rho_tui.transcript.blocks import (
    AssistantBlock,
    CardHeader,
    CardStatus,
    ErrorBlock,
    NoticeBlock,
    ReasoningBlock,
    ShellBody,
    TextBody,
    ToolCard,
    UserBlock,
)
from rho_tui.transcript.layout import lay_out
from rho_tui.widgets import transcript_layouts, transcript_surface
from rho_tui.widgets.transcript_view import TranscriptView


class ViewApp(App[None]):
    CSS = "Static { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[object] = []
        self.layouts = 0

    def compose(self) -> ComposeResult:
        yield TranscriptView()
        yield Static("below")

    @property
    def view(self) -> TranscriptView:
        return self.query_one(TranscriptView)

    def on_transcript_view_link_clicked(self, message: TranscriptView.LinkClicked) -> None:
        self.seen.append(("link", message.url))

    def on_transcript_view_copy_requested(self, message: TranscriptView.CopyRequested) -> None:
        self.seen.append(("copy", message.text))

    def on_transcript_view_follow_changed(self, message: TranscriptView.FollowChanged) -> None:
        self.seen.append(("follow", message.at_bottom))


def lines(app: ViewApp) -> list[str]:
    view = app.view
    return [strip.text.rstrip() for strip in view.render_lines(view.size.region)]


async def until(pilot: Pilot[None], condition: Callable[[], bool], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        await pilot.pause(0.01)


def card(text: str, status: CardStatus = CardStatus.OK) -> ToolCard:
    return ToolCard(CardHeader("tool", "x"), status, (), (TextBody(text),))


def turns(view: TranscriptView, count: int) -> None:
    for number in range(count):
        view.append(f"u{number}", UserBlock(f"prompt {number}"))
        words = f"word{number} " * 40
        view.append(f"a{number}", AssistantBlock(f"answer {number}\n\n{words}\n\n- one\n- two"))
        view.append(f"c{number}", card("line\n" * 15))


@pytest.mark.clause("APP1.13", "case:D1", "case:D4")
async def test_blocks_are_painted_in_order_with_margins_and_spacers() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 14)):
        view = app.view
        view.append("u", UserBlock("use row[i] and [WARN] x [/red]"))
        view.append("a", AssistantBlock("List<String> [/usr/share/x] [k=9,q=OK] [/]"))
        view.append("e", ErrorBlock("first"), before="a")
        view.flush()
        assert lines(app)[:6] == [
            " use row[i] and [WARN] x [/red]",
            "",
            " error: first",
            "",
            " List<String> [/usr/share/x]",
            " [k=9,q=OK] [/]",
        ]
        assert view.block_ids() == ("u", "e", "a")


async def test_ids_are_unique_and_unknown_ones_are_refused() -> None:
    app = ViewApp()
    async with app.run_test():
        view = app.view
        view.append("a", NoticeBlock("x"))
        with pytest.raises(ValueError, match="taken"):
            view.append("a", NoticeBlock("y"))
        for call in (view.remove_block, view.finish, view.block, view.toggle):
            with pytest.raises(KeyError):
                call("nope")
        view.remove_block("a")
        assert view.block_ids() == ()
        assert lines(app)[0] == ""


async def test_streamed_text_is_collected_and_drawn_once_a_frame() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 12)) as pilot:
        view = app.view
        view.append("a", AssistantBlock(streaming=True))
        view.flush()
        frames = view.frames
        for number in range(500):
            view.append_text("a", f"w{number} ")
        assert view.block("a") == AssistantBlock(
            "".join(f"w{number} " for number in range(500)), streaming=True
        )
        await until(pilot, lambda: "w499" in " ".join(lines(app)))
        assert view.frames - frames <= 2
        view.finish("a")
        view.flush()
        assert view.block("a") == AssistantBlock(
            "".join(f"w{number} " for number in range(500)), streaming=False
        )
        assert lines(app)[-1] == ""  # the spacer


async def test_nothing_ticks_while_nothing_changes() -> None:
    app = ViewApp()
    async with app.run_test() as pilot:
        view = app.view
        view.append("a", AssistantBlock("```python\nx = 1\n```"))
        await until(pilot, lambda: view._frame_timer is None)
        frames = view.frames
        await pilot.pause(0.3)
        assert view.frames == frames
        assert view._frame_timer is None


async def test_growing_does_not_lay_the_screen_out() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.view
        view.append("a", AssistantBlock(streaming=True))
        await pilot.pause()
        before = view._layout_updates
        for number in range(10):
            view.append_text("a", f"line {number}\n\n")
            view.flush()
            await pilot.pause()
        assert view._layout_updates == before
        assert view.max_scroll_y == round(view.scroll_y) > 0


@pytest.mark.clause("APP1.16", "case:D9")
async def test_scrolled_up_text_stays_put_while_more_arrives() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.view
        turns(view, 5)
        view.append("live", AssistantBlock(streaming=True))
        view.flush()
        assert view.at_bottom
        view.action_page_up()
        before = lines(app)
        assert not view.at_bottom
        for number in range(50):
            view.append_text("live", f"line {number}\n\n")
        view.flush()
        assert lines(app) == before
        view.action_scroll_end()
        await pilot.pause()
        assert view.at_bottom
        assert "line 49" in lines(app)[-1]
        assert ("follow", False) in app.seen
        assert app.seen[-1] == ("follow", True)


@pytest.mark.clause("APP1.16")
async def test_reaching_the_last_line_follows_again() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 10)):
        view = app.view
        turns(view, 3)
        view.flush()
        view.scroll_rows(-7)
        view.scroll_rows(6)
        assert not view.at_bottom
        view.scroll_rows(1)
        assert view.at_bottom


async def test_paging_up_into_unseen_text_skips_and_repeats_nothing() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 10)):
        view = app.view
        turns(view, 20)
        view.flush()
        for _step in range(40):
            before = lines(app)
            view.scroll_rows(-5)
            if view.scroll_y == 0:
                break
            assert lines(app)[5:] == before[:-5]
        view.action_scroll_home()
        assert lines(app)[0] == " prompt 0"


async def test_scroll_positions_set_from_outside_are_taken_without_animation() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.view
        turns(view, 30)
        view.flush()
        view.scroll_to(y=0)
        assert (view.scroll_y, lines(app)[0]) == (0, " prompt 0")
        view.scroll_y = 4
        assert view.scroll_y == 4
        middle = lines(app)
        view.scroll_to(y=view.max_scroll_y // 2)
        assert lines(app) != middle
        view.scroll_end(animate=False)
        await pilot.pause()
        assert view.at_bottom


@pytest.mark.clause("case:D15")
async def test_the_same_text_stays_on_top_when_the_width_changes() -> None:
    app = ViewApp()
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.view
        turns(view, 30)
        view.flush()
        view.scroll_rows(-130)
        place = view._viewport.place[0]
        top = lines(app)[0].split()
        for width in (30, 90, 45, 60):
            await pilot.resize_terminal(width, 10)
            await until(pilot, lambda width=width: view.size.width == width)
            assert view._viewport.place[0] == place
        assert lines(app)[0].split() == top


@pytest.mark.clause("case:D15")
async def test_odd_sizes_do_not_crash_while_streaming() -> None:
    app = ViewApp()
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.view
        turns(view, 3)
        view.append("a", AssistantBlock(streaming=True))
        for width, height in ((1, 1), (20, 3), (2, 30), (200, 80), (60, 10)):
            await pilot.resize_terminal(width, height)
            view.append_text("a", "text `code` | **bold**\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n")
            view.flush()
            await pilot.pause()
        assert "│" in "".join(lines(app))


@pytest.mark.clause("APP2.24", "APP2.25")
async def test_cards_toggle_by_key_and_click_as_an_accordion() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 40)) as pilot:
        view = app.view
        view.append("short", card("one"))
        view.append("first", card("line\n" * 15))
        view.append("live", card("out\n" * 15, CardStatus.RUNNING))
        view.append("last", card("end\n" * 15))
        view.max_card_rows = 2
        view.flush()
        assert view.toggle_newest_expandable()
        shown = lines(app)
        assert shown.count("     out") == 15
        assert shown.count("     end") == 2
        header = next(number for number, line in enumerate(shown) if line == " ✓ tool(x)")
        await pilot.click(TranscriptView, offset=(3, header + 3))
        await pilot.pause()
        assert lines(app).count("     line") == 15
        assert lines(app).count("     out") == 2
        assert not view.toggle("short")
        assert view.toggle("first")
        assert lines(app).count("     line") == 2


async def test_expanding_keeps_the_cards_header_in_place() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 20)):
        view = app.view
        turns(view, 3)
        view.append("big", card("big\n" * 500))
        view.flush()
        line = lines(app).index(" ✓ tool(x)")
        view.toggle("big")
        assert lines(app)[line] == " ✓ tool(x)"
        assert lines(app)[line + 1] == "     big"
        assert not view.at_bottom
        view.toggle("big")
        assert view.at_bottom


async def test_links_and_copy_buttons_send_messages() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.view
        view.append("a", AssistantBlock("go [there](https://x.y/z)\n\n```\nx = 漢\n```\n"))
        view.flush()
        await pilot.click(TranscriptView, offset=(5, 0))
        await pilot.click(TranscriptView, offset=(1, 0))
        button = lines(app)[2].index("COPY")
        await pilot.click(TranscriptView, offset=(button + 1, 2))
        await pilot.pause()
        assert app.seen == [("link", "https://x.y/z"), ("copy", "x = 漢")]


@pytest.mark.clause("APP5.61", "case:D14")
async def test_a_dragged_selection_copies_source_text() -> None:
    app = ViewApp()
    async with app.run_test(size=(30, 20)) as pilot:
        view = app.view
        command = "run " + "x" * 60
        view.append("a", AssistantBlock(f"Say 你好世界 now\n\n- first\n\n```sh\n{command}\n```\n"))
        view.append("n", NoticeBlock("after"))
        view.flush()
        shown = lines(app)
        await pilot.mouse_down(TranscriptView, offset=(5, 0))
        await pilot.hover(TranscriptView, offset=(7, 0))
        await pilot.mouse_up(TranscriptView, offset=(7, 0))
        assert app.screen.get_selected_text() == "你好"
        end = next(number for number, line in enumerate(shown) if "after" in line)
        await pilot.mouse_down(TranscriptView, offset=(0, 0))
        await pilot.hover(TranscriptView, offset=(6, end))
        await pilot.mouse_up(TranscriptView, offset=(6, end))
        assert (
            app.screen.get_selected_text() == f"Say 你好世界 now\n\n- first\n\n{command}\n\nafter"
        )
        painted = view.render_lines(view.size.region)[0]
        assert painted != view._painter.cached_strip("a", 0)


async def test_a_selection_stays_on_its_text_while_rows_above_change() -> None:
    app = ViewApp()
    async with app.run_test(size=(30, 20)) as pilot:
        view = app.view
        view.append("s", ReasoningBlock("thinking", streaming=True))
        view.append("a", AssistantBlock("alpha beta gamma"))
        view.flush()
        line = lines(app).index(" alpha beta gamma")
        await pilot.click(TranscriptView, offset=(8, line), times=2)
        assert app.screen.get_selected_text() == "beta"
        view.append_text("s", "\n\nmore\n\nmore")
        view.flush()
        assert app.screen.get_selected_text() == "beta"


async def test_triple_click_selects_the_block_and_a_drag_is_no_click() -> None:
    app = ViewApp()
    async with app.run_test(size=(30, 20)) as pilot:
        view = app.view
        view.append("a", AssistantBlock("one two\n\nthree"))
        view.append("c", card("line\n" * 30))
        view.flush()
        await pilot.click(TranscriptView, offset=(2, 0), times=3)
        assert app.screen.get_selected_text() == "one two\n\nthree"
        height = view.virtual_size.height
        await pilot.mouse_down(TranscriptView, offset=(3, 5))
        await pilot.hover(TranscriptView, offset=(6, 6))
        await pilot.mouse_up(TranscriptView, offset=(6, 6))
        await pilot.pause()
        assert view.virtual_size.height == height


async def test_the_wheel_scrolls_three_rows() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.view
        turns(view, 3)
        view.flush()
        before = view.scroll_y
        await pilot._post_mouse_events([events.MouseScrollUp], TranscriptView, offset=(3, 3))
        await pilot.pause()
        assert view.scroll_y == before - 3


@pytest.mark.clause("APP1.21")
async def test_the_scrollbar_shows_after_scrolling_and_only_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transcript_surface, "SCROLLBAR_SECONDS", 0.05)
    app = ViewApp()
    async with app.run_test(size=(40, 10)) as pilot:
        turns(app.view, 20)
        app.view.jump_to_bottom()  # as every sent prompt asks for: the end is in view already
        await pilot.pause()
        assert app.view.at_bottom
        assert not app.view.has_class("-scrolling")
        app.view.scroll_rows(-5)
        assert app.view.has_class("-scrolling")
        app.view.jump_to_bottom()
        await pilot.pause()
        assert app.view.at_bottom
        await until(pilot, lambda: not app.view.has_class("-scrolling"))


async def test_layouts_and_strips_in_memory_are_bounded() -> None:
    app = ViewApp()
    async with app.run_test(size=(60, 20)):
        view = app.view
        turns(view, 150)
        view.flush()
        for _page in range(120):
            view.action_page_up()
        assert view._layouts.kept <= transcript_layouts.KEPT_LAYOUTS + 20
        assert sum(entry.rows is not None for entry in view._entries) == view._layouts.kept
        assert view._painter.cached <= 700


async def test_a_frame_lays_out_only_what_is_on_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for history in (10, 200):
        app = ViewApp()
        async with app.run_test(size=(60, 20)):
            view = app.view
            turns(view, history)
            view.append("live", AssistantBlock(streaming=True))
            view.flush()
            made: list[str] = []
            with monkeypatch.context() as patch:
                patch.setattr(
                    transcript_layouts,
                    "lay_out",
                    lambda block, space, made=made: made.append("x") or lay_out(block, space),
                )
                for _frame in range(10):
                    view.append_text("live", "more text here\n\n")
                    view.flush()
                    lines(app)
            counts.append(len(made))
    assert counts == [0, 0]


async def test_fifty_thousand_shell_lines_cost_only_the_visible_ones() -> None:
    app = ViewApp()
    async with app.run_test(size=(60, 20)):
        view = app.view
        output = "".join(f"\x1b[3{n % 8}mline {n}\x1b[0m\n" for n in range(50_000))
        view.append(
            "c", ToolCard(CardHeader("$", "x", dialect="shell"), bodies=(ShellBody(output),))
        )
        view.flush()
        assert view.toggle("c")
        view.action_scroll_end()
        shown = lines(app)
        assert "     line 49999" in shown
        assert shown[-2] == "     ctrl+o to collapse"
        assert view._painter.cached <= 700
        view.append_text("c", "the end\n")
        view.flush()
        assert "     the end" in lines(app)


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light"])
async def test_every_theme_paints_and_a_switch_restyles(theme: str) -> None:
    app = ViewApp()
    async with app.run_test(size=(60, 30)) as pilot:
        view = app.view
        app.theme = "nord"
        await pilot.pause()
        turns(view, 1)
        view.append("x", AssistantBlock("# H\n`code`\n\n```py\nx = 1\n```\n> q\n\n[l](http://a.b)"))
        view.flush()
        before = [list(strip) for strip in view.render_lines(view.size.region)]
        texts = lines(app)
        app.theme = theme
        await until(pilot, lambda: [list(s) for s in view.render_lines(view.size.region)] != before)
        assert lines(app) == texts


async def test_no_color_paints_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = ViewApp()
    async with app.run_test(size=(60, 20)):
        view = app.view
        turns(view, 1)
        view.flush()
        for strip in view.render_lines(view.size.region):
            for segment in strip:
                color = segment.style.color if segment.style else None
                triplet = color.triplet if color is not None else None
                assert triplet is None or len(set(triplet)) == 1


@pytest.mark.clause("case:A11")
async def test_no_control_byte_of_any_source_reaches_a_painted_segment() -> None:
    evil = "a\x1b]0;t\x07b\x9b31mc\x00d\u202ee\x1b[2Jf[/red][WARN]g\ud800h\r\ni\x85j"
    app = ViewApp()
    async with app.run_test(size=(60, 60)):
        view = app.view
        view.append("u", UserBlock(evil, (evil,)))
        view.append(
            "a", AssistantBlock(f"{evil} `{evil}` [{evil}](http://x/%1b)\n```{evil}\n{evil}\n")
        )
        view.append("n", NoticeBlock(evil))
        view.append("e", ErrorBlock(evil))
        view.append(
            "c",
            ToolCard(
                CardHeader(evil, evil), CardStatus.ERROR, (), (ShellBody(evil), TextBody(evil))
            ),
        )
        view.append("big", UserBlock("x" * 1_000_000))
        view.flush()
        view.action_scroll_home()
        strips = view.render_lines(view.size.region)
        assert {strip.cell_length for strip in strips} == {view._painter.width}
        text = "".join(strip.text for strip in strips)
        assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in text)
        assert not set(text) & set("\u202e\ud800")
        assert "[/red][WARN]" in text


async def test_clearing_starts_afresh_and_cancelled_apps_leave_no_timer() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 10)):
        view = app.view
        turns(view, 3)
        view.flush()
        view.action_page_up()
        view.clear_blocks()
        assert view.at_bottom
        assert set(lines(app)) == {""}
        view.append("a", AssistantBlock(streaming=True))
        view.append_text("a", "late")
    await asyncio.sleep(0)
    assert not app.is_running


async def test_equal_and_growing_blocks_are_not_laid_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 20)):
        view = app.view
        view.append("a", AssistantBlock("one", streaming=True))
        view.flush()
        monkeypatch.setattr(
            transcript_layouts, "lay_out", lambda *_args: pytest.fail("laid out again")
        )
        view.set_block("a", AssistantBlock("one", streaming=True))
        view.set_block("a", AssistantBlock("one two", streaming=True))
        view.set_block("a", AssistantBlock("one two three"))
        view.flush()
        assert lines(app)[:2] == [" one two three", ""]
        assert view.block("a") == AssistantBlock("one two three")


async def test_a_block_that_changes_many_times_a_frame_is_made_once() -> None:
    app = ViewApp()
    made: list[str] = []

    def make(text: str) -> Callable[[], ToolCard]:
        def draw() -> ToolCard:
            made.append(text)
            return card(text)

        return draw

    async with app.run_test(size=(60, 10)) as pilot:
        view = app.view
        view.append("c", card("first"))
        await until(pilot, lambda: view._frame_timer is None)
        for text in ("second", "third", "fourth"):
            view.redraw("c", make(text))
        assert made == []
        frames = view.frames
        await until(pilot, lambda: "fourth" in " ".join(lines(app)))
        assert (made, view.frames) == (["fourth"], frames + 1)
        await until(pilot, lambda: view._frame_timer is None)

        # whoever looks at the block, or goes on with it, gets what it is by now
        view.redraw("c", make("fifth"))
        assert view.block("c") == card("fifth")
        view.redraw("c", make("sixth"))
        view.append_text("c", "and more")
        assert "sixth" in made
        view.redraw("c", make("never"))
        view.set_block("c", card("seventh"))
        assert view.block("c") == card("seventh")
        view.redraw("c", make("never"))
        view.remove_block("c")
        view.flush()
        assert "never" not in made
        with pytest.raises(KeyError):
            view.redraw("c", make("never"))
