"""The transcript: one line-API widget that draws any number of blocks (API first; body follows)."""

from __future__ import annotations

from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView

from rho_tui.transcript.blocks import Block


class TranscriptView(ScrollView):
    """All entries of a session in one scrolling widget."""

    at_bottom: var[bool] = var(True, init=False)
    """Whether the view follows its end; when False the app shows its jump chip (APP1.16, APP1.20)."""

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

    class FollowChanged(Message):
        """`at_bottom` changed."""

        def __init__(self, at_bottom: bool) -> None:
            super().__init__()
            self.at_bottom = at_bottom

    def append(self, block_id: str, block: Block, *, before: str | None = None) -> None:
        """Add a block at the end, or in front of the block `before`. ValueError: id taken."""
        raise NotImplementedError

    def set_block(self, block_id: str, block: Block) -> None:
        """Replace a block; an equal one costs nothing. KeyError: unknown id."""
        raise NotImplementedError

    def append_text(self, block_id: str, delta: str) -> None:
        """Collect streamed text for a block; drawn with the next frame. KeyError: unknown id."""
        raise NotImplementedError

    def finish(self, block_id: str) -> None:
        """Close a streaming block (all collected text is drawn)."""
        raise NotImplementedError

    def remove_block(self, block_id: str) -> None:
        """Take a block out. KeyError: unknown id."""
        raise NotImplementedError

    def clear_blocks(self) -> None:
        """Take all blocks out."""
        raise NotImplementedError

    def block(self, block_id: str) -> Block:
        """The block as of now, with collected text. KeyError: unknown id."""
        raise NotImplementedError

    def block_ids(self) -> tuple[str, ...]:
        """Ids in display order; `id in view.block_ids()` tells whether one exists."""
        raise NotImplementedError

    def flush(self) -> None:
        """Draw collected text with the coming frame, without waiting for the frame timer."""
        raise NotImplementedError

    def toggle(self, block_id: str) -> bool:
        """Expand or collapse a card (others collapse, APP2.25); False when it has nothing to show."""
        raise NotImplementedError

    def toggle_newest_expandable(self) -> bool:
        """ctrl+o: the newest live card first, else the newest expandable card (APP2.25)."""
        raise NotImplementedError

    max_card_rows: int
    """Rows of a collapsed card after its header (`max_tool_output_lines`, default 10, min 1)."""

    def jump_to_bottom(self) -> None:
        """Follow the end again."""
        raise NotImplementedError

    # actions for key bindings: action_page_up, action_page_down, action_line_up, action_line_down,
    # action_scroll_home, action_scroll_end, action_toggle_newest
