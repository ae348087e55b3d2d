"""The transcript: one line-API widget that draws any number of blocks.

What a frame costs depends on the rows on screen, not on the history: only visible entries are laid
out, heights of the others are estimates, and streamed text is collected and drawn once a frame.
Textual's styles cache and layout reactives are bypassed (`render_lines`, a silent `virtual_size`);
both lean on internals of the pinned version, which tests hold.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from textual import events
from textual.geometry import Offset, Region
from textual.message import Message
from textual.selection import Selection
from textual.timer import Timer

from rho_tui.transcript.blocks import Block, ToolCard, extended
from rho_tui.transcript.markdown_parse import LINK_SCHEMES
from rho_tui.transcript.rows import Hit
from rho_tui.transcript.wrap import column_at
from rho_tui.widgets.one_shot import set_one_shot
from rho_tui.widgets.transcript_index import Entry
from rho_tui.widgets.transcript_painter import MARGIN
from rho_tui.widgets.transcript_selection import row_key, whole_entry, word_at
from rho_tui.widgets.transcript_surface import TranscriptSurface

FOLLOW_INTERVAL = 0.09
"""Seconds between frames that scroll, and so repaint every row, or in which only cards change.

A little less than the spinner's: it joins these frames, and in between it needs none of its own.
"""

GROW_INTERVAL = 1 / 30
"""Seconds between frames in which text grows where it stands."""

MAX_SHARE = 0.25
"""Part of the time that frames may take; a slow one makes the next wait."""

WHEEL_ROWS = 3


class TranscriptView(TranscriptSurface):
    """All entries of a session in one scrolling widget."""

    class LinkClicked(Message):
        """A link was clicked: `url` is http, https or mailto. The view opens nothing itself."""

        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

    class CopyRequested(Message):
        """The COPY button of a code fence was clicked; `text` is its source."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, name: str | None = None, id: str | None = None) -> None:
        super().__init__(name=name, id=id)
        self._growing: dict[str, Entry] = {}
        self._changed: dict[str, int] = {}  # first changed row of changed entries
        self._redrawn: dict[str, Callable[[], Block]] = {}  # what entries will be replaced by
        self._frame_timer: Timer | None = None
        self._frame_ended = 0.0
        self._frame_cost = 0.0
        self._pressed = Offset(-1, -1)
        self.companions: tuple[Callable[[], None], ...] = ()
        """Called with each frame: a small repaint that joins it costs no update of its own."""
        self.frames = 0
        """Frames drawn for changed content so far."""

    # --- content ----------------------------------------------------------------------------

    def append(self, block_id: str, block: Block, *, before: str | None = None) -> None:
        """Add a block at the end, or in front of the block `before`.

        Raises:
            ValueError: The id is taken.
            KeyError: There is no block `before`.
        """
        entry = Entry(block_id, block)
        if before is not None:
            self._clear_selection()
        self._entries.insert(entry, before)
        self._layouts.guess(entry)
        if not self._viewport.following and entry.index <= self._viewport.index:
            self._viewport.index += 1
        self._mark(entry, 0)

    def set_block(self, block_id: str, block: Block) -> None:
        """Replace a block. An equal one costs nothing, text that only grew is not laid out again.

        Raises:
            KeyError: The id is unknown.
        """
        self._redrawn.pop(block_id, None)
        self._replace(self._entries.get(block_id), block)
        self._schedule()

    def redraw(self, block_id: str, make: Callable[[], Block]) -> None:
        """Replace a block by what `make` gives, asked for with the next frame: the last counts.

        Raises:
            KeyError: The id is unknown.
        """
        self._entries.get(block_id)
        self._redrawn[block_id] = make
        self._schedule()

    def append_text(self, block_id: str, delta: str) -> None:
        """Collect streamed text for a block; it is drawn with the next frame.

        Raises:
            KeyError: The id is unknown.
        """
        self._take_redrawn(block_id)
        entry = self._entries.get(block_id)
        entry.collected.append(delta)
        self._growing[block_id] = entry
        self._schedule()

    def finish(self, block_id: str) -> None:
        """Close a streaming block; collected text is taken in.

        Raises:
            KeyError: The id is unknown.
        """
        self._take_redrawn(block_id)
        entry = self._entries.get(block_id)
        self._collect(entry)
        self._mark(entry, self._layouts.finish(entry))

    def remove_block(self, block_id: str) -> None:
        """Take a block out.

        Raises:
            KeyError: The id is unknown.
        """
        entry = self._entries.remove(block_id)
        self._clear_selection()
        self._layouts.forget(entry)
        self._painter.forget(block_id)
        for waiting in (self._growing, self._changed, self._redrawn):
            waiting.pop(block_id, None)
        viewport = self._viewport
        if entry.index == viewport.index:
            viewport.row = 0
        elif entry.index < viewport.index:
            viewport.index -= 1
        self._repaint()

    def clear_blocks(self) -> None:
        """Take all blocks out and follow the end again."""
        self._clear_selection()
        self._entries.clear()
        self._layouts.clear()
        self._painter.clear()
        self._growing.clear()
        self._changed.clear()
        self._redrawn.clear()
        self._viewport.following = True
        self._repaint()

    def block(self, block_id: str) -> Block:
        """The block as of now, with collected text.

        Raises:
            KeyError: The id is unknown.
        """
        self._take_redrawn(block_id)
        entry = self._entries.get(block_id)
        if entry.collected:
            return extended(entry.block, "".join(entry.collected))
        return entry.block

    def block_ids(self) -> tuple[str, ...]:
        """Ids in display order."""
        return self._entries.ids()

    def __contains__(self, block_id: object) -> bool:
        return isinstance(block_id, str) and block_id in self._entries

    @property
    def max_card_rows(self) -> int:
        """Rows of a collapsed card after its header (`max_tool_output_lines`, at least 1)."""
        return self._layouts.max_card_rows

    @max_card_rows.setter
    def max_card_rows(self, rows: int) -> None:
        self._layouts.max_card_rows = max(1, rows)
        self._layouts.guess_all()
        self._painter.clear()
        self._repaint()

    def on_resize(self) -> None:
        """Draw what came before there was a size to draw in."""
        if self._growing or self._changed or self._redrawn:
            self._schedule()

    # --- frames -----------------------------------------------------------------------------

    def flush(self) -> None:
        """Draw collected text and all changes now, without waiting for the frame timer."""
        if self._frame_timer is not None:
            self._frame_timer.stop()
        self._frame()

    def _take_redrawn(self, *block_ids: str) -> None:
        """Replace these blocks now, by default all that wait for it."""
        for block_id in block_ids or tuple(self._redrawn):
            make = self._redrawn.pop(block_id, None)
            if make is not None:
                self._replace(self._entries.get(block_id), make())

    def _replace(self, entry: Entry, block: Block) -> None:
        self._collect(entry)
        if entry.block != block:
            self._note(entry, self._layouts.replace(entry, block))

    def _collect(self, entry: Entry) -> None:
        if self._growing.pop(entry.id, None) is not None:
            self._note(entry, self._layouts.collect(entry))

    def _note(self, entry: Entry, first: int | None) -> None:
        """Rows of an entry from `first` on changed (None: it had no rows)."""
        first = first or 0
        self._changed[entry.id] = min(first, self._changed.get(entry.id, first))
        self._painter.forget(entry.id, first)

    def _mark(self, entry: Entry, first: int | None) -> None:
        self._note(entry, first)
        self._schedule()

    def _schedule(self) -> None:
        """Have a frame drawn when the pace allows; the timer exists only while there is work."""
        if self._frame_timer is not None or not self._is_mounted or not self._viewport.height:
            return
        scrolls = self._viewport.following and self._entries.total > self._viewport.height
        calm = scrolls or not (self._growing or self._colouring())
        pause = max(FOLLOW_INTERVAL if calm else GROW_INTERVAL, self._frame_cost / MAX_SHARE)
        delay = self._frame_ended + pause - monotonic()
        self._frame_timer = set_one_shot(self, max(delay, 0.001), self._frame)

    def _frame(self) -> None:
        """Take in collected text and repaint the rows that changed."""
        self._frame_timer = None
        if not self._viewport.height:
            return
        began = monotonic()
        self._take_redrawn()
        for entry in list(self._growing.values()):
            self._collect(entry)
        self._advance()
        self._paint_changes()
        for join in self.companions:
            join()
        self.frames += 1
        self._frame_ended = monotonic()
        self._frame_cost = self._frame_ended - began

    def _advance(self) -> None:
        """Colour a slice of the code on screen; painting asks for a frame while there is more."""
        entry = self._colouring()
        if entry is not None and entry.rows is not None:
            entry.rows.advance()
            self._note(entry, 0)

    def _paint_changes(self) -> None:
        """Bring the viewport up to date and refresh the rows that look different."""
        before, top = self._viewport.place, self._viewport.settle()
        changed, self._changed = self._changed, {}
        self._place(top)
        if self._viewport.place != before:
            self.refresh()
            return
        width, height = self._view_size
        for block_id, first in changed.items():
            entry = self._entries.get(block_id)
            line = self._entries.start(entry.index) + first - top
            if line < height:
                # Rows below may have moved too; a row's strip is cached, so that is cheap.
                line = max(0, line)
                self.refresh(Region(0, line, width, height - line))

    def action_toggle_newest(self) -> None:
        """Expand or collapse the newest card."""
        self.toggle_newest_expandable()

    # --- cards ------------------------------------------------------------------------------

    def toggle(self, block_id: str) -> bool:
        """Expand or collapse a card; another one that was expanded collapses (APP2.25).

        Returns:
            False when the block is no card or hides nothing.
        """
        self._take_redrawn(block_id)
        entry = self._entries.get(block_id)
        if not self._layouts.expandable(entry):
            return False
        top = self._viewport.settle()
        line = self._entries.start(entry.index) - top
        self._clear_selection()
        other = self._layouts.expanded
        self._layouts.expanded = "" if other == block_id else block_id
        for changed in {block_id, other} - {""}:
            if changed in self._entries:
                card = self._entries.get(changed)
                self._painter.forget(changed)
                self._layouts.guess(card)
        self._viewport.hold(entry.index, min(max(line, 0), self._viewport.height - 1))
        self._repaint()
        return True

    def toggle_newest_expandable(self) -> bool:
        """Toggle the newest live card, else the newest card, that hides rows (ctrl+o, APP2.25).

        Returns:
            False when there is none.
        """
        self._take_redrawn()
        cards = [entry for entry in self._entries if isinstance(entry.block, ToolCard)]
        for live in (True, False):
            for entry in reversed(cards):
                card = entry.block
                if isinstance(card, ToolCard) and card.live is live and self.toggle(entry.id):
                    return True
        return False

    # --- mouse ------------------------------------------------------------------------------

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three rows down (APP5.61)."""
        event.stop()
        event.prevent_default()
        self.scroll_rows(WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three rows up."""
        event.stop()
        event.prevent_default()
        self.scroll_rows(-WHEEL_ROWS)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Remember the place: a click counts only where the button went down."""
        self._pressed = event.screen_offset

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Lift the card under the pointer when a click would toggle it (APP2.25)."""
        found = self._locate(event.y)
        card = found[0] if found is not None and isinstance(found[0].block, ToolCard) else None
        self._hover(card.id if card is not None and self._layouts.expandable(card) else "")

    def on_leave(self) -> None:
        """The pointer is elsewhere."""
        self._hover("")

    def _hover(self, block_id: str) -> None:
        if block_id == self._hovered:
            return
        for changed in {block_id, self._hovered} - {""}:
            if changed in self._entries:
                self._painter.forget(changed)
        self._hovered = block_id
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Follow a link, copy a fence, toggle a card; a double click selects a word (trap 11)."""
        event.prevent_default()
        found = self._locate(event.y)
        if found is None or event.screen_offset != self._pressed:
            return
        entry, number = found
        column = column_at(self._strip(entry, number).text, event.x)
        if event.chain == 1:
            self._click(entry, number, column)
        elif event.chain == 2:
            self._select_word(entry, number, column)
        else:
            self.screen.selections = {self: whole_entry(entry.index)}

    def _click(self, entry: Entry, number: int, column: int) -> None:
        hit = self._hit(entry, number, column)
        if hit is None:
            self.toggle(entry.id)
        elif hit.action == "copy":
            self.post_message(self.CopyRequested(hit.value))
        elif hit.value.lower().startswith(LINK_SCHEMES):
            self.post_message(self.LinkClicked(hit.value))

    def _hit(self, entry: Entry, number: int, column: int) -> Hit | None:
        row = self._row(entry, number)
        for hit in row.hits if row is not None else ():
            if hit.start <= column - MARGIN < hit.end:
                return hit
        return None

    def _select_word(self, entry: Entry, number: int, column: int) -> None:
        row = self._row(entry, number)
        word = word_at(row, column) if row is not None else None
        if word is not None:
            key = row_key(entry.index, number)
            selection = Selection(Offset(word[0], key), Offset(word[1], key))
            self.screen.selections = {self: selection}
