"""One top-level Markdown group as rows: paragraphs, headings, lists, quotes, fences, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rho_tui.transcript.code_rows import CodeRows
from rho_tui.transcript.markdown_parse import Group, inline_spans, is_too_deep
from rho_tui.transcript.markdown_table import TableRows, table_head
from rho_tui.transcript.rows import BLANK, Prefixed, Row, RowList, RowSource, Run, Stack
from rho_tui.transcript.wrap import wrap_words

if TYPE_CHECKING:
    from markdown_it.token import Token

MIN_WIDTH = 12
"""Cells that nesting leaves for text; deeper levels aren't indented further."""

BULLETS = ("•", "◦", "▪")


class FenceStore:
    """Fences of a growing document, so that the same code isn't lexed again and again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], CodeRows] = {}
        self._used: dict[tuple[str, str, int], CodeRows] = {}
        self._final: list[CodeRows] = []

    def begin(self) -> None:
        """Forget fences that the last layout of the tail didn't use."""
        self._known, self._used = self._used, {}

    def rows(self, content: str, info: str, canvas: Canvas, *, closed: bool) -> CodeRows:
        """Rows of a fence, coloured when it is closed."""
        key = (content, info, canvas.width)
        rows = self._known.get(key) if closed else None
        if rows is None:
            rows = fence_rows(content, info, canvas)
            if closed:
                rows.close()
        if closed:
            self._used[key] = rows
        if not canvas.open:
            self.keep(rows)
        return rows

    def keep(self, rows: CodeRows) -> None:
        """Note a fence that is final."""
        if rows not in self._final:
            self._final.append(rows)

    @property
    def pending(self) -> CodeRows | None:
        """A fence that was drawn but isn't coloured to its end."""
        return next((rows for rows in self._final if rows.pending), None)


class Canvas(NamedTuple):
    """Where a group is laid out."""

    width: int
    lines: Sequence[str]
    """Source lines of the parsed text, to see blank lines between blocks."""
    base: str = ""
    """Style word for all text, such as `dim` for reasoning."""
    depth: int = 0
    """Bullet lists around."""
    fences: FenceStore | None = None
    """Keeps fences between layouts of an open tail."""
    open: bool = False
    """More text may come: a fence without its closing mark isn't coloured yet."""

    def inner(self, indent: int) -> Canvas:
        """The canvas inside a list item or quote."""
        return self._replace(width=max(min(self.width, MIN_WIDTH), self.width - indent))

    def styled(self, key: str) -> str:
        """The key on top of the base style."""
        return f"{self.base} {key}".strip()

    def blank_above(self, line: int) -> bool:
        """Whether the source has an empty line above this one."""
        return 0 < line <= len(self.lines) and not self.lines[line - 1].strip(" \t>")


def lay_out_group(group: Group, canvas: Canvas) -> RowSource:
    """Rows of a group; constructs that aren't known are shown as their source text."""
    if group.kind not in ("bullet_list", "ordered_list") and is_too_deep(group.tokens):
        return source_rows(canvas.lines[group.start : group.end], canvas)
    return _block(group.tokens, canvas)


def source_rows(lines: Sequence[str], canvas: Canvas) -> RowSource:
    """Source lines as plain text."""
    return RowList(
        row
        for line in lines
        for row in wrap_words(((line.expandtabs(4), canvas.base, ""),), canvas.width)
    )


