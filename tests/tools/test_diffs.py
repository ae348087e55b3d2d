"""Unified diffs: correct by applying them, and bounded in size and time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.tools.files.diff import MAX_CHANGED_BYTES, NO_CHANGES, diff_texts

LINES = st.lists(
    st.sampled_from(["a", "b", "c", "", "d\r", "\u2028x", "+", "-y", "@@"]), max_size=30
)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def split(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def apply_diff(before: str, diff: str) -> str:
    """A small strict `patch`: every context line and every range must fit."""
    old, result, at = split(before), [], 0
    rows = diff.split("\n")[2:-1]
    index = 0
    while index < len(rows):
        match = HUNK.fullmatch(rows[index])
        assert match, rows[index]
        old_start, old_count = int(match[1]), int(match[2] or 1)
        new_start, new_count = int(match[3]), int(match[4] or 1)
        begin = old_start - 1 if old_count else old_start
        result += old[at:begin]
        at = begin
        assert len(result) == (new_start - 1 if new_count else new_start)
        index += 1
        while old_count or new_count:
            sign, line = rows[index][0], rows[index][1:] + "\n"
            if index + 1 < len(rows) and rows[index + 1].startswith("\\"):
                line = line[:-1]
                index += 1
            if sign in " -":
                assert old[at] == line
                at, old_count = at + 1, old_count - 1
            if sign in " +":
                result.append(line)
                new_count -= 1
            index += 1
    return "".join(result + old[at:])


@settings(max_examples=100)
@given(LINES, LINES, st.booleans(), st.booleans())
@pytest.mark.clause("T9.1", "T9.2", "T9.3")
def test_a_diff_applied_to_the_old_text_gives_the_new_one(
    old: list[str], new: list[str], old_end: bool, new_end: bool
) -> None:
    before = "\n".join(old) + ("\n" if old_end else "")
    after = "\n".join(new) + ("\n" if new_end else "")
    diff = diff_texts("f", before, after)
    if before == after:
        assert diff.text == NO_CHANGES
        return
    assert apply_diff(before, diff.text) == after
    rows = diff.text.split("\n")[2:]
    assert diff.added == sum(row.startswith("+") for row in rows)
    assert diff.removed == sum(row.startswith("-") for row in rows)


@settings(max_examples=40)
@given(st.data())
def test_a_small_edit_of_a_long_text_applies_too(data: st.DataObject) -> None:
    old = [f"line {number % 50}" for number in range(300)]
    new = list(old)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(new)))
        new[at : at + data.draw(st.integers(0, 3))] = data.draw(LINES)[:3]
    before, after = "\n".join(old) + "\n", "\n".join(new) + "\n"
    diff = diff_texts("f", before, after)
    if before != after:
        assert apply_diff(before, diff.text) == after


@pytest.mark.clause("T9.2")
def test_a_new_file_is_compared_with_nothing() -> None:
    assert diff_texts("a/b.txt", None, "x\ny\n").text == (
        "--- /dev/null\n+++ b/a/b.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n"
    )
    assert diff_texts("f", None, "").text == "--- /dev/null\n+++ b/f\n"


@pytest.mark.clause("T9.2")
def test_a_missing_final_newline_is_marked() -> None:
    assert diff_texts("f", "a\nb", "a\nc\n").text == (
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )


def test_a_changed_line_ending_is_a_change() -> None:
    diff = diff_texts("f", "a\nb\n", "a\r\nb\n")
    assert (diff.added, diff.removed) == (1, 1)


def test_a_small_edit_of_a_huge_file_is_shown_with_context() -> None:
    lines = [f"line {number}\n" for number in range(200_000)]
    before = "".join(lines)
    lines[100_000] = "changed\n"
    diff = diff_texts("f", before, "".join(lines))
    assert "@@ -99998,7 +99998,7 @@" in diff.text
    assert len(diff.text) < 300


@pytest.mark.clause("T9.1")
def test_a_huge_change_is_cut_at_a_whole_row_and_says_so() -> None:
    before = "".join(f"old {number}\n" for number in range(20_000))
    after = "".join(f"new {number}\n" for number in range(20_000))
    diff = diff_texts("f", before, after)
    assert len(diff.text.encode()) < MAX_CHANGED_BYTES + 500
    assert (diff.added, diff.removed) == (20_000, 20_000)
    body, said = diff.text.rstrip("\n").rsplit("\n\n", 1)
    assert said.startswith("Diff omitted: the rest")
    assert "+20000 -20000" in said
    ranges = HUNK.search(body)
    assert ranges
    assert int(ranges[2] or 1) == sum(row.startswith("-") for row in body.split("\n")[3:])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\n" * 30_000, "b\na\n" * 30_000),
        ("x\n" * 100_000, "y\n" + "x\n" * 99_999 + "z\n"),
        ("\n".join("abcdefghij"[i * i % 10] for i in range(20_000)), "\n" * 20_000),
        ("x" * 3_000_000, "y" * 3_000_000),
    ],
)
def test_hostile_texts_take_bounded_time_and_space(before: str, after: str) -> None:
    start = time.monotonic()
    diff = diff_texts("f", before, after)
    assert time.monotonic() - start < 5
    assert len(diff.text.encode()) < MAX_CHANGED_BYTES + 5_000
