"""Unified diffs for cards and approvals, bounded in size and in time (section 9).

Never part of what the model reads. Two departures from section 9: hunks have three lines of
context, because people approve changes by them, and the size limit holds for the changed part
instead of the whole files, so that a small edit of a large file can still be seen.
"""

from __future__ import annotations

import difflib
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CONTEXT_LINES = 3
MAX_CHANGED_BYTES = 131_072
MAX_LINE_CHARACTERS = 2_000
_MAX_GAP_CELLS = 160_000
_TIME_BUDGET_SECONDS = 0.5

NO_CHANGES = "No changes."
OMITTED = "Diff omitted:"


@dataclass(frozen=True, slots=True)
class Block:
    """A replaced run: lines [old_start, old_end) became lines [new_start, new_end)."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A unified diff, `No changes.` or a line that starts `Diff omitted:`, with line counts."""

    text: str
    added: int
    removed: int


def diff_texts(
    path: str, before: str | None, after: str, *, old_path: str | None = None
) -> FileDiff:
    """The diff from `before` (None: the file is new) to `after`. `path` is a display path (9.2).

    `old_path` is where a moved file was; a move is a change even if the content stays. Lines end
    at `\\n` only, so a changed line ending is a change. Deterministic unless the time budget runs
    out, where a stretch that is still open is shown as replaced.
    """
    if before == after and old_path in (None, path):
        return FileDiff(NO_CHANGES, 0, 0)
    old = _lines(before or "")
    new = _lines(after)
    blocks = changed_blocks(old, new)
    added = sum(block.new_end - block.new_start for block in blocks)
    removed = sum(block.old_end - block.old_start for block in blocks)
    source = "/dev/null" if before is None else f"a/{old_path or path}"
    header = [f"--- {source}", f"+++ b/{path}"]
    rows, complete = _render(old, new, blocks)
    text = "\n".join([*header, *rows]) + "\n"
    if not complete:
        text += f"\n{OMITTED} the rest of a large change (+{added} -{removed} lines in all)\n"
    return FileDiff(text, added, removed)


def joined_diffs(diffs: Sequence[FileDiff], separator: str) -> FileDiff:
    """The diffs of several files as one (9.4); files without changes are left out."""
    texts = [diff.text.removesuffix("\n") for diff in diffs if diff.text != NO_CHANGES]
    text = separator.join(texts) + "\n" if texts else NO_CHANGES
    return FileDiff(text, sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs))


def omitted_diff(reason: str, *, added: int = 0) -> FileDiff:
    """What stands in for a diff that cannot be made, such as of binary content (8.6)."""
    return FileDiff(f"{OMITTED} {reason}", added, 0)