def children(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The blocks directly inside a container's tokens (its own open and close excluded)."""
    begin = depth = 0
    inner = tokens[1:-1]
    for index, token in enumerate(inner):
        depth += token.nesting
        if depth == 0:
            yield inner[begin : index + 1]
            begin = index + 1


def list_items(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """The items of a list's tokens."""
    return list(children(tokens))


def item_rows(item: Sequence[Token], number: int | None, canvas: Canvas) -> RowSource:
    """One list item. `number` is None in a bullet list."""
    opening = item[0]
    if is_too_deep(item):
        start, end = opening.map or [0, 0]
        return source_rows([line for line in canvas.lines[start:end] if line.strip()], canvas)
    if number is None:
        marker = BULLETS[canvas.depth % len(BULLETS)] + " "
        copied = f"{opening.markup} "
        inner = canvas._replace(depth=canvas.depth + 1)
    else:
        marker = copied = f"{number}{opening.markup} "
        inner = canvas
    inner = inner.inner(len(marker))
    blocks = list(children(item))
    task = _task(blocks)
    if task is not None:
        box, source, blocks = task
        marker, copied = box + " ", copied + source
    body = _stack(blocks, inner)
    if not body.height:
        body.add(RowList([BLANK]))
    rest = " " * len(marker)
    return Prefixed(
        body,
        ((marker, canvas.styled("md.bullet")),),
        ((rest, ""),),
        first_copy=copied,
        rest_copy=rest,
    )


def _task(
    blocks: list[Sequence[Token]],
) -> tuple[str, str, list[Sequence[Token]]] | None:
    """Box, its source and the blocks without it, when an item begins with `[ ] ` or `[x] `."""
    if not blocks or blocks[0][0].type != "paragraph_open":
        return None
    opening, inline, closing = blocks[0]
    source = inline.content[:4]
    boxes = {"[ ] ": "☐", "[x] ": "☑", "[X] ": "☑"}
    if source not in boxes:
        return None
    text = inline.copy(content=inline.content[4:])
    return boxes[source], source, [[opening, text, closing], *blocks[1:]]


def _stack(blocks: Sequence[Sequence[Token]], canvas: Canvas) -> Stack:
    """Blocks inside a container, with the blank lines of the source between them."""
    stack = Stack()
    for tokens in blocks:
        source = tokens[0].map
        if len(stack) and source is not None and canvas.blank_above(source[0]):
            stack.add(RowList([BLANK]))
        stack.add(_block(tokens, canvas))
    return stack


def _block(tokens: Sequence[Token], canvas: Canvas) -> RowSource:
    token = tokens[0]
    match token.type:
        case "paragraph_open":
            return RowList(wrap_words(inline_spans(tokens[1].content, canvas.base), canvas.width))
        case "heading_open":
            key = canvas.styled(f"md.{token.tag}")
            return RowList(wrap_words(inline_spans(tokens[1].content, key), canvas.width))
        case "fence" | "code_block":
            return _fence(token, canvas)
        case "bullet_list_open" | "ordered_list_open":
            return _list(tokens, canvas)
        case "blockquote_open":
            return _quote(tokens, canvas)
        case "table_open":
            return _table(tokens, canvas)
        case "hr":
            rule = "─" * canvas.width
            return RowList([Row(((rule, "border"),), lead=len(rule), lead_copy="---")])
        case _:
            source = token.map or [0, 0]
            return source_rows(canvas.lines[source[0] : source[1]] or [token.content], canvas)


def _fence(token: Token, canvas: Canvas) -> RowSource:
    if canvas.fences is None:
        rows = fence_rows(token.content, token.info, canvas)
        rows.close()
        return rows
    closed = not canvas.open or _is_closed(token, canvas)
    return canvas.fences.rows(token.content, token.info, canvas, closed=closed)


def fence_rows(content: str, info: str, canvas: Canvas) -> CodeRows:
    """Rows of a fence's content, without colours as yet."""
    lines = content.removesuffix("\n").split("\n") if content else []
    return CodeRows(lines, info, canvas.width, canvas.base)


def _is_closed(token: Token, canvas: Canvas) -> bool:
    start, end = token.map or [0, 0]
    if token.type != "fence" or end - start < 2 or end > len(canvas.lines) - 1:
        return False
    return canvas.lines[end - 1].strip(" \t>").startswith(token.markup)


def _list(tokens: Sequence[Token], canvas: Canvas) -> RowSource:
    number = first_number(tokens[0])
    stack = Stack()
    for item in list_items(tokens):
        source = item[0].map
        if len(stack) and source is not None and canvas.blank_above(source[0]):
            stack.add(RowList([BLANK]))
        stack.add(item_rows(item, number, canvas))
        number = None if number is None else number + 1
    return stack


def first_number(token: Token) -> int | None:
    """Number of an ordered list's first item, None for a bullet list."""
    if token.type != "ordered_list_open":
        return None
    return int(token.attrs.get("start", 1))


def _quote(tokens: Sequence[Token], canvas: Canvas) -> RowSource:
    body = _stack(list(children(tokens)), canvas.inner(2))
    if not body.height:
        body.add(RowList([BLANK]))
    bar: tuple[Run, ...] = (("▌ ", canvas.styled("border")),)
    return Prefixed(body, bar, bar, first_copy="> ", rest_copy="> ")


def _table(tokens: Sequence[Token], canvas: Canvas) -> RowSource:
    header, aligns = table_head(tokens)
    table = TableRows(header, aligns, canvas.width, canvas.base)
    body = False
    for token in tokens:
        if token.type == "tbody_open":
            body = True
        elif body and token.type == "tr_open" and token.map:
            table.add(_bare(canvas.lines[token.map[0]]))
    return table


def _bare(line: str) -> str:
    """A table line without the marks of the quote or list item around it."""
    return line.lstrip(" \t>")
