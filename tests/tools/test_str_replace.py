"""`str_replace`: what it changes, what it keeps, and why it refuses."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.authority.capabilities import ReadPath, WritePath
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tooling.resources import AccessMode, WorkspacePath
from rho_core.tooling.values import ToolOperation
from rho_core.tools.edit.matching import normalize_newlines, replace_text
from tests.tools.file_harness import FileSession


@pytest.fixture
def session(tmp_path: Path) -> FileSession:
    return FileSession(tmp_path)


async def edit(session: FileSession, old: str, new: str, **more: Any) -> bytes:
    """Edit f.txt and return its bytes."""
    await session.run("str_replace", path="f.txt", old_string=old, new_string=new, **more)
    return (session.root / "f.txt").read_bytes()


async def refuse(session: FileSession, old: str, new: str, **more: Any) -> ToolError:
    """An edit of f.txt that must fail and leave every byte."""
    before = (session.root / "f.txt").read_bytes()
    error = await session.fail("str_replace", path="f.txt", old_string=old, new_string=new, **more)
    assert (session.root / "f.txt").read_bytes() == before
    return error


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        pytest.param(b"one\r\ntwo\r\n", "one", "ONE", b"ONE\r\ntwo\r\n", id="B1"),
        pytest.param(b"a\r\nb\r\n", "a\nb", "a\nX\nb", b"a\r\nX\r\nb\r\n", id="B3"),
        pytest.param(b"a\r\nb\r\n", "a\r\nb", "a\r\nX\r\nb", b"a\r\nX\r\nb\r\n", id="B3-crlf"),
        pytest.param(b"a\rb\rc\r", "b\n", "x\ny\n", b"a\rx\ry\rc\r", id="classic-mac"),
        pytest.param(
            b"one\r\ntwo\nthree\r\n",
            "two",
            "2\n2b",
            b"one\r\n2\n2b\nthree\r\n",
            id="mixed-follows-the-line",
        ),
        pytest.param(
            b"a\r\nb\nc\r\nd\n",
            "a\nb\nc\nd",
            "a\nb\nC\nd",
            b"a\r\nb\nC\r\nd\n",
            id="mixed-inside-the-match-is-kept",
        ),
        pytest.param(b"\xef\xbb\xbfsalut\n", "salut", "salut!", b"\xef\xbb\xbfsalut!\n", id="B4"),
        pytest.param(
            b"\xef\xbb\xbfa\nb\n", "\ufeffa\nb", "c", b"\xef\xbb\xbfc\n", id="B4-mark-in-old-text"
        ),
        pytest.param(b"salut\n", "salut", "salut!", b"salut!\n", id="B4-plain"),
        pytest.param(b"a\nb", "b", "c", b"a\nc", id="no-final-newline"),
        pytest.param(b"a\nb\n", "b\n", "", b"a\n", id="delete-a-line"),
        pytest.param("d\u2019un\n".encode(), "\u2019", "'", b"d'un\n", id="B17"),
        pytest.param(
            b"x\xe2\x80\xa8y\x0bz\x0c\n", "y", "Y", b"x\xe2\x80\xa8Y\x0bz\x0c\n", id="ls-vt-ff"
        ),
        pytest.param(
            codecs.BOM_UTF16_LE + "a\né\n".encode("utf-16-le"),
            "a",
            "ü😀",
            codecs.BOM_UTF16_LE + "ü😀\né\n".encode("utf-16-le"),
            id="B6-utf16le",
        ),
        pytest.param(
            codecs.BOM_UTF16_BE + "a\r\nb\r\n".encode("utf-16-be"),
            "a\nb",
            "a\nX\nb",
            codecs.BOM_UTF16_BE + "a\r\nX\r\nb\r\n".encode("utf-16-be"),
            id="B6-utf16be",
        ),
    ],
)
@pytest.mark.clause("case:B1", "case:B3", "case:B4", "case:B6", "case:B17", "T11.4", "T11.6")
async def test_exactly_the_named_text_changes(
    session: FileSession, before: bytes, old: str, new: str, after: bytes
) -> None:
    session.put("f.txt", before)
    assert await edit(session, old, new) == after


@pytest.mark.parametrize(
    "data", [b"a = 1\n# na\xefve\n", "a = 1 日本\n".encode("shift-jis"), b"\xff\xfea", b"a = 1\0"]
)
@pytest.mark.clause("case:B5", "case:B6", "T11.7")
async def test_what_cannot_be_decoded_is_refused_and_left(
    session: FileSession, data: bytes
) -> None:
    session.put("f.txt", data)
    error = await refuse(session, "a = 1", "a = 2é")
    assert error.tool_kind is ToolErrorKind.EXECUTION
    assert error.message.startswith("could not read f.txt")
    assert "left as it is" in error.message


@pytest.mark.parametrize("more", [{}, {"replace_all": True}])
@pytest.mark.clause("case:B7", "case:B8", "T11.2")
async def test_an_empty_old_text_is_refused_and_names_write(
    session: FileSession, more: dict[str, bool]
) -> None:
    session.put("f.txt", "abc")
    error = await refuse(session, "", "X", **more)
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert "write" in error.message


@pytest.mark.parametrize(("old", "new"), [("a", "a"), ("a\r\nb", "a\nb")])
@pytest.mark.clause("T11.2")
async def test_equal_texts_are_refused_before_any_file_is_looked_at(
    session: FileSession, old: str, new: str
) -> None:
    error = await session.fail("str_replace", path="nowhere", old_string=old, new_string=new)
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS


@pytest.mark.clause("case:B9", "T11.5")
async def test_several_matches_are_refused_with_their_lines(session: FileSession) -> None:
    session.put("f.txt", "x=1\ny=2\nx=1\n")
    error = await refuse(session, "x=1", "x=9")
    assert "ambiguous match: found 2 occurrence(s)" in error.message
    assert "lines 1, 3" in error.message
    session.put("f.txt", "\n}\n}\n")
    error = await refuse(session, "\n}\n", "\n")
    assert "ambiguous match: found 2 occurrence(s)" in error.message
    session.put("f.txt", "x=1\ny=2\nx=1\n")
    error = await refuse(session, "x=1 ", "x=9")
    assert "missing match: found 0 occurrence(s)" in error.message
    assert "line 1, line 3" in error.message


@pytest.mark.clause("T11.5", "T11.8")
async def test_replace_all_replaces_each_and_counts(session: FileSession) -> None:
    session.put("f.txt", "aaa\r\nxax\r\n")
    output = await session.run(
        "str_replace", path="f.txt", old_string="a", new_string="b\n", replace_all=True
    )
    assert output.content.startswith("edited f.txt; replaced 4 occurrence(s)\n\nf.txt\n1:b\n")
    assert (session.root / "f.txt").read_bytes() == b"b\r\nb\r\nb\r\n\r\nxb\r\nx\r\n"
    error = await refuse(session, "nothing", "b", replace_all=True)
    assert "found 0 occurrence(s)" in error.message


@pytest.mark.clause("case:B10", "T11.10")
async def test_different_indentation_locates_but_never_matches(session: FileSession) -> None:
    session.put("f.txt", "  one\n    two\n  three\n")
    error = await refuse(session, "one\ntwo", "uno\ndos")
    assert "lines 1-2" in error.message
    assert "indentation" in error.message
    assert "1:  one\n2:    two" in error.message


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        ("def F(x):\n", "def f(x):", "upper and lower case"),
        ("say \u201chi\u201d\n", 'say "hi"', "look alike"),
        ("a  =   1\n", "a = 1", "white space"),
        ("a = 1  \nb\n", "a = 1\nb", "white space at the ends of lines"),
        ("alpha\nbeta\n", "1:alpha\n2:beta", "row numbers"),
        ("a\nb\n", "a\\nb", "escapes"),
        ("a\nb", "b\n\n", "line breaks at the ends"),
        ("", "a", "The file is empty"),
        ("a\n", "\n   \n", "only white space"),
        ("total = compute(items)\n", "total = compute(item, 3)", "only similar"),
        ("zzz\n", "completely different", "Nothing in the file is similar"),
    ],
)
@pytest.mark.clause("T11.5")
async def test_a_failed_edit_says_what_was_nearest_and_why(
    session: FileSession, text: str, old: str, said: str
) -> None:
    session.put("f.txt", text)
    error = await refuse(session, old, "new")
    assert "missing match: found 0 occurrence(s)" in error.message
    assert said in error.message


async def test_a_failed_edit_is_quick_and_short_on_a_hostile_file(session: FileSession) -> None:
    session.put("f.txt", "ab cd\n" * 300_000 + "x" * 1_000_000)
    error = await refuse(session, "ab ce\nab cd\n" * 200, "new")
    assert len(error.message) < 10_000


@pytest.mark.clause("T11.3", "T2.11")
async def test_the_plan_shows_the_diff_and_asks_to_write_and_read(session: FileSession) -> None:
    path = session.put("f.txt", "a\nb\nc\n")
    plan = await session.prepare("str_replace", path="f.txt", old_string="b", new_string="B\nB2")
    assert [type(request.operation) for request in plan.capabilities] == [WritePath, ReadPath]
    (access,) = plan.accesses
    assert (access.resource, access.mode) == (WorkspacePath(path), AccessMode.EXCLUSIVE)
    assert plan.metadata.operation is ToolOperation.WRITE
    assert plan.metadata.diff == (
        "--- a/f.txt\n+++ b/f.txt\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n"
    )
    assert dict(plan.metadata.details) == {"added": 2, "removed": 1, "lines": 4, "created": False}
    assert path.read_bytes() == b"a\nb\nc\n"
    output = await session.execute(plan)
    assert output.metadata.diff == plan.metadata.diff
    assert output.metadata.details["start_line"] == 2
    assert output.metadata.details["end_line"] == 3
    assert "@@" not in output.content


async def test_an_edit_that_cannot_apply_asks_only_to_read_and_tells_nothing_before(
    session: FileSession,
) -> None:
    session.put("f.txt", "secret line\n")
    plan = await session.prepare(
        "str_replace", path="f.txt", old_string="secret lime", new_string="x"
    )
    assert [type(request.operation) for request in plan.capabilities] == [ReadPath]
    assert plan.metadata.diff is None
    with pytest.raises(ToolError, match="secret line"):
        await session.execute(plan)


@pytest.mark.clause("T11.8")
async def test_a_long_file_is_shown_around_the_edit(session: FileSession) -> None:
    session.put("f.txt", "".join(f"l{n}\n" for n in range(1, 101)))
    output = await session.run("str_replace", path="f.txt", old_string="l50\n", new_string="L\n")
    assert "\n48:l48\n49:l49\n50:L\n51:l51\n52:l52\n\n[5 of 100 lines shown" in output.content


@pytest.mark.clause("T11.7")
async def test_a_missing_file_is_not_created(session: FileSession) -> None:
    error = await session.fail("str_replace", path="new.txt", old_string="a", new_string="b")
    assert error.message.startswith("could not open new.txt")
    assert list(session.root.iterdir()) == []


@pytest.mark.clause("case:B13", "T11.9")
async def test_a_link_keeps_pointing_and_its_target_changes(session: FileSession) -> None:
    session.put("target.txt", "old\n")
    (session.root / "ln.txt").symlink_to("target.txt")
    (session.root / "ln2.txt").symlink_to("ln.txt")
    await session.run("str_replace", path="ln2.txt", old_string="old", new_string="new")
    assert (session.root / "ln2.txt").readlink() == Path("ln.txt")
    assert (session.root / "ln.txt").readlink() == Path("target.txt")
    assert (session.root / "target.txt").read_text() == "new\n"
    (session.root / "a").symlink_to("b")
    (session.root / "b").symlink_to("a")
    error = await session.fail("str_replace", path="a", old_string="old", new_string="new")
    assert error.tool_kind is ToolErrorKind.EXECUTION


LINE = st.text(alphabet="ab é\u2028😀\ufeff", max_size=4)
BODY = st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n", "\r"])), max_size=8).map(
    lambda rows: "".join(line + end for line, end in rows)
)


@settings(max_examples=100)
@given(BODY, LINE, st.data())
@pytest.mark.clause("T11.4")
def test_everything_outside_the_edit_stays_for_any_mix_of_line_endings(
    body: str, last: str, data: st.DataObject
) -> None:
    text = body + last
    normal = normalize_newlines(text)
    if not normal:
        return
    start = data.draw(st.integers(0, len(normal) - 1))
    end = data.draw(st.integers(start + 1, len(normal)))
    old = normal[start:end]
    new = data.draw(BODY | LINE)
    if normalize_newlines(new) == old or normal.count(old) != 1:
        return
    if len([at for at in range(len(normal)) if normal.startswith(old, at)]) != 1:
        return
    result = replace_text(text, old, new, replace_all=False, shown="f")
    assert result.count == 1
    expected = normal[:start] + normalize_newlines(new) + normal[end:]
    # a lone CR before and a lone LF after the edit may meet; as endings they are then one
    if not (text.count("\r") and text.count("\n")):
        assert normalize_newlines(result.text) == expected
    before = len(text) - len(_tail(text, normal, start))
    assert result.text.startswith(text[:before])
    assert result.text.endswith(_tail(text, normal, end))


def _tail(text: str, normal: str, position: int) -> str:
    """The part of the original text from a position of the normalised text on."""
    for at in range(len(text) + 1):
        if text[at - 1 : at + 1] == "\r\n":
            continue
        if len(normalize_newlines(text[:at])) == position:
            return text[at:]
    raise AssertionError(position)


@settings(max_examples=60)
@given(st.binary(max_size=30), st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]))
async def test_random_bytes_around_an_edit_survive_or_the_file_is_untouched(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, mark: bytes
) -> None:
    session = FileSession(tmp_path_factory.mktemp("w"))
    codec = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(mark, "utf-8")
    needle, other = "needle".encode(codec), "é\n".encode(codec)
    before = mark + noise + needle + noise
    path = session.put("f.txt", before)
    try:
        await session.run("str_replace", path="f.txt", old_string="needle", new_string="é\n")
    except ToolError:
        assert path.read_bytes() == before
    else:
        after = path.read_bytes()
        assert after.startswith(mark + noise)
        assert after.endswith(noise)
        middle = after[len(mark + noise) : len(after) - len(noise)]
        assert middle.decode(codec).replace("\r\n", "\n").replace("\r", "\n") == other.decode(codec)
