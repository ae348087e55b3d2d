"""Chunks against a file: where they match, what stays, and why they don't."""

from __future__ import annotations

import pytest

from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tools.edit.apply_patch.document import UpdateFile
from rho_core.tools.edit.apply_patch.grammar import parse_patch
from rho_core.tools.edit.apply_patch.update import Update, update_text


def apply(text: str, *lines: str) -> Update:
    body = "\n".join(["*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"])
    (operation,) = parse_patch(body)
    assert isinstance(operation, UpdateFile)
    return update_text(text, operation.chunks, "f")


def refuse(text: str, *lines: str) -> str:
    with pytest.raises(ToolError) as caught:
        apply(text, *lines)
    assert caught.value.tool_kind is ToolErrorKind.EXECUTION
    assert "Nothing was changed" in caught.value.message
    return caught.value.message


@pytest.mark.clause("T12.12")
def test_chunks_apply_in_order_and_search_on_from_the_one_before() -> None:
    text = "def a\n  x\n  y\ndef b\n  x\n  y\n"
    both = ("@@ def a", "-  x", "+  1", "@@ def b", "-  x", "+  2")
    assert apply(text, *both).text == "def a\n  1\n  y\ndef b\n  2\n  y\n"
    repeated = "t\nx\nt\nx\n"
    assert apply(repeated, "@@ t", "-x", "+1", "@@ t", "-x", "+2").text == "t\n1\nt\n2\n"
    assert apply("a\nb\nc\n", "-a", "+A", "@@", "-c", "+C").text == "A\nb\nC\n"


@pytest.mark.clause("T12.12", "T12.16")
def test_chunks_out_of_order_are_refused() -> None:
    text = "one\ntwo\nthree\nfour\n"
    message = refuse(text, "@@ three", "-four", "+4", "@@ one", "-two", "+2")
    assert "out of order" in message
    assert "line 1 of f" in message
    message = refuse(text, "@@", "-three", "+3", "@@", "-one", "+1")
    assert "out of order" in message


@pytest.mark.clause("T12.12", "T12.6")
def test_context_that_is_not_there_is_named() -> None:
    message = refuse("a\n", "@@ nowhere", "-a", "+b")
    assert message.startswith("Failed to find context 'nowhere' in f")
    message = refuse("a\n", "@@ -1,1 +1,1 @@", "-a", "+b")
    assert "not a range of line numbers" in message


@pytest.mark.clause("T12.13", "T12.18")
@pytest.mark.parametrize(
    ("text", "lines", "after", "overlooked"),
    [
        ("a\nb\n", [" a", "-b", "+c"], "a\nc\n", ""),
        ("a \t\nb\n", [" a", "-b", "+c"], "a \t\nc\n", "white space at the ends"),
        ("    a\nb\n", [" a", "-b", "+c"], "    a\nc\n", "indentation"),
        (
            "say \u201chi\u201d\nb\n",
            [' say "hi"', "-b", "+c"],
            "say \u201chi\u201d\nc\n",
            "look alike",
        ),
        ("a \u2014 b\nx\n", [" a - b", "-x", "+c"], "a \u2014 b\nc\n", "look alike"),
        ("a\u00a0b\nx\n", [" a b", "-x", "+c"], "a\u00a0b\nc\n", "look alike"),
    ],
)
def test_a_tolerant_match_only_locates_and_context_stays_as_the_file_has_it(
    text: str, lines: list[str], after: str, overlooked: str
) -> None:
    update = apply(text, *lines)
    assert update.text == after
    assert bool(update.notes) == bool(overlooked)
    assert overlooked in "".join(update.notes)


@pytest.mark.clause("T12.13")
def test_a_stricter_match_further_down_wins_over_a_tolerant_one() -> None:
    assert apply("  a\nx\na\n", "-a", "+b").text == "  a\nx\nb\n"


@pytest.mark.clause("case:B9", "T12.13")
@pytest.mark.parametrize(("text", "old"), [("x=1\ny\nx=1\n", "x=1"), ("x=1\ny\nx=1\n", "x=1 ")])
def test_a_block_that_occurs_twice_is_refused_with_its_lines_on_every_path(
    text: str, old: str
) -> None:
    message = refuse(text, f"-{old}", "+x=9")
    assert "occur 2 times in f" in message
    assert "lines 1, 3" in message
    assert apply(text, "@@ y", f"-{old}", "+x=9").text == "x=1\ny\nx=9\n"


