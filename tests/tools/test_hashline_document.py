"""Edit documents: what they may say, what is refused and how, and what previews make of halves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rho_core.tools.edit.hashline.document import (
    Append,
    Delete,
    InsertAfter,
    InsertBefore,
    Replace,
    Section,
    summary,
)
from rho_core.tools.edit.hashline.grammar import (
    DocumentError,
    parse_document,
    parse_leniently,
)
from rho_core.tools.files.view_header import file_tag, tagged_header
from tests.tools.file_content import property_settings

CORE = """\
[a b.py#1a2b]
PUT 2.=3:
+two
+
PUT 7:
+seven
PUT <1:
+zero
PUT >9:
+ten
CUT 4
CUT 5.=6
PUT >$:
+end
"""


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("", "9DC5"),
        ("\n", "6CDD"),
        ("hello", "2CAB"),
        ("hello\n", "4173"),
        ("hello  \r\n", "4173"),
        ("hello\t\n", "4173"),
        ("original line\n", "8022"),
        ("hit\nhit\nhit\n", "3418"),
        ("alpha\nbeta\ngamma\n", "D8BC"),
        ("alpha\nBETA\ngamma\n", "9D7C"),
        ("é\n", "7791"),
        ("\ufeffa\n", "453B"),
        ("a\n\n", "0608"),
        ("".join(f"line-{number}\n" for number in range(1, 81)), "6C59"),
    ],
)
@pytest.mark.clause("T3.10", "T3.11")
def test_the_tag_of_a_file(text: str, tag: str) -> None:
    assert file_tag(text) == tag
    assert tagged_header("a.py", text) == f"[a.py#{tag}]"


@pytest.mark.clause("T10.6", "T10.7", "T10.8", "T10.9")
def test_every_operation_is_read() -> None:
    assert parse_document(CORE) == (
        Section(
            "a b.py",
            "1A2B",
            (
                Replace(2, 3, ("two", "")),
                Replace(7, 7, ("seven",)),
                InsertBefore(1, ("zero",)),
                InsertAfter(9, ("ten",)),
                Delete(4, 4),
                Delete(5, 6),
                Append(("end",)),
            ),
        ),
    )


@pytest.mark.clause("T10.6", "T10.8")
@pytest.mark.parametrize(
    "text",
    [
        "\ufeff[f#0001]\r\nput 1-2:\r\n+x\r\ncut 3-3\r\n",
        "  [ f # 0001 ]  \n\n  PUT 1..2:  \n+x\n CUT  3 .. 3 \n\n",
        "[f#0001]\nPut  1 .= 2 :\n+x\nCut 3\n",
    ],
)
def test_case_blanks_and_other_range_marks_are_tolerated(text: str) -> None:
    assert parse_document(text) == (Section("f", "0001", (Replace(1, 2, ("x",)), Delete(3, 3))),)


@pytest.mark.clause("T10.7")
def test_a_path_may_hold_a_hash_sign_and_brackets() -> None:
    (section,) = parse_document("[a#b/[id].ts#00ff]\nCUT 1")
    assert (section.path, section.tag) == ("a#b/[id].ts", "00FF")


@pytest.mark.clause("T10.9")
def test_rows_keep_their_blanks_and_lose_only_a_final_carriage_return() -> None:
    (section,) = parse_document("[f#0000]\nPUT 1:\r\n+  a \t \r\n+\r\n+b\r\r\n++c\nCUT 2")
    assert section.operations == (Replace(1, 1, ("  a \t ", "", "b\r", "+c")), Delete(2, 2))


@pytest.mark.clause("T10.10")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("PUT 1:\n+x", "before any header"),
        ("CUT 1", "before any header"),
        ("[f#0000]\nCUT 1\nhello", "'hello' is neither a header"),
        ("[f#0000]\n+x", "below a PUT line"),
        ("[f#0000]", "no operations"),
        ("[f#0000]\n[g#0000]\nCUT 1", "the section of 'f' has no operations"),
        ("", "no section"),
        ("  \n\ufeff\n", "no section"),
        ("[f]\nCUT 1", "has no tag"),
        ("[#0000]\nCUT 1", "names no path"),
        ("[f#12]\nCUT 1", "4 hexadecimal digits"),
        ("[f#00000]\nCUT 1", "4 hexadecimal digits"),
        ("[f#0000]\nPUT 1\n+x", "final colon"),
        ("[f#0000]\nPUT 1:\n", "use CUT to delete"),
        ("[f#0000]\nPUT 1.=2:\nCUT 5", "use CUT to delete"),
        ("[f#0000]\nPUT *3:\n+x", "block ops"),
        ("[f#0000]\nPUT @a:\n+x", "registers"),
        ("[f#0000]\nCUT 1 @a", "registers"),
        ("[f#0000]\nCUT", "names no lines"),
        ("[f#0000]\nCUT 3:", "without a colon"),
        ("[f#0000]\nCUT 0", "not a line number"),
        ("[f#0000]\nPUT x:\n+x", "not a line number"),
        ("[f#0000]\nPUT <$:\n+x", "not a line number"),
        ("[f#0000]\nPUT -3:\n+x", "incomplete"),
        ("[f#0000]\nCUT 1.5", "not a line number"),
        ("[f#0000]\nCUT ٣", "not a line number"),
        ("[f#0000]\nCUT 99999999999999999999", "not a line number"),
        ("[f#0000]\nPUT 5.=3:\n+x", "ends before it starts"),
        ("[f#0000]\nPUTS 3:\n+x", "neither a header"),
        ("[f#0000\nCUT 1", "does not end with ]"),
    ],
)
def test_a_document_that_is_wrong_is_refused_with_the_line_and_the_reason(
    text: str, said: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_document(text)
    assert said in str(caught.value)


@pytest.mark.clause("T10.10")
def test_half_written_ranges_are_explained() -> None:
    for line in ("PUT 3.:\n+x", "PUT 3.\n+x", "CUT 3."):
        with pytest.raises(DocumentError) as caught:
            parse_document(f"[f#0000]\n{line}")
        message = str(caught.value)
        assert "line 2: " in message
        assert "truncated" in message
        assert "'3.'" in message
        assert "positive integer" not in message
        assert ("PUT 3:" in message) == line.startswith("PUT")
    for token in ("3.=", ".=5", "3-", "..5"):
        with pytest.raises(DocumentError) as caught:
            parse_document(f"[f#0000]\nPUT {token}:\n+x")
        assert "incomplete" in str(caught.value)
        assert f"'{token}'" in str(caught.value)


@pytest.mark.clause("T10.11")
def test_an_incomplete_document_gives_what_is_there() -> None:
    assert parse_leniently("") == ()
    assert parse_leniently("[f#00") == ()
    assert parse_leniently("[f#0000]\nPU") == (Section("f", "0000", ()),)
    assert parse_leniently("[f#0000]\nnonsense\nCUT 2\nPUT 3:\n") == (
        Section("f", "0000", (Delete(2, 2),)),
    )
    assert parse_leniently("[f#0000]\nPUT 3:\n+ha") == (
        Section("f", "0000", (Replace(3, 3, ("ha",)),)),
    )


@property_settings
@given(st.text(alphabet="PUTCUT[]#0123456789.=<>$:+-*@ \n\rfé", max_size=60))
@pytest.mark.clause("T10.10", "T10.11")
def test_any_text_is_read_or_refused_and_every_prefix_can_be_previewed(text: str) -> None:
    try:
        sections = parse_document(text)
    except DocumentError:
        pass
    else:
        assert sections
        assert parse_leniently(text) == sections
    for end in range(0, len(text), 7):
        parse_leniently(text[:end])


@pytest.mark.clause("T10.25")
def test_operations_are_summed_up() -> None:
    (section,) = parse_document(CORE)
    assert [summary(operation) for operation in section.operations] == [
        "PUT 2.=3: (2 → 2 line(s))",
        "PUT 7: (1 → 1 line(s))",
        "PUT <1: (+1 line(s))",
        "PUT >9: (+1 line(s))",
        "CUT 4 (1 line)",
        "CUT 5.=6 (2 lines)",
        "PUT >$: (+1 line(s))",
    ]
