"""Single clauses about files that no other test is about."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path

import pytest

from rho_core.errors import ToolErrorKind
from rho_core.tools.documents.formats import document_format
from rho_core.tools.documents.text_budget import DocumentText
from rho_core.tools.read_file import ReadFileTool
from rho_core.tools.search.glob import GlobTool
from tests.tools.file_harness import FileSession
from tests.tools.tool_calls import ToolCalls


@pytest.fixture
def session(tmp_path: Path) -> FileSession:
    return FileSession(tmp_path)


@pytest.mark.clause("T2.4")
async def test_a_required_text_may_be_empty(session: FileSession) -> None:
    await session.run("write", path="a.txt", content="")
    assert (session.root / "a.txt").read_bytes() == b""
    session.put("b.txt", "one two\n")
    await session.run("str_replace", path="b.txt", old_string=" two", new_string="")
    assert (session.root / "b.txt").read_text() == "one\n"


@pytest.mark.clause("T2.29")
@pytest.mark.skipif(sys.platform == "win32", reason="the names have another meaning there")
async def test_backslash_and_colon_are_characters_of_a_name(session: FileSession) -> None:
    name = "a\\b:c.txt"
    await session.run("write", path=name, content="x\n")
    assert os.listdir(session.root) == [name]  # noqa: PTH208 - the bare names are the point
    assert (await session.run("read_file", path=name)).content.endswith("\n1:x")


@pytest.mark.clause("T5.5")
@pytest.mark.parametrize("window", [{}, {"offset": 1}])
async def test_text_that_holds_nul_is_binary(session: FileSession, window: dict[str, int]) -> None:
    session.put("a.txt", b"one\0two\n")
    error = await session.fail("read_file", path="a.txt", **window)
    assert error.tool_kind is ToolErrorKind.EXECUTION
    assert "is binary" in error.message


@pytest.mark.clause("T6.5")
async def test_an_image_is_a_copy_of_the_moment(session: FileSession) -> None:
    data = b"GIF89a\x02\0\x03\0\0\0\0,\0;"  # complete by its structure: size, a block, the end
    path = session.put("a.gif", data)
    output = await session.run("read_file", path="a.gif")
    path.write_bytes(b"other")
    (image,) = output.images
    assert base64.b64decode(image.data) == data


@pytest.mark.clause("T7.4")
def test_the_mark_is_no_part_of_a_documents_text() -> None:
    target = DocumentText()
    target.add("\ufeffone\n")
    target.add("two \ufeff\n")
    assert target.text() == "one\ntwo \ufeff"


@pytest.mark.clause("T7.10")
@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        ("a.zip", b"PK\x03\x04"),
        ("a.tar.gz", b"\x1f\x8b\x08\0"),
    ],
)
async def test_archives_and_old_word_files_are_refused_as_binary(
    session: FileSession, name: str, head: bytes
) -> None:
    session.put(name, head + b"\0" * 600)
    assert document_format(head, name) is None
    error = await session.fail("read_file", path=name)
    assert "is binary" in error.message


@pytest.mark.clause("T14.3")
async def test_a_pattern_is_matched_below_the_root(session: FileSession) -> None:
    session.put("src/pkg/a.py", "")
    glob = ToolCalls(GlobTool(use_global_excludes=False), session.root)
    assert (await glob.run(pattern="pkg/*.py", path="src")).content.startswith("src/pkg/a.py\n")
    assert (await glob.run(pattern="src/pkg/*.py", path="src")).content.startswith("no files")


@pytest.mark.clause("T5.3")
@pytest.mark.parametrize("edit_format", ["hashline", "str_replace"])
async def test_a_window_of_a_long_file_agrees_with_the_whole(
    tmp_path: Path, edit_format: str
) -> None:
    session = FileSession(tmp_path, max_output_bytes=8_000_000, edit_format=edit_format)
    # characters of every width, so that some lie across the edge of a chunk of the file
    text = "".join(f"{n} é€😀 {'x' * (n % 97)}\r\n" for n in range(9_000))
    session.put("a.txt", text)
    assert len(text.encode()) > 512 * 1024
    assert isinstance(session.tools["read_file"], ReadFileTool)
    whole = (await session.run("read_file", path="a.txt")).content.split("\n")
    window = (await session.run("read_file", path="a.txt", offset=4_000, limit=2_000)).content
    rows = window.split("\n\n[")[0].split("\n")
    assert rows[0] == whole[0]
    assert rows[1:] == whole[4_000:6_000]
