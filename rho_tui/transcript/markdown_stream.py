"""A Markdown document that grows: rows are final as soon as no later text can change them.

Text behind the open tail is never parsed again. A top-level block is final once a later one has
begun on complete lines; inside the open tail, finished list items, table rows, fence lines and
lines of a long paragraph are frozen too, so cost stays linear in the text. The rows of a finished
document don't depend on how the text was cut into pieces.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rho_tui.transcript.markdown_layout import (
    Canvas,
    FenceStore,
    fence_rows,
    first_number,
    item_rows,
    lay_out_group,
    list_items,
)
from rho_tui.transcript.markdown_open import FENCE, OpenFence, OpenList, OpenTable, is_undecided
from rho_tui.transcript.markdown_parse import (
    MAX_INLINE,
    SEGMENT,
    Group,
    has_open_markup,
    inline_spans,
    parse_groups,
)
from rho_tui.transcript.markdown_table import TableRows, table_head
from rho_tui.transcript.rows import BLANK, Row, RowList, Stack
from rho_tui.transcript.sanitize import clean_text
from rho_tui.transcript.wrap import wrap_words

if TYPE_CHECKING:
    from markdown_it.token import Token

_PLAIN_START = re.compile(r"[^\W\d_]")
"""A line that begins like this is a paragraph by itself."""

_LISTS = ("bullet_list", "ordered_list")


class MarkdownDocument:
    """Rows of growing Markdown at one width; implements `RowSource`.

    Args:
        width: Cells of a row.
        base: Style word for all text, such as `dim`.
    """

    def __init__(self, width: int, base: str = "") -> None:
        self._width = max(1, width)
        self._base = base
        self._stack = Stack()
        self._final = 0  # parts of the stack that never change again
        self._stable = 0  # rows that the refresh under way leaves as they were
        self._tail = ""
        self._carry = ""  # a carriage return that may belong to a coming newline
        self._previous = ""  # kind of the last final group
        self._blank = False  # an empty line precedes the tail
        self._fence: OpenFence | None = None
        self._table: OpenTable | None = None
        self._list: OpenList | None = None
        self._paragraph = ""  # source of the open paragraph's frozen lines
        self._paragraph_part = 0  # final parts before that paragraph
        self._freeze_at = SEGMENT  # characters of the open paragraph at which lines are frozen
        self._forced = False  # lines were frozen in spite of open markup
        self._fences = FenceStore()
        self.parsed_chars = 0
        """Characters given to the block parser so far: a measure of work."""

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._stack.height

    def rows(self, start: int, stop: int) -> Sequence[Row]:
        """Rows `start` to `stop`."""
        return self._stack.rows(start, stop)

    @property
    def pending(self) -> bool:
        """Whether code colours are still to come."""
        return self._fences.pending is not None

    def advance(self) -> None:
        """Colour another slice of a fence."""
        fence = self._fences.pending
        if fence is not None:
            fence.advance()

    def feed(self, delta: str) -> int:
        """Add text. Returns the first row that may have changed."""
        text = self._carry + delta
        self._carry = ""
        if text.endswith("\r"):
            self._carry, text = "\r", text[:-1]
        self._tail += clean_text(text)
        return self._refresh(final=False)

    def finish(self) -> int:
        """The text is complete. Returns the first row that may have changed."""
        self._tail += clean_text(self._carry)
        self._carry = ""
        return self._refresh(final=True)

    def _refresh(self, *, final: bool) -> int:
        self._stack.truncate(self._final)
        self._stable = self._stack.height
        self._fences.begin()
        while self._step(final=final):
            pass
        return self._stable

    def _step(self, *, final: bool) -> bool:
        """Lay out the tail. Returns True when its rest must be looked at anew."""
        if self._fence is not None:
            return self._step_fence(self._fence, final=final)
        if self._table is not None:
            return self._step_table(self._table, final=final)
        text = self._tail if final else self._shown_tail()
        if not text.strip():
            return False
        self.parsed_chars += len(text)
        groups = parse_groups(text)
        lines = text.split("\n")
        settled = len(groups) if final else _settled(groups, lines)
        if self._paragraph and self._must_thaw(groups[0], lines, ends=settled > 0):
            self._thaw()
            return True
        self._commit(groups[:settled], lines)
        rest = groups[settled:]
        if not rest:
            self._cut(lines, groups[-1].end)
            return False
        if len(rest) == 1 and self._enter(rest[0], lines):
            return True
        self._show_open(rest, lines)
        return False

    def _shown_tail(self) -> str:
        """The tail without a last line that isn't decided yet."""
        head, newline, last = self._tail.rpartition("\n")
        return head + newline if is_undecided(last) else self._tail

    # --- final groups -----------------------------------------------------------------------

    def _commit(self, groups: Sequence[Group], lines: Sequence[str]) -> None:
        for group in groups:
            self._add_group(group, lines, self._canvas(lines))
            self._ended(group.kind)
        self._final = len(self._stack)

    def _ended(self, kind: str) -> None:
        self._previous = kind
        self._list = None
        self._paragraph = ""
        self._freeze_at = SEGMENT
        self._forced = False
        self._blank = False

    def _cut(self, lines: Sequence[str], count: int) -> None:
        """Drop the first `count` lines of the tail and remember whether the last was empty."""
        if count:
            self._blank = not lines[count - 1].strip()
            self._tail = self._tail[sum([len(line) + 1 for line in lines[:count]]) :]

    def _canvas(self, lines: Sequence[str], *, is_open: bool = False) -> Canvas:
        return Canvas(self._width, lines, self._base, fences=self._fences, open=is_open)

    def _add_group(self, group: Group, lines: Sequence[str], canvas: Canvas) -> None:
        if self._list is not None and self._list.continues(group):
            self._add_items(list_items(group.tokens), self._list.number, canvas)
            return
        if not self._paragraph:
            self._gap(group, lines)
        self._stack.add(lay_out_group(group, canvas))

    def _gap(self, group: Group, lines: Sequence[str]) -> None:
        """A blank row between blocks, unless the source binds them closely."""
        if not self._stack.height:
            return
        blank = not lines[group.start - 1].strip() if group.start else self._blank
        binds = ("heading", "paragraph") if group.kind in _LISTS else ("heading",)
        tight = self._previous in binds and group.kind in ("paragraph", *_LISTS)
        if blank or not tight:
            self._stack.add(RowList([BLANK]))

    # --- the open tail ----------------------------------------------------------------------

    def _show_open(self, groups: Sequence[Group], lines: list[str]) -> None:
        """Rows of what may still change; parts that can't are frozen first."""
        start = groups[0].start
        if len(groups) == 1:
            group = groups[0]
            if group.kind in _LISTS and self._freeze_items(group, lines):
                return
            if group.kind == "paragraph" and self._freeze_lines(group, lines):
                return
        previous, blank = self._previous, self._blank
        open_list, paragraph = self._list, self._paragraph
        for group in groups:
            self._add_group(group, lines, self._canvas(lines, is_open=True))
            self._ended(group.kind)
        self._previous, self._blank = previous, blank
        self._list, self._paragraph = open_list, paragraph
        self._cut(lines, start)

    def _enter(self, group: Group, lines: Sequence[str]) -> bool:
        """Begin to take a fence or a table line by line."""
        complete = len(lines) - 1 - group.start
        if group.kind == "fence" and complete >= 1:
            opening = FENCE.match(lines[group.start])
            if opening is None:
                return False
            self._gap(group, lines)
            rows = fence_rows("", group.tokens[0].info, self._canvas(lines))
            self._fence = OpenFence(opening, rows)
            self._final = len(self._stack)
            self._cut(lines, group.start + 1)
            return True
        if group.kind == "table" and complete >= 2:
            self._gap(group, lines)
            header, aligns = table_head(group.tokens)
            table = TableRows(header, aligns, self._width, self._base)
            self._table = OpenTable(lines[group.start : group.start + 2], table)
            self._final = len(self._stack)
            self._cut(lines, group.start + 2)
            return True
        return False

    def _step_fence(self, fence: OpenFence, *, final: bool) -> bool:
        *complete, partial = self._tail.split("\n")
        if final and partial.strip():
            complete, partial = [*complete, partial], ""
        for index, line in enumerate(complete):
            if fence.closes(line):
                fence.take(complete[:index])
                self._tail = "\n".join([*complete[index + 1 :], partial])
                self._end_fence(fence)
                return True
        fence.take(complete, partial)
        self._tail = partial
        if final:
            self._end_fence(fence)
        else:
            self._stack.add(fence.rows)
        return False

    def _end_fence(self, fence: OpenFence) -> None:
        fence.rows.close()
        self._fences.keep(fence.rows)
        self._stack.add(fence.rows)
        self._final = len(self._stack)
        self._fence = None
        self._ended("fence")

    def _step_table(self, table: OpenTable, *, final: bool) -> bool:
        *complete, partial = self._tail.split("\n")
        if final and partial:
            complete, partial = [*complete, partial], ""
        before = table.parsed_chars
        taken = table.take(complete, partial)
        self.parsed_chars += table.parsed_chars - before
        self._tail = "\n".join([*complete[taken:], partial])
        self._stack.add(table.rows)
        if taken == len(complete) and not final:
            return False
        self._final = len(self._stack)
        self._table = None
        self._ended("table")
        return bool(self._tail)

    def _add_items(
        self, items: Sequence[Sequence[Token]], number: int | None, canvas: Canvas
    ) -> int | None:
        """Rows of list items. Returns the number after the last."""
        for index, item in enumerate(items):
            start = (item[0].map or [0])[0]
            blank = canvas.blank_above(start) if start else self._blank
            if blank and (index or self._list is not None):
                self._stack.add(RowList([BLANK]))
            self._stack.add(item_rows(item, number, canvas))
            number = None if number is None else number + 1
        return number

    def _freeze_items(self, group: Group, lines: list[str]) -> bool:
        """Make the finished items of the open list final and show its last ones."""
        items = list_items(group.tokens)
        starts = [(item[0].map or [0])[0] for item in items]
        last = max((i for i, start in enumerate(starts) if start < len(lines) - 1), default=0)
        if last == 0:
            return False
        number: int | None
        if self._list is not None and self._list.continues(group):
            number = self._list.number
        else:
            self._gap(group, lines)
            self._list = None
            number = first_number(group.tokens[0])
        number = self._add_items(items[:last], number, self._canvas(lines))
        self._list = OpenList(group.kind, group.tokens[0].markup, number)
        self._final = len(self._stack)
        self._add_items(items[last:], number, self._canvas(lines, is_open=True))
        self._cut(lines, starts[last])
        return True

    def _freeze_lines(self, group: Group, lines: list[str]) -> bool:
        """Make the finished lines of a long open paragraph final and show the rest."""
        size = sum(map(len, lines[group.start :]))
        if size < self._freeze_at:
            return False
        cut = len(lines) - 2  # the last complete line stays as context
        while cut > group.start and not _PLAIN_START.match(lines[cut]):
            cut -= 1
        text = "\n".join(lines[group.start : cut]).strip()
        if cut <= group.start:
            return False
        if has_open_markup(text):
            if len(text) <= MAX_INLINE:
                self._freeze_at = 2 * size
                return False
            self._forced = True
        self._freeze_at = SEGMENT
        if not self._paragraph:
            self._blank = not lines[group.start - 1].strip() if group.start else self._blank
            self._paragraph_part = self._final
            self._gap(group, lines)
        blank = self._blank
        self._paragraph += text + "\n"
        self._stack.add(RowList(wrap_words(inline_spans(text, self._base), self._width)))
        self._final = len(self._stack)
        rest = "\n".join(lines[cut:]).strip()
        self._stack.add(RowList(wrap_words(inline_spans(rest, self._base), self._width)))
        self._cut(lines, cut)
        self._blank = blank
        return True

    def _must_thaw(self, group: Group, lines: Sequence[str], *, ends: bool) -> bool:
        """Whether the open paragraph has to be laid out again as a whole.

        That is so when its last lines turn it into something else (a heading, a table), and at its
        end when markup was open for so long that it is shown as text.
        """
        if group.kind != "paragraph":
            return True
        size = sum(map(len, lines[group.start : group.end]))
        return ends and (self._forced or size > MAX_INLINE - 2 * SEGMENT)

    def _thaw(self) -> None:
        """Take the frozen lines back: the paragraph turned out to be something else."""
        self._tail = self._paragraph + self._tail
        self._paragraph = ""
        self._freeze_at = sys.maxsize
        self._forced = False
        self._stack.truncate(self._paragraph_part)
        self._final = self._paragraph_part
        self._stable = min(self._stable, self._stack.height)


def _settled(groups: Sequence[Group], lines: Sequence[str]) -> int:
    """Number of groups that no later text can change.

    An incomplete last line may dissolve its block into the one above (`#` becomes `#tag`), and a
    single complete line may still join a list (`1` becomes `1.`), hence the cases.
    """
    count = len(groups)
    last = groups[-1]
    complete = len(lines) - 1 - last.start
    if last.kind in ("heading", "hr") and last.end <= len(lines) - 1:
        return count
    if count < 2:
        return 0
    blank = last.start > 0 and not lines[last.start - 1].strip()
    if complete >= 2 or (complete >= 1 and (blank or last.kind == "fence")):
        return count - 1
    return count - 2