@pytest.mark.clause("T12.14")
def test_a_chunk_at_the_end_takes_the_last_place_first() -> None:
    text = "a\nb\na\nb\n"
    assert apply(text, "-a", " b", "+c", "*** End of File").text == "a\nb\nb\nc\n"
    assert apply("a\nx\ny\n", "-a", "+b", "*** End of File").text == "b\nx\ny\n"


@pytest.mark.clause("T12.15")
def test_an_empty_last_line_that_is_not_there_is_left_out() -> None:
    assert apply("a\nb\n", " a", "-b", "+c", "").text == "a\nc\n"
    assert apply("a\nb\n", "-b", "-", "+c", "+").text == "a\nc\n"
    assert apply("a\n\nb\n", "-a", "", "+c").text == "\nc\nb\n"


@pytest.mark.clause("T12.15")
def test_what_is_not_found_is_shown_with_the_nearest_lines_and_the_reason() -> None:
    message = refuse("def f():\n    return compute(items)\n", "-    return compute(item, 3)", "+x")
    assert message.startswith("Failed to find expected lines in f:\n    return compute(item, 3)\n")
    assert "2:    return compute(items)" in message
    assert "only similar" in message
    assert "nothing in the file is similar" in refuse("a\n", "-zzz yyy", "+x").lower()
    assert "The file is empty" in refuse("", "-a", "+b")


@pytest.mark.clause("T12.17", "T30.8")
def test_added_lines_alone_go_where_the_search_is() -> None:
    assert apply("a\nb\n", "+x").text == "x\na\nb\n"
    assert apply("a\nb\n", "@@ a", "+x").text == "a\nx\nb\n"
    assert apply("a\nb\n", "-a", "+A", "@@", "+x").text == "A\nx\nb\n"
    assert apply("a\nb\n", "+x", "*** End of File").text == "a\nb\nx\n"
    assert apply("", "+x", "+y").text == "x\ny\n"


@pytest.mark.clause("T12.18", "case:B1", "case:B3")
@pytest.mark.parametrize(
    ("text", "lines", "after"),
    [
        ("a\r\nb\nc\r\n", [" b", "+x"], "a\r\nb\nx\r\nc\r\n"),
        ("a\r\nb\r\nc", ["-c"], "a\r\nb\r\n"),
        ("a\r\nb\r\nc", ["-b", "-c"], "a\r\n"),
        ("a\nb", [" b", "+c"], "a\nb\nc"),
        ("a\nb", ["-b", "+c"], "a\nc"),
        ("a\rb\r", ["-a", "+x"], "x\rb\r"),
        ("a\n", ["-a"], ""),
        ("a\n\u2028b\x0bc\n", ["-a", "+x"], "x\n\u2028b\x0bc\n"),
    ],
)
def test_untouched_endings_stay_and_new_lines_get_the_files_own(
    text: str, lines: list[str], after: str
) -> None:
    assert apply(text, *lines).text == after


def test_the_changed_lines_are_known() -> None:
    text = "".join(f"{number}\n" for number in range(1, 11))
    assert apply(text, "-5", "+five", "+more").focus == (4, 5, 6)
    assert apply(text, "@@ 9", "-10").focus == (9,)
    assert apply("a\n", "-a").focus == (1,)


@pytest.mark.clause("case:B9")
def test_a_hostile_file_and_block_take_no_time() -> None:
    message = refuse("x\n" * 200_000 + "y\n", *["-x"] * 20_000, "-z", "+w")
    assert len(message) < 3_000


@pytest.mark.clause("case:B10", "case:B17")
def test_a_tolerant_match_joins_no_lines_and_quotes_are_written_as_given() -> None:
    text = "  one\n    two\n  three\n"
    assert apply(text, "-one", "-two", "+uno", "+dos").text == "uno\ndos\n  three\n"
    assert apply("d\u2019un\n", "-d\u2019un", "+d'un").text == "d'un\n"
    assert apply("a\n", "-a", "+d\u2019un \u201cmot\u201d").text == "d\u2019un \u201cmot\u201d\n"
