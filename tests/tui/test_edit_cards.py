"""Cards of `edit` and `apply_patch`: headers, previews while they stream, real diffs after."""

from __future__ import annotations

import pytest

from rho_core.errors import ToolErrorKind
from rho_core.tooling.values import (
    ToolFailed,
    ToolMetadata,
    ToolOperation,
    ToolOutput,
    ToolSucceeded,
)
from rho_core.tools.edit.apply_patch.projection import project_patch
from rho_core.tools.edit.hashline.projection import project_edit
from rho_core.tools.edit.projection import MAX_FILES, MAX_ROWS
from rho_tui.transcript.blocks import CardStatus, DiffBody
from rho_tui.transcript.diff import LineKind, parse_diff
from rho_tui.transcript.tool_cards import CallFacts, tool_card

EDIT = "[src/a.py#1A2B]\nPUT 2.=5:\n+two\n+three\nCUT 9\n[b.py#00FF]\nPUT >$:\n+end\n"
PATCH = (
    "*** Begin Patch\n*** Add File: new.py\n+one\n+two\n*** Update File: old.py\n"
    "*** Move to: moved.py\n@@ def f():\n keep\n-gone\n+come\n*** Delete File: bye.py\n"
)


def written(diff: str | None = None, *paths: str) -> ToolMetadata:
    return ToolMetadata(operation=ToolOperation.WRITE, affected_paths=paths, diff=diff)


def facts(call: CallFacts) -> list[str]:
    return [fact.text for fact in tool_card(call).facts]


@pytest.mark.clause("T29.2", "APP2.31")
@pytest.mark.parametrize(
    ("name", "text", "primary"),
    [
        ("edit", "[src/a.py#1A2B]\nCUT 1", "src/a.py"),
        ("edit", EDIT, "2 files"),
        ("edit", "[src/a.p", ""),
        ("apply_patch", "*** Begin Patch\n*** Delete File: x\n", "x"),
        ("apply_patch", PATCH, "3 files"),
        (
            "apply_patch",
            "*** Begin Patch\n*** Update File: a\n*** Move to: b\n-x\n",
            "a → b",
        ),
    ],
)
def test_the_header_names_the_file_or_counts_them(name: str, text: str, primary: str) -> None:
    header = tool_card(CallFacts(name, {"input": text})).header
    assert (header.verb, header.primary) == (name, primary)


@pytest.mark.clause("APP2.32", "T10.29")
def test_an_edit_that_streams_shows_its_rows_and_what_it_declares() -> None:
    card = tool_card(CallFacts("edit", {"input": EDIT}))
    assert card.status is CardStatus.RUNNING
    assert facts(CallFacts("edit", {"input": EDIT})) == ["+3 -5 lines"]
    (body,) = card.bodies
    assert isinstance(body, DiffBody)
    diff = parse_diff(body.diff)
    assert [file.path for file in diff.files] == ["src/a.py", "b.py"]
    assert [(line.kind, line.text, line.number) for line in diff.lines] == [
        (LineKind.META, "PUT 2.=5: (4 → 2 line(s))", 0),
        (LineKind.ADDED, "two", 2),
        (LineKind.ADDED, "three", 3),
        (LineKind.META, "CUT 9 (1 line)", 0),
        (LineKind.META, "PUT >$: (+1 line(s))", 0),
        (LineKind.ADDED, "end", 0),
    ]


@pytest.mark.clause("APP2.32", "T12.27")
def test_a_patch_that_streams_shows_its_rows_without_line_numbers_it_cannot_know() -> None:
    (body,) = tool_card(CallFacts("apply_patch", {"input": PATCH})).bodies
    assert isinstance(body, DiffBody)
    diff = parse_diff(body.diff)
    assert [(file.path, file.added, file.removed) for file in diff.files] == [
        ("new.py", 2, 0),
        ("moved.py", 1, 1),
        ("bye.py", 0, 0),
    ]
    numbers = {(line.text, line.number) for line in diff.lines if line.kind is not LineKind.META}
    assert numbers == {("one", 1), ("two", 2), ("keep", 0), ("gone", 0), ("come", 0)}


@pytest.mark.clause("T10.29")
def test_only_deleting_lines_is_a_change_of_content_with_counts() -> None:
    projection = project_edit("[a#0000]\nCUT 3.=5\n")
    assert (projection.added, projection.removed) == (0, 3)
    assert projection.files[0].path == projection.files[0].old_path == "a"
    assert projection.files[0].rows == ("CUT 3.=5 (3 lines)",)


@pytest.mark.clause("T10.29", "T10.11")
def test_every_prefix_of_a_document_can_be_shown() -> None:
    for name, text in (("edit", EDIT), ("apply_patch", PATCH)):
        for end in range(len(text) + 1):
            tool_card(CallFacts(name, {"input": text[:end]}))
    assert project_edit("[a#0000]\nPUT 3:\n+x\nPUT 5:\n").added == 1
    assert project_patch("*** Begin Patch\n*** Add File: a\n+x\n+par").added == 1


@pytest.mark.clause("T10.29", "T12.27")
def test_previews_are_bounded() -> None:
    rows = "".join(f"+{number}\n" for number in range(5_000))
    for projection in (
        project_edit(f"[a#0000]\nPUT 1:\n{rows}"),
        project_patch(f"*** Begin Patch\n*** Add File: a\n{rows}"),
    ):
        assert projection.is_cut
        assert projection.added == 5_000
        assert len(projection.files[0].rows) == MAX_ROWS
        assert projection.diff.endswith("… more is not shown here\n")
    many = "".join(f"[{number}#0000]\nCUT 1\n" for number in range(300))
    assert len(project_edit(many).files) == MAX_FILES
    assert tool_card(CallFacts("edit", {"input": many})).header.primary == "100+ files"


@pytest.mark.clause("APP2.32", "T10.30")
def test_the_real_diff_takes_the_place_of_the_preview() -> None:
    real = "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n"
    call = CallFacts("edit", {"input": EDIT}, metadata=written(real, "b"))
    assert tool_card(call).bodies == (DiffBody(real, "b"),)
    assert facts(call) == ["+1 -1 lines"]
    output = ToolOutput.text("PUT 1: …", written(real, "b"))
    done = CallFacts("edit", {"input": EDIT}, completion=ToolSucceeded(output))
    assert tool_card(done).bodies == (DiffBody(real, "b"),)


@pytest.mark.clause("T10.30")
def test_an_edit_whose_files_do_not_fit_shows_its_document_and_says_so() -> None:
    call = CallFacts("edit", {"input": EDIT}, metadata=written(None, "src/a.py", "b.py"))
    assert facts(call) == ["+3 -5 lines", "not verified against the files"]
    assert isinstance(tool_card(call).bodies[0], DiffBody)
    failed = ToolFailed(ToolErrorKind.EXECUTION, "b.py: tag mismatch\n\nLive snapshot\n1:x")
    card = tool_card(CallFacts("edit", {"input": EDIT}, completion=failed))
    assert card.status is CardStatus.ERROR
    assert [fact.text for fact in card.facts] == ["b.py: tag mismatch"]
