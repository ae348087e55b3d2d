"""`list_dir`, and how names are written for the model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.authority.capabilities import CapabilityKind, ReadPath
from rho_core.errors import ToolErrorKind
from rho_core.tooling.resources import AccessMode, DirectoryMembership, DirectoryTree
from rho_core.tooling.values import ToolOperation
from rho_core.tools.files.display import display_path, visible_name
from tests.tools.file_harness import FileSession


@pytest.fixture
def session(tmp_path: Path) -> FileSession:
    return FileSession(tmp_path)


@pytest.mark.clause("T4.2", "T4.3")
async def test_names_are_sorted_by_bytes_with_hidden_ones_and_suffixes(
    session: FileSession,
) -> None:
    session.put("b.txt", "")
    session.put("a/inner.txt", "")
    session.put(".hidden", "")
    session.put("é.txt", "")
    (session.root / "link").symlink_to("a")
    output = await session.run("list_dir", path=".")
    assert output.content == ".hidden\na/\nb.txt\nlink\né.txt"
    assert output.metadata.operation is ToolOperation.READ
    assert output.metadata.affected_paths == (".",)
    assert output.metadata.details["entries"] == 5


@pytest.mark.clause("T4.2")
async def test_an_empty_directory_is_an_empty_text(session: FileSession) -> None:
    (session.root / "empty").mkdir()
    assert (await session.run("list_dir", path="empty")).content == ""


@pytest.mark.clause("T4.5")
async def test_the_plan_reads_the_directory_and_shares_it(session: FileSession) -> None:
    (session.root / "d").mkdir()
    (session.root / "link").symlink_to("d")
    plan = await session.prepare("list_dir", path="link")
    (request,) = plan.capabilities
    assert request.kind is CapabilityKind.READ
    assert request.operation == ReadPath(session.root / "d", request.operation.scope)  # type: ignore[union-attr]  # it is a path operation
    assert [access.resource for access in plan.accesses] == [
        DirectoryTree(session.root / "d"),
        DirectoryMembership(session.root / "d"),
    ]
    assert {access.mode for access in plan.accesses} == {AccessMode.SHARED}
    assert plan.metadata.affected_paths == ("link",)


@pytest.mark.clause("T4.4")
async def test_a_missing_directory_is_reported_with_near_names(session: FileSession) -> None:
    (session.root / "sources").mkdir()
    error = await session.fail("list_dir", path="source")
    assert error.tool_kind is ToolErrorKind.EXECUTION
    assert error.message.startswith("could not list source: it does not exist")
    assert "sources" in error.message


@pytest.mark.clause("T4.4")
async def test_a_file_is_no_directory(session: FileSession) -> None:
    session.put("f.txt", "x")
    error = await session.fail("list_dir", path="f.txt")
    assert "not a directory" in error.message
    assert "read_file" in error.message


@pytest.mark.clause("T2.19")
async def test_a_long_listing_is_cut_at_a_whole_name_with_the_count(tmp_path: Path) -> None:
    session = FileSession(tmp_path, max_output_bytes=100)
    for number in range(50):
        session.put(f"file-{number:03}.txt", "")
    output = await session.run("list_dir", path=".")
    *names, mark = output.content.split("\n")
    assert names == [f"file-{number:03}.txt" for number in range(len(names))]
    assert mark == f"[truncated: {50 - len(names)} of 50 entries not shown]"
    assert output.metadata.details["entries"] == 50


@pytest.mark.clause("case:C9")
async def test_a_hostile_name_cannot_forge_a_line(session: FileSession) -> None:
    session.put("a\nb.txt", "")
    session.put("plain\x1b[31m", "")
    session.put(os.fsdecode(b"x\xff.txt"), "")
    output = await session.run("list_dir", path=".")
    assert output.content.split("\n") == [
        '"a\\nb.txt"',
        '"plain\\u001b[31m"',
        '"x\\xff.txt"',
    ]
    output.content.encode()


@pytest.mark.clause("T2.24", "T2.8")
@pytest.mark.parametrize("path", ["..", "a/../..", "/", "/etc"])
async def test_paths_outside_the_workspace_are_denied(session: FileSession, path: str) -> None:
    assert (await session.fail("list_dir", path=path)).tool_kind is ToolErrorKind.POLICY_DENIED


@pytest.mark.clause("T2.28")
async def test_a_directory_that_became_a_link_after_approval_is_denied(
    session: FileSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (session.root / "d").mkdir()
    plan = await session.prepare("list_dir", path="d")
    (session.root / "d").rmdir()
    (session.root / "d").symlink_to(outside)
    with pytest.raises(Exception, match="outside the workspace") as caught:
        await session.execute(plan)
    assert caught.value.tool_kind is ToolErrorKind.POLICY_DENIED  # type: ignore[attr-defined]  # a ToolError


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/h/rho/.", "."),
        ("/h/rho/src/../Cargo.toml", "Cargo.toml"),
        ("./src", "src"),
        ("/h/rho2/x", "/h/rho2/x"),
        ("/h", "/h"),
        ("", "."),
        ("a\nb", '"a\\nb"'),
    ],
)
@pytest.mark.clause("T2.22")
def test_display_paths(path: str, shown: str) -> None:
    assert display_path(path, "/h/rho") == shown


@pytest.mark.clause("T2.22")
@settings(max_examples=100)
@given(st.text(max_size=20), st.text(max_size=20))
def test_visible_names_are_one_harmless_line_and_distinct(left: str, right: str) -> None:
    shown = visible_name(left)
    shown.encode()
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c in "\u2028\u202e" for c in shown)
    assert (shown == visible_name(right)) == (left == right)
