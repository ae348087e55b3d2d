"""Operations on lines: order, overlaps, endings, and carrying them over an edit in between."""

from __future__ import annotations

import pytest

from rho_core.tools.edit.hashline.apply import EditRefused, apply_operations, rebase
from rho_core.tools.edit.hashline.document import Operation
from rho_core.tools.edit.hashline.grammar import parse_document


def edit(text: str, *lines: str) -> str:
    return apply_operations(text, operations(*lines)).text


def operations(*lines: str) -> tuple[Operation, ...]:
    return parse_document("\n".join(["[f#0000]", *lines]))[0].operations


FIVE = "1\n2\n3\n4\n5\n"


@pytest.mark.clause("T10.13", "T10.15")
def test_all_numbers_are_those_of_the_original() -> None:
    assert edit(FIVE, "CUT 1", "PUT >3:", "+x", "+y", "PUT 4.=5:", "+z") == "2\n3\nx\ny\nz\n"


@pytest.mark.clause("T10.15")
def test_inserts_at_one_line_keep_their_order_and_their_sides() -> None:
    result = edit(
        FIVE, "PUT >2:", "+c", "PUT <2:", "+a", "PUT 2:", "+B", "PUT <2:", "+b", "PUT >2:", "+d"
    )
    assert result == "1\na\nb\nB\nc\nd\n3\n4\n5\n"
    assert edit("1\n", "PUT >$:", "+y", "PUT >1:", "+x", "PUT >$:", "+z") == "1\nx\ny\nz\n"


@pytest.mark.clause("T10.14")
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["PUT 1.=3:", "+x", "CUT 3.=4"], "overlapping"),
        (["PUT 2:", "+x", "PUT 2:", "+y"], "overlapping"),
        (["CUT 1.=5", "CUT 3"], "overlapping"),
        (["CUT 2.=4", "PUT <3:", "+x"], "falls inside"),
        (["CUT 2.=4", "PUT >2:", "+x"], "falls inside"),
        (["CUT 2.=4", "PUT >4:", "+x"], "falls inside"),
        (["PUT 2.=4:", "+a", "PUT <4:", "+x"], "falls inside"),
    ],
)
def test_what_contradicts_itself_is_refused(lines: list[str], said: str) -> None:
    with pytest.raises(EditRefused, match=said):
        edit(FIVE, *lines)


@pytest.mark.clause("T10.14", "T10.17")
def test_inserts_at_the_edges_of_a_span_are_legal_and_shown() -> None:
    applied = apply_operations(FIVE, operations("CUT 2.=4", "PUT <2:", "+x", "PUT <5:", "+y"))
    assert applied.text == "1\nx\ny\n5\n"
    assert applied.focus == (2, 3)
    assert edit(FIVE, "CUT 3", "PUT <3:", "+x", "PUT >3:", "+y") == "1\n2\nx\ny\n4\n5\n"


@pytest.mark.clause("T10.17")
def test_the_lines_around_a_gap_are_shown() -> None:
    assert apply_operations(FIVE, operations("CUT 3")).focus == (2, 3)
    assert apply_operations(FIVE, operations("CUT 5")).focus == (4,)
    assert apply_operations(FIVE, operations("CUT 1.=5")).focus == (1,)


@pytest.mark.clause("T10.13")
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (FIVE, "CUT 6", "CUT 6 is out of range: the file has 5 line"),
        (FIVE, "CUT 3.=9", "CUT 3.=9 is out of range"),
        (FIVE, "PUT <6:\n+x", "out of range"),
        (FIVE, "PUT >6:\n+x", "out of range"),
        ("", "CUT 1", "the file is empty"),
        ("", "PUT 1:\n+x", "the file is empty"),
        ("", "PUT >1:\n+x", "the file is empty"),
        ("", "PUT <2:\n+x", "the file is empty"),
    ],
)
def test_lines_that_are_not_there_are_refused(text: str, line: str, said: str) -> None:
    with pytest.raises(EditRefused, match=said):
        edit(text, line)


@pytest.mark.clause("T10.13", "T10.16")
def test_an_empty_file_can_be_filled() -> None:
    assert edit("", "PUT >$:", "+b", "PUT <1:", "+a") == "a\nb\n"
    assert edit(FIVE, "CUT 1.=5") == ""


@pytest.mark.clause("T10.16", "case:B1", "case:B3")
@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        ("a\r\nb\r\n", ["PUT 2:", "+B", "+C"], "a\r\nB\r\nC\r\n"),
        ("a\r\nb\nc\r\n", ["PUT 2:", "+B"], "a\r\nB\nc\r\n"),
        ("a\r\nb\nc\r\n", ["PUT >2:", "+x"], "a\r\nb\nx\r\nc\r\n"),
        ("a\nb", ["PUT 2:", "+B"], "a\nB"),
        ("a\nb", ["PUT >$:", "+c"], "a\nb\nc"),
        ("a\nb", ["CUT 2"], "a\n"),
        ("a\r\nb", ["CUT 1"], "b"),
        ("a\rb\r", ["PUT <1:", "+x"], "x\ra\rb\r"),
        ("a\rb\rc\rd\n", ["PUT >1:", "+x"], "a\rb\rc\rd\nx\n"),
        ("a\n\n", ["CUT 2"], "a\n"),
    ],
)
def test_untouched_lines_keep_their_endings_and_new_ones_get_fitting_ones(
    before: str, lines: list[str], after: str
) -> None:
    assert edit(before, *lines) == after


@pytest.mark.clause("T10.27")
def test_a_span_of_forty_lines_is_structural() -> None:
    text = "x\n" * 80
    assert not apply_operations(text, operations("CUT 1.=39")).is_structural
    assert apply_operations(text, operations("CUT 1.=40")).is_structural
    assert not apply_operations(text, operations("CUT 1.=39", "CUT 40.=70")).is_structural


@pytest.mark.clause("case:B18")
@pytest.mark.parametrize(
    ("current", "lines", "after"),
    [
        ("0\n1\n2\n3\n4\n5\n", ["PUT 4:", "+four"], "0\n1\n2\n3\nfour\n5\n"),
        ("1\n3\n4\n5\n", ["CUT 3.=4"], "1\n5\n"),
        ("1\nx\ny\n3\n4\n5\n", ["PUT <1:", "+a", "PUT >3:", "+b"], "a\n1\nx\ny\n3\nb\n4\n5\n"),
        ("1\n2\n3\n4\nfive\n", ["CUT 1", "PUT >$:", "+6"], "2\n3\n4\nfive\n6\n"),
    ],
)
def test_numbers_are_carried_over_an_edit_in_between(
    current: str, lines: list[str], after: str
) -> None:
    moved = rebase(operations(*lines), FIVE, current)
    assert apply_operations(current, moved).text == after


@pytest.mark.clause("case:B18")
@pytest.mark.parametrize(
    ("current", "line"),
    [
        ("1\nx\n3\n4\n5\n", "PUT 2:\n+y"),
        ("1\n2\nx\n3\n4\n5\n", "CUT 2.=3"),
        ("1\n2\nx\n4\n5\n", "CUT 2.=4"),
        ("1\n2\n3\n", "PUT >4:\n+x"),
    ],
)
def test_an_edit_of_lines_that_changed_in_between_is_refused(current: str, line: str) -> None:
    with pytest.raises(EditRefused, match="changed by an edit before it"):
        rebase(operations(line), FIVE, current)
