"""Patches as text: what they may say, what is refused and how, and halves while they stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rho_core.tools.edit.apply_patch.document import (
    AddFile,
    Chunk,
    DeleteFile,
    Row,
    RowKind,
    UpdateFile,
    named_paths,
)
from rho_core.tools.edit.apply_patch.grammar import (
    PatchError,
    parse_partial_patch,
    parse_patch,
)
from tests.tools.file_content import property_settings

BODY = """\
*** Add File: new file.txt
+one
+
++two
*** Delete File: old.txt
*** Update File: a.py
*** Move to: b.py
@@ def f():
 keep
-gone

+come
@@
-x
*** End of File
*** Add File: empty
"""


def wrapped(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch"


def rows(*lines: str) -> tuple[Row, ...]:
    return tuple(Row(RowKind(line[0]), line[1:]) for line in lines)


WHOLE = (
    AddFile("new file.txt", "one\n\n+two\n"),
    DeleteFile("old.txt"),
    UpdateFile(
        "a.py",
        (
            Chunk(9, "def f():", rows(" keep", "-gone", " ", "+come")),
            Chunk(14, None, rows("-x"), at_end=True),
        ),
        "b.py",
    ),
    AddFile("empty", ""),
)


@pytest.mark.clause("T12.2", "T12.3", "T12.4", "T12.5")
@pytest.mark.parametrize(
    "text",
    [
        wrapped(BODY),
        f"\n  {wrapped(BODY)}\n \n",
        wrapped(BODY).replace("\n", "\r\n"),
        wrapped(BODY.replace("*** Add", "  *** Add").replace("new file.txt", "new file.txt  ")),
    ],
)
def test_every_operation_is_read(text: str) -> None:
    assert parse_patch(text) == WHOLE


@pytest.mark.clause("T12.5")
def test_a_line_of_blanks_keeps_all_but_its_first_one() -> None:
    (update,) = parse_patch(wrapped("*** Update File: f\n   \n-x\n \t\n"))
    assert isinstance(update, UpdateFile)
    assert update.chunks == (Chunk(3, None, rows("   ", "-x", " \t")),)


@pytest.mark.clause("T12.27")
def test_a_header_after_one_space_is_a_line_of_context() -> None:
    (update,) = parse_patch(wrapped("*** Update File: f\n *** Add File: g\n+x\n *** End Patch\n"))
    assert isinstance(update, UpdateFile)
    assert update.chunks[0].old == ("*** Add File: g", "*** End Patch")


@pytest.mark.clause("T12.6")
def test_a_range_of_git_is_context_like_any_other() -> None:
    (update,) = parse_patch(wrapped("*** Update File: f\n@@ -1,2 +1,2 @@\n-x\n"))
    assert isinstance(update, UpdateFile)
    assert update.chunks[0].context == "-1,2 +1,2 @@"


@pytest.mark.clause("T12.1", "T12.2", "T12.3", "T12.4", "T12.5")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "invalid patch: the first line"),
        ("*** Add File: f\n+x", "invalid patch: the first line"),
        ("*** Begin Patch\n*** Delete File: f", "invalid patch: the last line"),
        (wrapped("*** Delete File: f\n") + "\nmore", "invalid patch: the last line"),
        ("*** Begin Patch\n*** End Patch", "no file operation"),
        ("*** Begin Patch", "invalid patch: the last line"),
        (wrapped("--- a/f\n"), "invalid hunk at line 2, '--- a/f' is no file header"),
        (wrapped("*** Rename File: f\n"), "'*** Add File: path'"),
        (wrapped("*** Delete File:\n"), "names no path"),
        (wrapped("*** Add File: f\n+x\ny\n"), "invalid hunk at line 4, 'y' must begin with +"),
        (wrapped("*** Add File: f\n+x\n\n+y\n"), "invalid hunk at line 4"),
        (
            wrapped("*** Update File: f\n"),
            "invalid hunk at line 2, the update hunk for 'f' is empty",
        ),
        (wrapped("*** Update File: f\n*** Move to: g\n"), "is empty"),
        (wrapped("*** Update File: f\n@@ x\n@@ y\n-z\n"), "at line 3, the update hunk for 'f'"),
        (wrapped("*** Update File: f\n@@\n-x\ny\n"), "invalid hunk at line 5, 'y' must begin"),
        (wrapped("*** Update File: f\n*** Move to:\n-x\n"), "names no path"),
        (wrapped("*** Delete File: f\n*** End Patch\n*** Delete File: g\n"), "is no file header"),
    ],
)
def test_a_patch_that_is_wrong_is_refused_with_the_line_and_the_reason(
    text: str, said: str
) -> None:
    with pytest.raises(PatchError) as caught:
        parse_patch(text)
    message = str(caught.value)
    assert said in message
    assert message.startswith(("invalid patch: ", "invalid hunk at line "))


@pytest.mark.clause("T12.27")
def test_halves_of_a_patch_give_their_complete_lines() -> None:
    text = wrapped(BODY)
    assert parse_partial_patch("") == ()
    assert parse_partial_patch("*** Begin Patch\n*** Add Fi") == ()
    assert parse_partial_patch("*** Begin Patch\n*** Add File: f\n+one\n+tw") == (
        AddFile("f", "one\n"),
    )
    moved = parse_partial_patch(text[: text.index("-gone")])
    assert moved[2] == UpdateFile("a.py", (Chunk(9, "def f():", rows(" keep")),), "b.py")
    assert parse_partial_patch(text) == WHOLE
    assert parse_partial_patch("*** Begin Patch\nnonsense\n*** Delete File: f\nx\n") == (
        DeleteFile("f"),
    )


@pytest.mark.clause("T12.26")
def test_paths_come_in_order_and_moves_have_two() -> None:
    paths = [path for operation in WHOLE for path in named_paths(operation)]
    assert paths == ["new file.txt", "old.txt", "a.py", "b.py", "empty"]


FRAGMENTS = st.sampled_from(
    [
        "*** Add File: f\n",
        "*** Delete File: g\n",
        "*** Update File: h\n",
        "*** Move to: i\n",
        "*** End of File\n",
        "*** End Patch\n",
        "@@\n",
        "@@ ctx\n",
        "+a\n",
        "-b\n",
        " c\n",
        "\n",
        "d\r\n",
    ]
)


@property_settings
@given(st.lists(FRAGMENTS, max_size=10).map("".join))
@pytest.mark.clause("T12.1", "T12.27")
def test_any_text_is_read_or_refused_and_every_prefix_can_be_previewed(body: str) -> None:
    text = wrapped(body)
    try:
        operations = parse_patch(text)
    except PatchError:
        pass
    else:
        assert operations
        assert parse_partial_patch(text) == operations
    for end in range(0, len(text), 9):
        parse_partial_patch(text[:end])
