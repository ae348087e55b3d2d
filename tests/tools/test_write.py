"""`write`: whole files, byte for byte, with a diff that is there before the approval."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest

from rho_core.authority.capabilities import CapabilityKind, ReadPath, WritePath
from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tooling.contract import AuthorizedToolContext, ProgressSender, ToolOrigin
from rho_core.tooling.resources import AccessMode, DirectoryMembership, WorkspacePath
from rho_core.tooling.values import ToolOperation, ToolProgress
from rho_core.tools.files.reading import MAX_FILE_BYTES
from tests.tools.file_harness import FileSession


@pytest.fixture
def session(tmp_path: Path) -> FileSession:
    return FileSession(tmp_path)


@pytest.mark.clause("T8.4", "T8.5")
async def test_a_new_file_gets_its_parents_and_a_snapshot(session: FileSession) -> None:
    output = await session.run("write", path="a/b/c.txt", content="one\ntwo\n")
    assert output.content == "created a/b/c.txt\n\na/b/c.txt\n1:one\n2:two"
    assert (session.root / "a/b/c.txt").read_bytes() == b"one\ntwo\n"
    assert output.metadata.operation is ToolOperation.WRITE
    assert output.metadata.affected_paths == ("a/b/c.txt",)
    assert output.metadata.diff == "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    assert dict(output.metadata.details) == {"added": 2, "removed": 0, "lines": 2, "created": True}


@pytest.mark.clause("T8.5")
async def test_an_existing_file_is_written_and_not_created(session: FileSession) -> None:
    session.put("f", "old\n")
    output = await session.run("write", path="f", content="new\n")
    assert output.content == "wrote f\n\nf\n1:new"
    assert output.metadata.details["created"] is False


@pytest.mark.parametrize(
    "content",
    [
        "",
        "x",
        "a\r\nb\rc\n",
        "\ufeffa\n",
        "d\u2019un \u201cmot\u201d\n",
        "😀\u2028\x0b\x0c\0",
        "\n\n",
    ],
)
@pytest.mark.clause("T8.1", "case:B17")
async def test_content_is_written_byte_for_byte(session: FileSession, content: str) -> None:
    for _ in range(2):
        await session.run("write", path="f", content=content)
        assert (session.root / "f").read_bytes() == content.encode()


@pytest.mark.clause("T8.2", "T8.3")
async def test_the_plan_of_a_new_file_writes_and_reserves_its_directories(
    session: FileSession,
) -> None:
    (session.root / "a").mkdir()
    plan = await session.prepare("write", path="a/b/c.txt", content="x")
    assert [type(request.operation) for request in plan.capabilities] == [WritePath]
    assert [access.resource for access in plan.accesses] == [
        WorkspacePath(session.root / "a/b/c.txt"),
        DirectoryMembership(session.root / "a/b"),
        DirectoryMembership(session.root / "a"),
    ]
    assert {access.mode for access in plan.accesses} == {AccessMode.EXCLUSIVE}
    assert not (session.root / "a/b").exists()


@pytest.mark.clause("T8.2", "T8.3")
async def test_the_plan_of_an_existing_file_also_reads_and_shows_the_diff(
    session: FileSession,
) -> None:
    session.put("f", "a\nb\n")
    plan = await session.prepare("write", path="f", content="a\nc\n")
    assert [type(request.operation) for request in plan.capabilities] == [WritePath, ReadPath]
    assert [access.resource for access in plan.accesses] == [WorkspacePath(session.root / "f")]
    assert plan.metadata.diff == "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert (session.root / "f").read_bytes() == b"a\nb\n"


@pytest.mark.clause("T8.6")
async def test_content_that_is_no_text_is_replaced_and_the_diff_says_why_it_is_missing(
    session: FileSession,
) -> None:
    session.put("f", b"\xff\x00")
    output = await session.run("write", path="f", content="new\n")
    assert output.content.startswith("wrote f\nDiff omitted: ")
    assert output.metadata.diff is not None
    assert output.metadata.diff.startswith("Diff omitted: ")
    assert (session.root / "f").read_bytes() == b"new\n"


async def test_a_file_over_the_size_limit_can_be_replaced_but_not_edited(
    session: FileSession,
) -> None:
    path = session.put("big", "a\n")
    os.truncate(path, MAX_FILE_BYTES + 1)
    error = await session.fail("str_replace", path="big", old_string="a", new_string="b")
    assert "too large" in error.message
    output = await session.run("write", path="big", content="new\n")
    assert "Diff omitted: the present content is too large" in output.content
    assert path.read_bytes() == b"new\n"


async def test_a_change_of_encoding_or_line_endings_is_told(session: FileSession) -> None:
    session.put("f", "a\r\nb\r\n".encode("utf-16"))
    output = await session.run("write", path="f", content="a\nc\n")
    assert "note: the encoding changed from UTF-16 LE to UTF-8" in output.content
    assert "note: the line endings changed from CRLF to LF" in output.content
    session.put("g", codecs.BOM_UTF16_BE + "a\n".encode("utf-16-be"))
    plan = await session.prepare("write", path="g", content="\ufeffa\n")
    assert plan.metadata.diff is not None
    assert "only the encoding changes" in plan.metadata.diff


@pytest.mark.clause("T9.1")
async def test_writing_the_same_content_has_no_changes(session: FileSession) -> None:
    session.put("f", "a\n")
    output = await session.run("write", path="f", content="a\n")
    assert output.metadata.diff == "No changes."
    assert output.metadata.details["added"] == 0


@pytest.mark.clause("T3.6", "T2.18")
async def test_a_large_write_returns_a_bounded_snapshot(session: FileSession) -> None:
    content = "".join(f"line {n}\n" for n in range(1, 10_001))
    output = await session.run("write", path="f", content=content)
    assert "\n28:line 28\n…\n9993:line 9993\n" in output.content
    assert "36 of 10000 lines" in output.content
    small = FileSession(session.root, max_output_bytes=200)
    assert len((await small.run("write", path="g", content=content)).content.encode()) <= 212


@pytest.mark.clause("case:B13", "T8.4")
async def test_a_link_keeps_pointing_and_its_target_is_written(session: FileSession) -> None:
    session.put("target.txt", "old\n")
    (session.root / "ln.txt").symlink_to("target.txt")
    output = await session.run("write", path="ln.txt", content="new\n")
    assert output.content.startswith("wrote target.txt\n")
    assert (session.root / "ln.txt").readlink() == Path("target.txt")
    assert (session.root / "target.txt").read_text() == "new\n"


@pytest.mark.clause("T2.27", "case:B13")
async def test_a_dangling_link_and_a_loop_are_refused(session: FileSession) -> None:
    (session.root / "dangling").symlink_to("nowhere")
    (session.root / "a").symlink_to("b")
    (session.root / "b").symlink_to("a")
    for name in ("dangling", "a"):
        error = await session.fail("write", path=name, content="x")
        assert error.tool_kind is ToolErrorKind.EXECUTION
    assert not (session.root / "nowhere").exists()


@pytest.mark.clause("T2.24", "T2.8")
@pytest.mark.parametrize("path", ["../x", "a/../x", "/etc/x", "out/x", "nul\0x"])
async def test_paths_that_leave_the_workspace_are_denied(
    session: FileSession, tmp_path_factory: pytest.TempPathFactory, path: str
) -> None:
    (session.root / "out").symlink_to(tmp_path_factory.mktemp("outside"))
    error = await session.fail("write", path=path, content="x")
    assert error.tool_kind is ToolErrorKind.POLICY_DENIED


async def test_directories_and_special_files_are_refused(session: FileSession) -> None:
    (session.root / "d").mkdir()
    os.mkfifo(session.root / "p")
    assert "is a directory" in (await session.fail("write", path="d", content="x")).message
    assert "named pipe" in (await session.fail("write", path="p", content="x")).message
    session.put("f", "x")
    error = await session.fail("write", path="f/g", content="x")
    assert error.tool_kind is ToolErrorKind.EXECUTION


@pytest.mark.clause("T2.2", "T8.1")
async def test_both_keys_are_required_and_no_others_are_known(session: FileSession) -> None:
    assert "missing key 'content'" in (await session.fail("write", path="f")).message
    error = await session.fail("write", path="f", content="x", mode="append")
    assert "unknown key 'mode'" in error.message
    assert not (session.root / "f").exists()


@pytest.mark.clause("T8.8")
async def test_progress_is_told_before_the_file_is_written(session: FileSession) -> None:
    channel: Channel[ToolProgress] = Channel(4)
    plan = await session.prepare("write", path="f", content="x")
    await plan.execute(
        AuthorizedToolContext(workspace=session.workspace, progress=ProgressSender(channel))
    )
    progress = await channel.receive()
    assert progress.message == "writing f"
    assert progress.metadata is not None
    assert progress.metadata.operation is ToolOperation.WRITE


async def test_a_cancelled_call_changes_nothing(session: FileSession) -> None:
    session.put("f", "old")
    token = CancellationToken()
    plan = await session.prepare("write", path="f", content="new")
    token.cancel()
    with pytest.raises(ToolError) as caught:
        await session.execute(plan, token)
    assert caught.value.tool_kind is ToolErrorKind.CANCELLED
    assert (session.root / "f").read_text() == "old"
    assert plan.cleanup_timeout is not None


@pytest.mark.clause("D2")
def test_the_tools_declare_their_trust_and_classes(session: FileSession) -> None:
    declared = {name: tool.security() for name, tool in session.tools.items()}
    assert list(declared) == ["list_dir", "read_file", "write", "str_replace"]
    assert all(security.origin is ToolOrigin.BUILT_IN for security in declared.values())
    assert declared["read_file"].classes == (CapabilityKind.READ,)
    assert declared["write"].classes == (CapabilityKind.READ, CapabilityKind.WRITE)
    assert session.tools["str_replace"].spec().input_schema["required"] == (
        "path",
        "old_string",
        "new_string",
    )
