"""The `apply_patch` tool end to end: plans, results, paths, modes, stale files, all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core.authority.capabilities import ReadPath, WritePath
from rho_core.channels import Channel
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tooling.contract import AuthorizedToolContext, ProgressSender
from rho_core.tooling.resources import AccessMode, DirectoryMembership, WorkspacePath
from rho_core.tooling.values import ToolOperation, ToolProgress
from tests.tools.file_harness import FileSession


@pytest.fixture
def session(tmp_path: Path) -> FileSession:
    return FileSession(tmp_path, edit_format="apply_patch")


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


MIXED = patch(
    "*** Add File: n/new.txt",
    "+hi",
    "*** Update File: a.txt",
    "@@",
    " one",
    "-two",
    "+2",
    "*** Update File: old.sh",
    "*** Move to: bin/new.sh",
    "-echo",
    "+printf",
    "*** Delete File: gone.txt",
)


def put_mixed(session: FileSession) -> dict[str, bytes]:
    session.put("a.txt", "one\r\ntwo\r\n")
    session.put("old.sh", "echo\n").chmod(0o755)
    session.put("gone.txt", "bye\n")
    return files(session.root)


@pytest.mark.clause("T12.25", "T12.26", "T12.24", "T9.4")
async def test_mixed_operations_apply_with_a_summary_snapshots_and_a_diff(
    session: FileSession,
) -> None:
    put_mixed(session)
    output = await session.run("apply_patch", input=MIXED)
    assert output.content == (
        "Success. The patch was applied:\nA n/new.txt\nM a.txt\nM bin/new.sh\nD gone.txt\n\n"
        "n/new.txt\n1:hi\n\na.txt\n1:one\n2:2\n\nbin/new.sh\n1:printf"
    )
    assert files(session.root) == {
        "a.txt": b"one\r\n2\r\n",
        "bin/new.sh": b"printf\n",
        "n/new.txt": b"hi\n",
    }
    assert (session.root / "bin/new.sh").stat().st_mode & 0o777 == 0o755
    metadata = output.metadata
    assert metadata.operation is ToolOperation.WRITE
    assert metadata.affected_paths == (
        "n/new.txt",
        "a.txt",
        "old.sh",
        "bin/new.sh",
        "gone.txt",
    )
    assert metadata.diff is not None
    assert metadata.diff.split("\n\n") == [
        "--- /dev/null\n+++ b/n/new.txt\n@@ -0,0 +1 @@\n+hi",
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r",
        "--- a/old.sh\n+++ b/bin/new.sh\n@@ -1 +1 @@\n-echo\n+printf",
        "--- a/gone.txt\n+++ b/gone.txt\n@@ -1 +0,0 @@\n-bye\n",
    ]
    assert metadata.details["added"] == 3
    assert metadata.details["removed"] == 3


@pytest.mark.clause("T12.9", "T8.3", "T2.11")
async def test_the_plan_declares_every_path_and_membership(session: FileSession) -> None:
    before = put_mixed(session)
    plan = await session.prepare("apply_patch", input=MIXED)
    root = session.root
    assert [
        (type(request.operation), request.operation.path.relative_to(root).as_posix())
        for request in plan.capabilities
    ] == [
        (WritePath, "n/new.txt"),
        (WritePath, "a.txt"),
        (ReadPath, "a.txt"),
        (WritePath, "old.sh"),
        (ReadPath, "old.sh"),
        (WritePath, "bin/new.sh"),
        (WritePath, "gone.txt"),
        (ReadPath, "gone.txt"),
    ]
    assert {access.mode for access in plan.accesses} == {AccessMode.EXCLUSIVE}
    resources = [access.resource for access in plan.accesses]
    for name in ("n/new.txt", "a.txt", "old.sh", "bin/new.sh", "gone.txt"):
        assert WorkspacePath(root / name) in resources
    for name in ("n", "bin", ""):
        assert DirectoryMembership(root / name) in resources
    assert len(resources) == len(set(resources)) == 8
    assert plan.metadata.diff is not None
    assert "-two" in plan.metadata.diff
    assert files(root) == before


@pytest.mark.clause("T12.26")
async def test_paths_and_progress_are_told(session: FileSession) -> None:
    put_mixed(session)
    tool = session.tools["apply_patch"]
    started = tool.start_metadata({"input": MIXED[: MIXED.index("*** Delete")]})
    assert started.affected_paths == ("n/new.txt", "a.txt", "old.sh", "bin/new.sh")
    assert tool.start_metadata({}).affected_paths == ()
    channel: Channel[ToolProgress] = Channel(4)
    plan = await session.prepare("apply_patch", input=MIXED)
    await plan.execute(
        AuthorizedToolContext(workspace=session.workspace, progress=ProgressSender(channel))
    )
    assert (await channel.receive()).message == "applying patch (4 file op(s))"
    done = await channel.receive()
    assert done.message == "updated 4 file(s)"
    assert (done.completed_units, done.total_units) == (4, 4)


@pytest.mark.clause("T12.7", "T12.1")
@pytest.mark.parametrize(
    "lines",
    [
        ("*** Add File: /tmp/x", "+x"),
        ("*** Add File: ../x", "+x"),
        ("*** Delete File: a/../a.txt",),
        ("*** Update File: a.txt", "*** Move to: ../x", "-one"),
        ("*** Update File: a.txt", "*** Move to: /x", "-one"),
    ],
)
async def test_paths_that_leave_the_workspace_are_refused(
    session: FileSession, lines: tuple[str, ...]
) -> None:
    before = put_mixed(session)
    error = await session.fail("apply_patch", input=patch(*lines))
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert "must be relative" in error.message or "'..'" in error.message
    assert files(session.root) == before


@pytest.mark.clause("T2.25", "T12.7")
async def test_a_link_out_of_the_workspace_is_refused(
    session: FileSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (session.root / "out").symlink_to(tmp_path_factory.mktemp("outside"))
    error = await session.fail("apply_patch", input=patch("*** Add File: out/x", "+x"))
    assert error.tool_kind is ToolErrorKind.POLICY_DENIED


@pytest.mark.clause("T12.10")
async def test_nothing_is_ever_written_over(session: FileSession) -> None:
    before = put_mixed(session)
    (session.root / "dangling").symlink_to("nowhere")
    for lines in (
        ("*** Add File: a.txt", "+x"),
        ("*** Add File: dangling", "+x"),
        ("*** Update File: a.txt", "*** Move to: gone.txt", "-one"),
        ("*** Update File: a.txt", "*** Move to: dangling", "-one"),
    ):
        error = await session.fail("apply_patch", input=patch(*lines))
        assert error.tool_kind is ToolErrorKind.EXECUTION
        assert "already exists" in error.message
    assert files(session.root) == before
    assert not (session.root / "nowhere").exists()


@pytest.mark.clause("T12.8")
async def test_links_are_updated_through_but_neither_deleted_nor_moved(
    session: FileSession,
) -> None:
    put_mixed(session)
    (session.root / "link").symlink_to("a.txt")
    for lines in (
        ("*** Delete File: link",),
        ("*** Update File: link", "*** Move to: x", "-one"),
        ("*** Update File: link", "-one", "*** Delete File: link"),
    ):
        error = await session.fail("apply_patch", input=patch(*lines))
        assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
        assert "symlink" in error.message
    await session.run("apply_patch", input=patch("*** Update File: link", "-two", "+2"))
    assert (session.root / "link").is_symlink()
    assert (session.root / "a.txt").read_bytes() == b"one\r\n2\r\n"


@pytest.mark.clause("T12.11")
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("*** Update File: a.txt", "-one", "*** Update File: ./a.txt", "-two"), "more than once"),
        (("*** Delete File: a.txt", "*** Delete File: a.txt"), "more than once"),
        (("*** Add File: x", "+1", "*** Add File: x", "+2"), "more than once"),
        (("*** Update File: a.txt", "-one", "*** Delete File: a.txt"), "both writes and deletes"),
        (("*** Delete File: a.txt", "*** Add File: a.txt", "+x"), "both writes and deletes"),
        (("*** Update File: a.txt", "*** Move to: a.txt", "-one"), "both writes and deletes"),
        (
            ("*** Delete File: a.txt", "*** Update File: a.txt", "*** Move to: y", "-one"),
            "more than once",
        ),
    ],
)
async def test_a_patch_that_contradicts_itself_is_refused(
    session: FileSession, lines: tuple[str, ...], said: str
) -> None:
    before = put_mixed(session)
    error = await session.fail("apply_patch", input=patch(*lines))
    assert error.tool_kind is ToolErrorKind.EXECUTION
    assert said in error.message
    assert files(session.root) == before


@pytest.mark.clause("T12.9")
async def test_a_missing_source_is_reported_with_near_names(session: FileSession) -> None:
    before = put_mixed(session)
    for lines in (("*** Delete File: a.tx",), ("*** Update File: a.tx", "-one")):
        error = await session.fail("apply_patch", input=patch(*lines))
        assert error.tool_kind is ToolErrorKind.EXECUTION
        assert error.message.startswith("could not read a.tx: it does not exist")
        assert "a.txt" in error.message
    assert files(session.root) == before


@pytest.mark.clause("T12.12", "T12.15")
async def test_one_chunk_that_does_not_match_keeps_every_file(session: FileSession) -> None:
    before = put_mixed(session)
    wrong = MIXED.replace("-echo", "-ehco")
    plan = await session.prepare("apply_patch", input=wrong)
    assert {type(request.operation) for request in plan.capabilities} == {ReadPath}
    assert plan.metadata.diff is None
    with pytest.raises(ToolError, match=r"Failed to find expected lines in old\.sh:\nehco"):
        await session.execute(plan)
    assert files(session.root) == before


@pytest.mark.clause("T12.20", "T30.6")
@pytest.mark.parametrize("name", ["a.txt", "gone.txt", "old.sh"])
async def test_a_file_that_changes_between_diff_and_approval_keeps_every_file(
    session: FileSession, name: str
) -> None:
    put_mixed(session)
    plan = await session.prepare("apply_patch", input=MIXED)
    (session.root / name).write_bytes(b"mine\n")
    before = files(session.root)
    with pytest.raises(ToolError, match="changed while the patch was being validated") as caught:
        await session.execute(plan)
    assert caught.value.message.startswith(name)
    assert "Re-read it" in caught.value.message
    assert files(session.root) == before


@pytest.mark.clause("T2.28", "T12.20")
async def test_a_new_file_that_came_up_meanwhile_keeps_every_file(session: FileSession) -> None:
    put_mixed(session)
    plan = await session.prepare("apply_patch", input=MIXED)
    session.put("n/new.txt", "mine\n")
    before = files(session.root)
    with pytest.raises(ToolError):
        await session.execute(plan)
    assert files(session.root) == before


@pytest.mark.clause("T30.6", "case:B15")
async def test_a_file_that_changed_since_it_was_read_is_refused(session: FileSession) -> None:
    before = put_mixed(session)
    await session.run("read_file", path="a.txt")
    (session.root / "a.txt").write_bytes(b"one\r\ntwo\r\nmine\r\n")
    error = await session.fail("apply_patch", input=MIXED)
    assert "Re-read it" in error.message
    assert files(session.root) == before | {"a.txt": b"one\r\ntwo\r\nmine\r\n"}


@pytest.mark.clause("case:B16", "case:B18")
async def test_own_edits_in_one_answer_build_on_each_other(session: FileSession) -> None:
    path = session.put("n.txt", "".join(f"{number}\n" for number in range(10, 61)))
    plans = [
        await session.prepare(
            "apply_patch", input=patch("*** Update File: n.txt", f"-{old}", f"+{new}")
        )
        for old, new in (("20", "twenty"), ("44", "forty-four"))
    ]
    for plan in plans:
        await session.execute(plan)
    text = path.read_text()
    assert "\ntwenty\n" in text
    assert "\nforty-four\n" in text
    await session.run("apply_patch", input=patch("*** Update File: n.txt", "-60", "+last"))
    assert path.read_text().endswith("59\nlast\n")


@pytest.mark.clause("T12.22", "T12.23")
async def test_a_later_file_that_cannot_be_written_takes_the_earlier_ones_back(
    session: FileSession,
) -> None:
    before = put_mixed(session)
    (session.root / "gone.txt").chmod(0o444)
    error = await session.fail("apply_patch", input=MIXED)
    assert "applied changes were rolled back" in error.message
    assert files(session.root) == before
    assert not (session.root / "n").exists()
    assert not (session.root / "bin").exists()


@pytest.mark.clause("case:B4", "case:B6", "T12.19")
@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
async def test_marks_and_encodings_stay(session: FileSession, codec: str) -> None:
    path = session.put("f", "salut\r\nß\r\n".encode(codec))
    await session.run(
        "apply_patch", input=patch("*** Update File: f", "-\ufeffsalut", "+\ufeffhallo😀", " ß")
    )
    assert path.read_bytes() == "hallo😀\r\nß\r\n".encode(codec)


@pytest.mark.clause("case:B4")
async def test_text_that_looks_like_a_second_mark_is_found_as_it_is(session: FileSession) -> None:
    path = session.put("f", b"\xef\xbb\xbf\xef\xbb\xbf\n\n")
    await session.run("apply_patch", input=patch("*** Update File: f", " \ufeff", "+x"))
    assert path.read_bytes() == b"\xef\xbb\xbf\xef\xbb\xbf\nx\n\n"


@pytest.mark.clause("case:B4", "T3.13")
@pytest.mark.parametrize("sign", [" ", "-"])
async def test_a_line_that_may_be_the_mark_or_text_is_not_guessed(
    session: FileSession, sign: str
) -> None:
    path = session.put("f", "\ufeff\n\ufeff\n\ufeff\n".encode())
    error = await session.fail(
        "apply_patch", input=patch("*** Update File: f", f"{sign}\ufeff", "+")
    )
    assert "1, 2, 3" in error.message
    assert path.read_bytes() == "\ufeff\n\ufeff\n\ufeff\n".encode()


@pytest.mark.clause("case:B4")
async def test_only_a_mark_on_the_first_line_is_taken_for_a_copy_of_the_files(
    session: FileSession,
) -> None:
    path = session.put("f", b"\xef\xbb\xbfa\nb\n")
    await session.run(
        "apply_patch", input=patch("*** Update File: f", "-a", "+\ufeffA", "+\ufeffx")
    )
    assert path.read_bytes() == b"\xef\xbb\xbfA\n\xef\xbb\xbfx\nb\n"


@pytest.mark.clause("case:B5")
async def test_binary_files_can_be_deleted_but_not_changed(session: FileSession) -> None:
    path = session.put("f.bin", b"\x7fELF\x00\xff")
    error = await session.fail("apply_patch", input=patch("*** Update File: f.bin", "+x"))
    assert "could not read f.bin: it is binary" in error.message
    assert path.read_bytes() == b"\x7fELF\x00\xff"
    output = await session.run("apply_patch", input=patch("*** Delete File: f.bin"))
    assert output.metadata.diff is not None
    assert "Diff omitted: the removed file is binary" in output.metadata.diff
    assert not path.exists()


@pytest.mark.clause("T12.4", "T12.25")
async def test_an_empty_file_can_be_added_and_filled(session: FileSession) -> None:
    output = await session.run("apply_patch", input=patch("*** Add File: e"))
    assert output.content == "Success. The patch was applied:\nA e\n\ne"
    assert (session.root / "e").read_bytes() == b""
    await session.run("apply_patch", input=patch("*** Update File: e", "+x"))
    assert (session.root / "e").read_bytes() == b"x\n"


@pytest.mark.clause("T12.1", "T2.2")
async def test_only_input_is_taken(session: FileSession) -> None:
    error = await session.fail("apply_patch", input="nothing")
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert error.message.startswith("invalid arguments: invalid patch: ")
    error = await session.fail("apply_patch", patch="x")
    assert "unknown key 'patch'" in error.message


@pytest.mark.clause("T1.3", "T1.4")
@pytest.mark.parametrize("edit_format", ["hashline", " APPLY_PATCH ", "str_replace"])
def test_exactly_one_edit_tool_is_registered(tmp_path: Path, edit_format: str) -> None:
    tools = FileSession(tmp_path, edit_format=edit_format).tools
    edits = {"edit", "apply_patch", "str_replace"} & set(tools)
    assert len(edits) == 1
    assert list(tools) == ["list_dir", "read_file", "write", *edits]
    with pytest.raises(ValueError, match="hashline, apply_patch, str_replace"):
        FileSession(tmp_path, edit_format="sed")
