"""Blocks to rows: the one place that knows how each kind of block is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rho_tui.transcript.blocks import (
    AssistantBlock,
    Block,
    DiffBody,
    ErrorBlock,
    NoticeBlock,
    ReasoningBlock,
    SessionHeaderBlock,
    ToolCard,
    UserBlock,
)
from rho_tui.transcript.card_rows import CardRows
from rho_tui.transcript.lines import LineRows, PlainLines
from rho_tui.transcript.markdown_stream import MarkdownDocument
from rho_tui.transcript.rows import Row, RowList, RowSource
from rho_tui.transcript.sanitize import clean_line, clean_text
from rho_tui.transcript.wrap import Span, wrap_words

_WORD_WRAP_MAX = 20_000
"""Characters of a prompt, notice or error up to which it is wrapped at words.

A longer one is cut at cells: its heights cost nothing.
"""


@dataclass(frozen=True, slots=True)
class Space:
    """What a block is laid out into."""

    width: int
    """Cells of a row, margins excluded."""
    expanded: bool = False
    max_card_rows: int = 10


class BlockRows(RowSource, Protocol):
    """Rows of a block that may grow and may still be colouring."""

    @property
    def pending(self) -> bool:
        """Whether `advance` has more to do."""
        ...

    def advance(self) -> None:
        """Do a slice of postponed work; heights stay as they are."""
        ...

    def feed(self, delta: str) -> int | None:
        """Take in text added to the block. Returns the first row that may have changed, or None
        when the block has to be laid out anew."""
        ...


class FixedRows:
    """Rows of a block that doesn't grow."""

    __slots__ = ("_source",)

    pending = False

    def __init__(self, source: RowSource) -> None:
        self._source = source

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._source.height

    def rows(self, start: int, stop: int) -> list[Row]:
        """Rows `start` to `stop`."""
        return list(self._source.rows(start, stop))

    def advance(self) -> None:
        """Nothing is postponed."""

    def feed(self, delta: str) -> int | None:
        """Lay out anew."""
        return None


class DocumentRows(MarkdownDocument):
    """Markdown of a block, with an optional closing row under it."""

    def __init__(
        self, text: str, width: int, *, streaming: bool, base: str = "", note: str = ""
    ) -> None:
        super().__init__(width, base)
        self.feed(text)
        if not streaming:
            self.finish()
        if note:
            self._stack.add(RowList([Row(((note, "muted"),))]))


def lay_out(block: Block, space: Space) -> BlockRows:
    """Rows of a block for a width; what isn't on screen is laid out as late as its kind allows."""
    match block:
        case AssistantBlock():
            return DocumentRows(block.text, space.width, streaming=block.streaming)
        case ReasoningBlock():
            return _reasoning(block, space)
        case ToolCard():
            return CardRows(
                block, space.width, expanded=space.expanded, max_rows=space.max_card_rows
            )
        case UserBlock():
            lines = [block.text, *(clean_line(label) for label in block.attachments)]
            return FixedRows(_Band(_text("\n".join(lines), "", space)))
        case NoticeBlock():
            key = "warning italic" if block.tone == "warning" else "muted italic"
            return FixedRows(_text(block.text, key, space))
        case ErrorBlock():
            return FixedRows(_text("error: " + block.text, "error bold", space))
        case SessionHeaderBlock():
            return FixedRows(_session_header(block, space.width))


def estimate(block: Block, width: int, max_card_rows: int) -> int:
    """Rows the block will roughly take, without laying it out."""
    match block:
        case ToolCard():
            rows = 1 + len(block.header.primary) // max(1, width) + len(block.facts)
            for body in block.bodies:
                text = body.diff if isinstance(body, DiffBody) else body.text
                rows += text.count("\n") + 1
            return min(rows, max_card_rows + 2)
        case SessionHeaderBlock():
            return 3 + len(block.hints)
        case ReasoningBlock():
            if not block.show_text:
                return 1 if block.streaming or block.elapsed is not None else 0
            return _estimate_text(block.text, width) + (block.elapsed is not None)
        case _:
            return _estimate_text(block.text, width)


def _estimate_text(text: str, width: int) -> int:
    return 1 + text.count("\n") + len(text) // max(1, width + width // 4)


def _reasoning(block: ReasoningBlock, space: Space) -> BlockRows:
    note = "" if block.elapsed is None else f"Thought for {format_elapsed(block.elapsed)}"
    if block.show_text and block.text:
        return DocumentRows(
            block.text, space.width, streaming=block.streaming, base="muted", note=note
        )
    if block.streaming:
        note = "Thinking..."
    return FixedRows(RowList([Row(((note, "muted"),))] if note else []))


def format_elapsed(seconds: float) -> str:
    """A duration as `3.2s`, `2m 5s` or `1h 2m` (APP2.17)."""
    seconds = max(0.0, seconds)
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60}s"
    return f"{whole // 3600}h {whole % 3600 // 60}m"


def _text(text: str, key: str, space: Space) -> RowSource:
    """Plain text as it was typed."""
    if len(text) > _WORD_WRAP_MAX:
        return LineRows(PlainLines(text, key), space.width)
    shown = clean_text(text).expandtabs(4)
    return RowList(wrap_words(((shown, key, ""),), space.width))


class _Band:
    """Rows on the soft background of a prompt."""

    def __init__(self, source: RowSource) -> None:
        self._source = source

    @property
    def height(self) -> int:
        return self._source.height

    def rows(self, start: int, stop: int) -> list[Row]:
        return [row._replace(fill="bg:user") for row in self._source.rows(start, stop)]


def _session_header(block: SessionHeaderBlock, width: int) -> RowSource:
    version: list[Span] = [
        ("rho", "accent bold", ""),
        ("  v", "muted", ""),
        (clean_line(block.version), "success bold", ""),
    ]
    rows = wrap_words(version, width)
    if block.update_notice:
        rows += wrap_words([(clean_line(block.update_notice), "warning", "")], width)
    if block.headline:
        rows += [Row(), *wrap_words([(clean_line(block.headline), "warning", "")], width)]
    if block.hints:
        rows.append(Row())
        column = max(len(clean_line(key)) for key, _ in block.hints) + 2
        for key, action in block.hints:
            spans: list[Span] = [
                (clean_line(key).ljust(column), "muted bold", ""),
                (clean_line(action), "muted", ""),
            ]
            rows += wrap_words(spans, width)
    return RowList(rows)
