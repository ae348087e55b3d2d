"""The `edit` tool end to end: plans, results, chains of edits, stale files, several files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rho_core.authority.approvals import AuthorizationOutcome
from rho_core.authority.capabilities import CapabilityRequest, ReadPath, WritePath
from rho_core.channels import Channel
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.ids import ToolCallId
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    ProgressSender,
    ToolContext,
    ToolInvocation,
)
from rho_core.tooling.resources import AccessMode, WorkspacePath
from rho_core.tooling.values import ToolOperation, ToolProgress
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.files.mutation import MutationSettings
from rho_core.tools.files.view_header import file_tag, tagged_header
from rho_core.tools.search.grep import GrepTool
from tests.tools.file_harness import FileSession
from tests.tools.tool_calls import ToolCalls

GREEK = "alpha\nbeta\ngamma\n"


@pytest.fixture
def session(tmp_path: Path) -> FileSession:
    return FileSession(tmp_path, edit_format="hashline")


def document(session: FileSession, name: str, *lines: str) -> str:
    """A section with the tag of the file as it is."""
    text = (session.root / name).read_bytes().decode("utf-8")
    return "\n".join([f"[{name}#{file_tag(text)}]", *lines])


@pytest.mark.clause("T10.28", "T10.24", "T10.25", "T10.26")
async def test_the_worked_example(session: FileSession) -> None:
    path = session.put("chain.txt", GREEK)
    output = await session.run("edit", input="[chain.txt#D8BC]\nPUT 2.=2:\n+BETA\n")
    assert output.content == ("PUT 2: (1 → 1 line(s))\n[chain.txt#9D7C]\n1:alpha\n2:BETA\n3:gamma")
    assert path.read_text() == "alpha\nBETA\ngamma\n"
    assert output.metadata.diff == (
        "--- a/chain.txt\n+++ b/chain.txt\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n gamma\n"
    )
    assert "@@" not in output.content


@pytest.mark.clause("T3.3", "T3.12", "T10.2")
async def test_views_of_every_tool_give_a_tag_that_an_edit_can_use(session: FileSession) -> None:
    session.put("a.txt", GREEK)
    read = await session.run("read_file", path="a.txt", offset=2, limit=1)
    assert read.content.startswith("[a.txt#D8BC]\n2:beta\n")
    grep = await ToolCalls(GrepTool(header=tagged_header), session.root).run(pattern="beta")
    assert grep.content.startswith("[a.txt#D8BC]\n2 | beta\n")
    written = await session.run("write", path="b.txt", content=GREEK)
    assert written.content.startswith("created b.txt\n\n[b.txt#D8BC]\n1:alpha\n")
    edited = await session.run("edit", input="[b.txt#D8BC]\nCUT 2")
    tag = file_tag("alpha\ngamma\n")
    assert edited.content == f"CUT 2 (1 line)\n[b.txt#{tag}]\n1:alpha\n2:gamma"
    await session.run("edit", input=f"[b.txt#{tag}]\nCUT 1\n")
    assert (session.root / "b.txt").read_text() == "gamma\n"


@pytest.mark.clause("T10.3", "T2.11")
async def test_the_plan_shows_the_diff_and_asks_to_write_and_read_each_file(
    session: FileSession,
) -> None:
    paths = [session.put(name, GREEK) for name in ("a", "b")]
    plan = await session.prepare("edit", input="[a#D8BC]\nCUT 1\n[b#D8BC]\nPUT >$:\n+delta")
    assert [(type(r.operation), r.operation.path) for r in plan.capabilities] == [
        (kind, path) for path in paths for kind in (WritePath, ReadPath)
    ]
    assert [(access.resource, access.mode) for access in plan.accesses] == [
        (WorkspacePath(path), AccessMode.EXCLUSIVE) for path in paths
    ]
    assert plan.metadata.operation is ToolOperation.WRITE
    assert plan.metadata.affected_paths == ("a", "b")
    assert plan.metadata.diff == (
        "--- a/a\n+++ b/a\n@@ -1,3 +1,2 @@\n-alpha\n beta\n gamma\n"
        "--- a/b\n+++ b/b\n@@ -1,3 +1,4 @@\n alpha\n beta\n gamma\n+delta\n"
    )
    assert dict(plan.metadata.details) == {"added": 1, "removed": 1, "files": 2}
    assert [path.read_text() for path in paths] == [GREEK, GREEK]


@pytest.mark.clause("T10.5")
async def test_paths_and_progress_are_told(session: FileSession) -> None:
    session.put("f", GREEK)
    tool = session.tools["edit"]
    assert tool.start_metadata({"input": "[f#D8BC]\nPUT 1:\n+x\n[g#0"}).affected_paths == ("f",)
    assert tool.start_metadata({"input": 3}).affected_paths == ()
    channel: Channel[ToolProgress] = Channel(4)
    plan = await session.prepare("edit", input="[f#D8BC]\nCUT 1")
    await plan.execute(
        AuthorizedToolContext(workspace=session.workspace, progress=ProgressSender(channel))
    )
    assert (await channel.receive()).message == "applying edit (1 path(s))"


@pytest.mark.clause("T10.12", "T10.22")
async def test_a_wrong_tag_leaves_the_file_and_shows_it(session: FileSession) -> None:
    path = session.put("f", GREEK)
    plan = await session.prepare("edit", input="[f#0000]\nPUT 2:\n+B")
    assert [type(request.operation) for request in plan.capabilities] == [ReadPath]
    assert plan.metadata.diff is None
    error = await session.fail("edit", input="[f#0000]\nPUT 2:\n+B")
    assert error.tool_kind is ToolErrorKind.EXECUTION
    assert error.message.startswith("f: tag mismatch")
    assert "#0000" in error.message
    assert "#D8BC" in error.message
    assert "Live snapshot" in error.message
    assert error.message.endswith("[f#D8BC]\n1:alpha\n2:beta\n3:gamma")
    assert path.read_text() == GREEK


@pytest.mark.clause("T10.22", "T3.6")
async def test_a_failed_edit_shows_the_lines_that_it_named(session: FileSession) -> None:
    session.put("f", "".join(f"{number}\n" for number in range(1, 101)))
    error = await session.fail("edit", input=document(session, "f", "CUT 50.=60", "CUT 55"))
    assert "overlapping" in error.message
    tag = file_tag((session.root / "f").read_text())
    assert f"\n[f#{tag}]\n48:48\n" in error.message
    assert "\n48:48\n49:49\n50:50\n" in error.message
    assert "\n60:60\n61:61\n62:62\n" in error.message
    assert "\n1:1\n" not in error.message
    error = await session.fail("edit", input=document(session, "f", "CUT 500"))
    assert "out of range: the file has 100 line(s)" in error.message
    assert f"\n[f#{tag}]\n1:1\n" in error.message
    assert "\n28:28\n…\n93:93\n" in error.message
    assert "36 of 100 lines" in error.message


@pytest.mark.clause("T30.6", "T30.7", "case:B15")
async def test_a_change_that_the_tag_leaves_out_is_seen_and_the_error_is_as_good_as_a_read(
    session: FileSession,
) -> None:
    path = session.put("f", GREEK)
    await session.run("read_file", path="f")
    path.write_text("alpha \nbeta\ngamma\n")
    error = await session.fail("edit", input="[f#D8BC]\nCUT 2")
    assert "white space only" in error.message
    assert "Live snapshot" in error.message
    assert path.read_text() == "alpha \nbeta\ngamma\n"
    await session.run("edit", input="[f#D8BC]\nCUT 2")
    assert path.read_text() == "alpha \ngamma\n"


@pytest.mark.clause("T10.19", "T30.6")
async def test_a_change_between_the_diff_and_its_approval_is_refused(session: FileSession) -> None:
    path = session.put("f", GREEK)
    plan = await session.prepare("edit", input="[f#D8BC]\nCUT 2")
    path.write_text("alpha\nbeta \ngamma\n")  # the tag stays the same
    with pytest.raises(ToolError, match="changed during edit") as caught:
        await session.execute(plan)
    assert "Live snapshot" in caught.value.message
    assert path.read_text() == "alpha\nbeta \ngamma\n"
    path.unlink()
    with pytest.raises(ToolError):
        await session.execute(plan)
    assert not path.exists()


@pytest.mark.clause("T10.21", "T30.6")
async def test_one_stale_file_keeps_all_files_as_they_are(session: FileSession) -> None:
    for name in "abc":
        session.put(name, GREEK)
    text = "".join(f"[{name}#D8BC]\nCUT 1\n" for name in "abc")
    plan = await session.prepare("edit", input=text)
    (session.root / "c").write_text("mine\n")
    with pytest.raises(ToolError, match="c: changed during edit"):
        await session.execute(plan)
    assert [(session.root / name).read_text() for name in "abc"] == [GREEK, GREEK, "mine\n"]
    error = await session.fail("edit", input=text)
    assert error.message.startswith("c: tag mismatch")
    assert (session.root / "a").read_text() == GREEK


@pytest.mark.clause("case:B18")
async def test_two_edits_of_one_file_in_one_answer_both_apply(session: FileSession) -> None:
    path = session.put("n.txt", "".join(f"{number}\n" for number in range(10, 61)))
    first = document(session, "n.txt", "PUT 11:", "+twenty", "+more")
    second = document(session, "n.txt", "PUT 35:", "+forty-four")
    clash = document(session, "n.txt", "CUT 10.=12")
    plans = [await session.prepare("edit", input=text) for text in (first, second, clash)]
    for plan in plans[:2]:
        await session.execute(plan)
    rows = path.read_text().split("\n")
    assert rows[10:12] == ["twenty", "more"]
    assert rows[35] == "forty-four"
    assert len(rows) == 53
    with pytest.raises(ToolError, match="changed by an edit before it"):
        await session.execute(plans[2])


@pytest.mark.clause("T10.21", "T10.24")
async def test_several_files_change_and_each_is_reported(session: FileSession) -> None:
    session.put("a", GREEK)
    session.put("d/b", GREEK)
    output = await session.run("edit", input="[a#D8BC]\nCUT 1\n\n[d/b#D8BC]\nCUT 1.=2\n")
    tags = file_tag("beta\ngamma\n"), file_tag("gamma\n")
    assert output.content == (
        f"CUT 1 (1 line)\n[a#{tags[0]}]\n1:beta\n2:gamma\n\n"
        f"CUT 1.=2 (2 lines)\n[d/b#{tags[1]}]\n1:gamma"
    )
    assert (session.root / "a").read_text() == "beta\ngamma\n"
    assert (session.root / "d/b").read_text() == "gamma\n"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs modes")
@pytest.mark.clause("T10.21")
async def test_a_second_file_that_cannot_be_written_takes_the_first_back(
    session: FileSession,
) -> None:
    first, second = session.put("a", GREEK), session.put("b", GREEK)
    second.chmod(0o444)
    error = await session.fail("edit", input="[a#D8BC]\nCUT 1\n[b#D8BC]\nCUT 1")
    assert "rolled back" in error.message
    assert (first.read_text(), second.read_text()) == (GREEK, GREEK)
    assert sorted(entry.name for entry in session.root.iterdir()) == ["a", "b"]


@pytest.mark.clause("T10.4")
async def test_one_file_in_two_sections_is_refused_under_any_spelling(
    session: FileSession,
) -> None:
    session.put("f", GREEK)
    (session.root / "link").symlink_to("f")
    error = await session.fail("edit", input="[f#D8BC]\nCUT 1\n[f#D8BC]\nCUT 2")
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert "more than once: f;" in error.message
    error = await session.fail("edit", input="[./f#D8BC]\nCUT 1\n[link#D8BC]\nCUT 2")
    assert "more than once: ./f and link" in error.message
    assert (session.root / "f").read_text() == GREEK


@pytest.mark.clause("T10.1", "T10.4", "T10.10", "T2.1")
async def test_a_wrong_document_is_refused_before_any_path_is_looked_at(
    session: FileSession,
) -> None:
    error = await session.fail("edit", input="[../outside#0000]\nPUT 1:")
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert error.message.startswith("invalid arguments: line 2: ")
    error = await session.fail("edit", input="[f#0000]\nCUT 1", path="f")
    assert "unknown key 'path'" in error.message
    error = await session.fail("edit", input="[../outside#0000]\nCUT 1")
    assert error.tool_kind is ToolErrorKind.POLICY_DENIED


@pytest.mark.clause("T10.3")
async def test_a_missing_file_is_not_created_and_near_names_are_told(session: FileSession) -> None:
    session.put("name.txt", GREEK)
    error = await session.fail("edit", input="[nam.txt#D8BC]\nPUT >$:\n+x")
    assert error.message.startswith("could not read nam.txt")
    assert "name.txt" in error.message
    assert [entry.name for entry in session.root.iterdir()] == ["name.txt"]


@pytest.mark.clause("case:B4", "case:B6", "T3.13")
@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
async def test_a_byte_order_mark_stays_whether_or_not_the_rows_repeat_it(
    session: FileSession, codec: str
) -> None:
    path = session.put("f", "salut\r\nß\r\n".encode(codec))
    read = await session.run("read_file", path="f")
    header = read.content.split("\n")[0]
    assert "1:\ufeffsalut" in read.content
    output = await session.run("edit", input=f"{header}\nPUT 1:\n+\ufeffsalut😀")
    assert path.read_bytes() == "salut😀\r\nß\r\n".encode(codec)
    header = output.content.split("\n")[1]
    await session.run("edit", input=f"{header}\nPUT 1:\n+hallo\nPUT <1:\n+eins")
    assert path.read_bytes() == "eins\r\nhallo\r\nß\r\n".encode(codec)


@pytest.mark.clause("T10.27")
async def test_a_structural_edit_shows_no_rows_and_a_fresh_read_goes_on(
    session: FileSession,
) -> None:
    session.put("f", "".join(f"{number}\n" for number in range(1, 101)))
    output = await session.run("edit", input=document(session, "f", "PUT 11.=60:", "+new"))
    summary, header, blank, note = output.content.split("\n")
    assert summary == "PUT 11.=60: (50 → 1 line(s))"
    assert header.startswith("[f#")
    assert blank == ""
    assert "structural edit" in note
    assert "no chainable body lines" in note
    assert "51 line(s)" in note
    read = await session.run("read_file", path="f")
    await session.run("edit", input=read.content.split("\n")[0] + "\nCUT 11")
    assert (session.root / "f").read_text().split("\n")[9:12] == ["10", "61", "62"]


@pytest.mark.clause("T10.26", "T3.9")
async def test_the_preview_gives_every_hunk_some_rows(session: FileSession) -> None:
    session.put("f", "".join(f"{number}\n" for number in range(1, 201)))
    rows = [f"+row {number}" for number in range(30)]
    output = await session.run(
        "edit",
        input=document(session, "f", "PUT >10:", *rows, "PUT >100:", *rows, "CUT 150"),
    )
    body = output.content.split("\n\n[")[0].split("\n")[2:]
    assert len([row for row in body if row != "…"]) <= 40
    assert "8:8" in body
    assert "11:row 0" in body
    assert "128:98" in body
    assert any(row.startswith("207:") for row in body)
    assert "8-" in output.content
    assert "of 259" in output.content.split("\n\n[")[1]


@pytest.mark.clause("T10.23", "case:B12", "case:B13")
async def test_a_link_keeps_pointing_and_a_hard_link_keeps_its_twin(session: FileSession) -> None:
    path = session.put("f", GREEK)
    path.chmod(0o755)
    (session.root / "link").symlink_to("f")
    (session.root / "twin").hardlink_to(path)
    await session.run("edit", input="[link#D8BC]\nCUT 1.=2")
    assert (session.root / "link").is_symlink()
    assert (session.root / "twin").read_text() == path.read_text() == "gamma\n"
    assert path.stat().st_mode & 0o777 == 0o755
    (session.root / "x").symlink_to("y")
    (session.root / "y").symlink_to("x")
    error = await session.fail("edit", input="[x#D8BC]\nCUT 1")
    assert error.tool_kind is ToolErrorKind.EXECUTION


@pytest.mark.clause("case:B17", "T10.9")
async def test_typographic_quotes_are_written_and_told_apart(session: FileSession) -> None:
    path = session.put("f", "d'un\n")
    await session.run("edit", input=document(session, "f", "PUT 1:", "+d\u2019un \u201cmot\u201d"))
    assert path.read_bytes() == "d\u2019un \u201cmot\u201d\n".encode()
    await session.run("edit", input=document(session, "f", "PUT 1:", "+d'un"))
    assert path.read_bytes() == b"d'un\n"


@pytest.mark.clause("D4")
async def test_the_tool_can_be_called_alone_with_a_context_that_authorizes(
    session: FileSession,
) -> None:
    path = session.put("f", GREEK)
    asked: list[type] = []

    async def authorize(request: CapabilityRequest) -> AuthorizationOutcome:
        asked.append(type(request.operation))
        return AuthorizationOutcome.ALLOWED_BY_POLICY

    output = await session.tools["edit"].call(
        ToolInvocation(ToolCallId("call-1"), {"input": "[f#D8BC]\nCUT 2.=3"}),
        ToolContext(workspace=session.workspace, authorization=authorize),
    )
    assert output.content.startswith("CUT 2.=3 (2 lines)\n")
    assert path.read_text() == "alpha\n"
    assert asked == [WritePath, ReadPath]


@pytest.mark.clause("case:B5", "case:B6", "T11.7")
@pytest.mark.parametrize("data", [b"a = 1\n# na\xefve\n", b"\x7fELF\x00\x01", b"\xff\xfea"])
async def test_what_cannot_be_decoded_is_refused_and_left(
    session: FileSession, data: bytes
) -> None:
    path = session.put("f", data)
    error = await session.fail("edit", input="[f#0000]\nCUT 1")
    assert error.message.startswith("could not read f: it ")
    assert path.read_bytes() == data


async def test_rows_that_have_no_bytes_are_refused(session: FileSession) -> None:
    path = session.put("f", GREEK)
    error = await session.fail("edit", input="[f#D8BC]\nPUT 1:\n+\ud800")
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert path.read_text() == GREEK


@pytest.mark.clause("T2.19", "T2.18")
async def test_the_result_stays_in_its_budget(tmp_path: Path) -> None:
    session = FileSession(tmp_path, edit_format="hashline", max_output_bytes=300)
    session.put("f", "".join(f"{'x' * 90}\n" for _ in range(30)))
    output = await session.run("edit", input=document(session, "f", "PUT 5:", "+y", "CUT 20"))
    assert len(output.content.encode()) <= 312
    assert output.content.startswith("PUT 5: (1 → 1 line(s)); CUT 20 (1 line)\n[f#")


@pytest.mark.clause("T1.3", "T10.2")
def test_the_tool_is_named_edit_and_says_what_a_model_needs() -> None:
    from rho_core.tools.edit.hashline.tool import EditTool

    spec = EditTool(MutationSettings(FileLedger())).spec()
    assert spec.name == "edit"
    assert list(spec.input_schema["properties"]) == ["input"]
    for fact in ("read_file", "grep", "Never invent", "PUT 3.=5:", "CUT 3", "write"):
        assert fact in spec.description
    assert len(spec.description) < 1_300