def _lines(text: str) -> list[str]:
    """Lines with their `\\n`; the last one may lack it."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def changed_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """The replaced runs between two lists of lines, in order, with equal lines between them."""
    deadline = time.monotonic() + _TIME_BUDGET_SECONDS
    merged: list[Block] = []
    for block in _trim_and_split(old, new, deadline):
        if merged and (merged[-1].old_end, merged[-1].new_end) == (
            block.old_start,
            block.new_start,
        ):
            last = merged.pop()
            block = Block(last.old_start, block.old_end, last.new_start, block.new_end)
        merged.append(block)
    return merged


def _trim_and_split(old: Sequence[str], new: Sequence[str], deadline: float) -> Iterator[Block]:
    """Cut equal ends off, then split at lines that are unique on both sides (patience)."""
    start, old_end, new_end = _trim(old, new, 0, len(old), 0, len(new))
    if start == old_end and start == new_end:
        return
    old_at = new_at = start
    for old_anchor, new_anchor in [
        *_anchors(old, new, start, old_end, new_end),
        (old_end, new_end),
    ]:
        yield from _gap(old, new, Block(old_at, old_anchor, new_at, new_anchor), deadline)
        old_at, new_at = old_anchor + 1, new_anchor + 1


def _trim(
    old: Sequence[str],
    new: Sequence[str],
    old_start: int,
    old_end: int,
    new_start: int,
    new_end: int,
) -> tuple[int, int, int]:
    """How many lines are equal at the front, and both ends without the equal tail."""
    common = 0
    room = min(old_end - old_start, new_end - new_start)
    while common < room and old[old_start + common] == new[new_start + common]:
        common += 1
    while (
        old_end > old_start + common
        and new_end > new_start + common
        and old[old_end - 1] == new[new_end - 1]
    ):
        old_end -= 1
        new_end -= 1
    return common, old_end, new_end


def _anchors(
    old: Sequence[str], new: Sequence[str], start: int, old_end: int, new_end: int
) -> list[tuple[int, int]]:
    """The longest increasing run of lines that occur once on each side."""
    old_counts = Counter(old[start:old_end])
    new_counts = Counter(new[start:new_end])
    where = {line: index for index, line in enumerate(new[start:new_end], start)}
    pairs = [
        (index, where[line])
        for index, line in enumerate(old[start:old_end], start)
        if old_counts[line] == 1 and new_counts.get(line) == 1
    ]
    tails: list[int] = []
    tail_pairs: list[int] = []
    back: list[int] = []
    for position, (_, new_index) in enumerate(pairs):
        slot = bisect_left(tails, new_index)
        back.append(tail_pairs[slot - 1] if slot else -1)
        tails[slot : slot + 1] = [new_index]
        tail_pairs[slot : slot + 1] = [position]
    chain: list[tuple[int, int]] = []
    position = tail_pairs[-1] if tail_pairs else -1
    while position >= 0:
        chain.append(pairs[position])
        position = back[position]
    return chain[::-1]


def _gap(old: Sequence[str], new: Sequence[str], gap: Block, deadline: float) -> Iterator[Block]:
    """The changes between two anchors: exact where that is cheap, else the whole stretch."""
    common, old_end, new_end = _trim(
        old, new, gap.old_start, gap.old_end, gap.new_start, gap.new_end
    )
    old_start, new_start = gap.old_start + common, gap.new_start + common
    if old_start == old_end and new_start == new_end:
        return
    cells = (old_end - old_start) * (new_end - new_start)
    if cells == 0 or cells > _MAX_GAP_CELLS or time.monotonic() > deadline:
        yield Block(old_start, old_end, new_start, new_end)
        return
    matcher = difflib.SequenceMatcher(
        None, old[old_start:old_end], new[new_start:new_end], autojunk=False
    )
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            yield Block(old_start + i1, old_start + i2, new_start + j1, new_start + j2)


def _render(
    old: Sequence[str], new: Sequence[str], blocks: Sequence[Block]
) -> tuple[list[str], bool]:
    """The rows of all hunks, and whether everything fitted into the size limit."""
    rows: list[str] = []
    room = MAX_CHANGED_BYTES
    for hunk in _hunks(blocks):
        body, old_count, new_count, complete = _hunk_body(old, new, hunk, room)
        if old_count or new_count:
            start_old = max(0, hunk[0].old_start - CONTEXT_LINES)
            start_new = max(0, hunk[0].new_start - CONTEXT_LINES)
            ranges = f"-{_range(start_old, old_count)} +{_range(start_new, new_count)}"
            rows += [f"@@ {ranges} @@", *body]
        if not complete:
            return rows, False
        room -= sum(len(row.encode("utf-8", "replace")) + 1 for row in body)
    return rows, True


def _hunk_body(
    old: Sequence[str], new: Sequence[str], hunk: Sequence[Block], room: int
) -> tuple[list[str], int, int, bool]:
    """Rows of one hunk with how many old and new lines they cover; stops when `room` is used up."""
    rows: list[str] = []
    old_count = new_count = 0
    for sign, line in _signed(old, new, hunk):
        row = _row(sign, line)
        room -= len(row.encode("utf-8", "replace")) + 1
        if room < 0:
            return rows, old_count, new_count, False
        rows.append(row)
        if not line.endswith("\n"):
            rows.append("\\ No newline at end of file")
        old_count += sign != "+"
        new_count += sign != "-"
    return rows, old_count, new_count, True


def _signed(
    old: Sequence[str], new: Sequence[str], hunk: Sequence[Block]
) -> Iterator[tuple[str, str]]:
    at = max(0, hunk[0].old_start - CONTEXT_LINES)
    for block in hunk:
        for index in range(at, block.old_start):
            yield " ", old[index]
        for index in range(block.old_start, block.old_end):
            yield "-", old[index]
        for index in range(block.new_start, block.new_end):
            yield "+", new[index]
        at = block.old_end
    for index in range(at, min(len(old), at + CONTEXT_LINES)):
        yield " ", old[index]


def _hunks(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    hunk: list[Block] = []
    for block in blocks:
        if hunk and block.old_start - hunk[-1].old_end > 2 * CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _row(sign: str, line: str) -> str:
    body = line.removesuffix("\n")
    if len(body) > MAX_LINE_CHARACTERS:
        missing = len(body) - MAX_LINE_CHARACTERS
        body = f"{body[:MAX_LINE_CHARACTERS]}… [line cut: {missing:,} more characters]"
    return f"{sign}{body}"


def _range(start: int, count: int) -> str:
    """A hunk range in GNU form: length 1 is left out, an empty range names the line before."""
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"
