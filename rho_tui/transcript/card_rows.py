"""A tool card as rows: header, facts, bodies, and the collapse budget (APP2.20-2.24)."""

from __future__ import annotations

from collections.abc import Sequence

from rho_tui.transcript.ansi import AnsiText
from rho_tui.transcript.blocks import (
    Body,
    CardHeader,
    CardStatus,
    DiffBody,
    Fact,
    MarkdownBody,
    SearchBody,
    ShellBody,
    TextBody,
    ToolCard,
)
from rho_tui.transcript.diff_rows import DiffRows
from rho_tui.transcript.highlight import CodeText, lexer_for_path, lexer_named
from rho_tui.transcript.lines import LineRows, PlainLines
from rho_tui.transcript.markdown_stream import MarkdownDocument
from rho_tui.transcript.rows import Prefixed, Row, RowList, RowSource, Run, Stack
from rho_tui.transcript.sanitize import clean_line, clean_text
from rho_tui.transcript.search_rows import SearchLines, SearchRows, cuts
from rho_tui.transcript.wrap import Span, wrap_words

MARKERS: dict[CardStatus, Run] = {
    CardStatus.RUNNING: ("● ", "accent"),
    CardStatus.OK: ("✓ ", "success"),
    CardStatus.ERROR: ("✗ ", "error"),
    CardStatus.INTERRUPTED: ("■ ", "warning"),
}

_FAMILIES = {
    "default": "muted bold",
    "file": "file bold",
    "web": "web bold",
    "skill": "skill bold",
    "form": "warning bold",
    "agent": "bold",
}
_TONES = {"text": "", "meta": "muted", "error": "error", "warning": "warning", "success": "success"}
_INDENT = "  "


class CardRows:
    """Rows of a card at one width, collapsed to a budget or expanded.

    Args:
        card: The card.
        width: Cells of a row.
        expanded: Show all rows.
        max_rows: Rows after the header that a collapsed card shows.
    """

    def __init__(self, card: ToolCard, width: int, *, expanded: bool, max_rows: int) -> None:
        self._card = card
        self._width = width
        self._expanded = expanded
        self._max_rows = max(1, max_rows)
        self._code: list[CodeText] = []
        self._shell: tuple[AnsiText, LineRows] | None = None
        self._cuts_lines = False
        self._bodies: list[RowSource] = [self._body(body) for body in card.bodies]
        self._compose()

    def _compose(self) -> None:
        """Stack the parts, with what the budget leaves of them."""
        parts = Stack([self._header(), self._facts()])
        for body in self._bodies:
            parts.add(Prefixed(body, ((_INDENT * 2, ""),), ((_INDENT * 2, ""),)))
        header = self._header().height
        limit = min(header, self._max_rows) + self._max_rows
        hides = parts.height > limit
        self.expandable = hides or self._cuts_lines
        self._parts = parts
        self._shown = parts.height
        self._note = Row()
        if self.expandable and self._expanded:
            self._note = _note("ctrl+o to collapse")
        elif hides:
            # A long header gives its own rows, never those of facts and bodies.
            self._shown = limit if header <= self._max_rows else self._max_rows
            hidden = parts.height - self._shown
            noun = "line" if hidden == 1 else "lines"
            self._note = _note(f"... {hidden} more {noun}, ctrl+o to expand")
        elif self.expandable:
            self._note = _note("... lines are cut, ctrl+o to expand")

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._shown + (1 if self.expandable else 0)

    def rows(self, start: int, stop: int) -> Sequence[Row]:
        """Rows `start` to `stop`."""
        found = list(self._parts.rows(start, min(stop, self._shown)))
        if self.expandable and start <= self._shown < stop:
            found.append(self._note)
        return found

    @property
    def pending(self) -> bool:
        """Whether code colours are still to come."""
        return any(code.pending for code in self._code)

    def advance(self) -> None:
        """Colour another slice of code."""
        for code in self._code:
            if code.pending:
                code.advance()
                return

    def feed(self, delta: str) -> int | None:
        """Add output to the last body. Returns the first changed row, None to lay out anew."""
        if self._shell is None:
            return None
        text, rows = self._shell
        below = self._bodies[-1].height
        first = text.feed(delta)
        changed = self._parts.height - below + rows.start(min(first, len(text)))
        rows.measure(first)
        self._compose()
        return min(changed, self._shown)

    def _header(self) -> RowList:
        card, header = self._card, self._card.header
        marker = MARKERS[card.status]
        stem = "│ " if card.facts or card.bodies else "  "
        rows = wrap_words(_header_spans(header), max(1, self._width - 4))
        return RowList(
            Prefixed(RowList(rows), (marker,), ((_INDENT, ""), (stem, "border"))).rows(0, len(rows))
        )

    def _facts(self) -> RowList:
        facts = self._card.facts
        rows: list[Row] = []
        for index, fact in enumerate(facts):
            last = index == len(facts) - 1
            branch = _INDENT + ("└ " if last else "├ ")
            stem = _INDENT + ("  " if last else "│ ")
            wrapped = RowList(wrap_words(_fact_spans(fact), max(1, self._width - 4)))
            drawn = Prefixed(wrapped, ((branch, "border"),), ((stem, "border"),))
            rows += drawn.rows(0, drawn.height)
        return RowList(rows)

    def _body(self, body: Body) -> RowSource:
        width = max(1, self._width - 4)
        match body:
            case DiffBody():
                return DiffRows(body.diff, body.path, width)
            case ShellBody():
                text = AnsiText(body.text)
                rows = LineRows(text, width)
                if body is self._card.bodies[-1]:
                    self._shell = text, rows
                return rows
            case MarkdownBody():
                document = MarkdownDocument(width)
                document.feed(body.text)
                document.finish()
                return document
            case SearchBody():
                return self._search(body, width)
            case TextBody():
                return self._text(body, width)

    def _search(self, body: SearchBody, width: int) -> RowSource:
        lines = SearchLines(body)
        self._cuts_lines = self._cuts_lines or cuts(lines, width)
        return LineRows(lines, width) if self._expanded else SearchRows(lines, width)

    def _text(self, body: TextBody, width: int) -> RowSource:
        lexer = lexer_for_path(body.path) if body.path else lexer_named(body.language)
        if lexer is None:
            return LineRows(PlainLines(body.text), width)
        code = CodeText(clean_text(body.text).removesuffix("\n").split("\n"), lexer)
        code.close()
        self._code.append(code)
        return LineRows(code, width)


def _note(text: str) -> Row:
    shown = _INDENT * 2 + text
    return Row(((shown, "muted"),), lead=len(shown), join="")


def _header_spans(header: CardHeader) -> list[Span]:
    family = _FAMILIES[header.family]
    verb = clean_line(header.verb)
    primary = clean_text(header.primary).expandtabs(4)
    if header.dialect == "shell":
        return [(f"{verb} ", "muted", ""), (primary, "", "")]
    if header.dialect == "status":
        return [(verb, family, ""), (f"  {primary}" if primary else "", "muted", "")]
    if not primary:
        return [(verb, family, "")]
    return [(verb, family, ""), ("(", "muted", ""), (primary, "", ""), (")", "muted", "")]


def _fact_spans(fact: Fact) -> list[Span]:
    text = clean_text(fact.text).expandtabs(4)
    if fact.tone != "diff_stat":
        return [(text, _TONES[fact.tone], "")]
    spans: list[Span] = []
    for index, word in enumerate(text.split(" ")):
        key = "success" if word[:1] == "+" else "error" if word[:1] == "-" else "muted"
        spans.append((" " + word if index else word, key, ""))
    return spans
