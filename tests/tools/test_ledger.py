"""Nobody's changes are overwritten: the ledger, and two calls about one file (30.6, 30.7)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tools.files.ledger import FileLedger
from tests.tools.file_harness import FileSession


@pytest.fixture
def session(tmp_path: Path) -> FileSession:
    return FileSession(tmp_path)


def test_the_ledger_tells_own_writes_from_what_was_only_seen() -> None:
    ledger, path = FileLedger(), Path("/w/f")
    assert ledger.is_fresh(path, "h1")
    ledger.record_read(path, "h1")
    assert ledger.is_fresh(path, "h1")
    assert not ledger.is_fresh(path, "h2")
    assert not ledger.is_own_write(path, "h1")
    ledger.record_write(path, "h2")
    assert ledger.is_own_write(path, "h2")
    ledger.record_read(path, "h2")
    assert ledger.is_own_write(path, "h2")
    ledger.record_read(path, "h3")
    assert not ledger.is_own_write(path, "h3")
    with pytest.raises(ToolError, match=r"f changed on disk.*Re-read it"):
        ledger.check_fresh(path, "h2", "f")


@pytest.mark.clause("case:B15", "T30.6", "T8.7")
async def test_a_file_that_the_user_changed_since_it_was_read_is_refused(
    session: FileSession,
) -> None:
    path = session.put("f", "one\n")
    await session.run("read_file", path="f")
    path.write_text("one\nmine\n")
    for error in (
        await session.fail("write", path="f", content="new\n"),
        await session.fail("str_replace", path="f", old_string="one", new_string="two"),
    ):
        assert error.tool_kind is ToolErrorKind.EXECUTION
        assert "Re-read it" in error.message
    assert path.read_text() == "one\nmine\n"
    await session.run("read_file", path="f")
    await session.run("str_replace", path="f", old_string="one", new_string="two")
    assert path.read_text() == "two\nmine\n"


@pytest.mark.clause("case:B15", "T30.7")
async def test_a_change_of_the_same_size_with_the_time_restored_is_seen(
    session: FileSession,
) -> None:
    path = session.put("f", "one \n")
    facts = path.stat()
    await session.run("read_file", path="f")
    path.write_text("one\t\n")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    await session.fail("write", path="f", content="new\n")
    assert path.read_text() == "one\t\n"


@pytest.mark.clause("case:B15")
async def test_a_touched_file_with_the_same_content_is_not_stale(session: FileSession) -> None:
    path = session.put("f", "one\n")
    await session.run("read_file", path="f")
    os.utime(path, (1, 1))
    await session.run("write", path="f", content="new\n")
    assert path.read_text() == "new\n"


@pytest.mark.clause("case:B16")
async def test_the_sessions_own_edits_need_no_further_reads(session: FileSession) -> None:
    path = session.put("f", "a\nb\nc\n")
    await session.run("read_file", path="f")
    for old in "abc":
        await session.run("str_replace", path="f", old_string=old, new_string=old.upper())
    await session.run("write", path="f", content="done\n")
    assert path.read_text() == "done\n"


async def test_a_file_that_was_never_read_may_be_changed_after_its_diff_was_shown(
    session: FileSession,
) -> None:
    session.put("f", "old\n")
    plan = await session.prepare("write", path="f", content="new\n")
    assert plan.metadata.diff is not None
    assert "-old\n+new\n" in plan.metadata.diff
    await session.execute(plan)
    assert (session.root / "f").read_text() == "new\n"


@pytest.mark.parametrize("tool", ["write", "str_replace"])
@pytest.mark.clause("T30.6", "T2.28")
async def test_a_change_between_the_diff_and_its_approval_is_refused(
    session: FileSession, tool: str
) -> None:
    path = session.put("f", "one\ntwo\n")
    arguments = {
        "write": {"content": "new\n"},
        "str_replace": {"old_string": "one", "new_string": "1"},
    }[tool]
    plan = await session.prepare(tool, path="f", **arguments)
    path.write_text("one\ntwo\nmine\n")
    with pytest.raises(ToolError, match="changed on disk"):
        await session.execute(plan)
    assert path.read_text() == "one\ntwo\nmine\n"


async def test_a_read_in_between_does_not_make_a_foreign_change_the_sessions_own(
    session: FileSession,
) -> None:
    path = session.put("f", "one\n")
    plan = await session.prepare("write", path="f", content="new\n")
    path.write_text("one\nmine\n")
    await session.run("read_file", path="f")
    with pytest.raises(ToolError, match="changed on disk"):
        await session.execute(plan)
    assert path.read_text() == "one\nmine\n"


@pytest.mark.clause("case:B18")
async def test_two_edits_of_one_answer_are_both_applied_in_order(session: FileSession) -> None:
    path = session.put("n.txt", "".join(f"{n}\n" for n in range(10, 61)))
    first = await session.prepare(
        "str_replace", path="./n.txt", old_string="20", new_string="twenty"
    )
    second = await session.prepare(
        "str_replace", path=str(path), old_string="44", new_string="forty-four"
    )
    assert first.accesses[0].conflicts_with(second.accesses[0])
    await session.execute(first)
    output = await session.execute(second)
    text = path.read_text()
    assert "\ntwenty\n" in text
    assert "\nforty-four\n" in text
    assert output.metadata.diff is not None
    assert "twenty" not in output.metadata.diff


@pytest.mark.clause("case:B18")
async def test_an_edit_and_a_write_of_one_answer_happen_in_order(session: FileSession) -> None:
    path = session.put("n.txt", "a\nb\n")
    first = await session.prepare("str_replace", path="n.txt", old_string="a", new_string="A")
    second = await session.prepare("write", path=str(path), content="whole\n")
    await session.execute(first)
    output = await session.execute(second)
    assert path.read_text() == "whole\n"
    assert output.metadata.diff is not None
    assert "-A\n" in output.metadata.diff


async def test_the_second_of_two_edits_is_refused_if_the_first_took_its_text_away(
    session: FileSession,
) -> None:
    path = session.put("n.txt", "a\nb\n")
    first = await session.prepare("str_replace", path="n.txt", old_string="a\nb", new_string="c")
    second = await session.prepare("str_replace", path="n.txt", old_string="b", new_string="B")
    await session.execute(first)
    with pytest.raises(ToolError, match=r"found 0 occurrence\(s\)"):
        await session.execute(second)
    assert path.read_text() == "c\n"


async def test_an_edit_that_only_applies_after_another_one_of_the_answer_is_to_be_sent_again(
    session: FileSession,
) -> None:
    path = session.put("n.txt", "a\n")
    first = await session.prepare("str_replace", path="n.txt", old_string="a", new_string="b")
    second = await session.prepare("str_replace", path="n.txt", old_string="b", new_string="c")
    assert first.accesses[0].conflicts_with(second.accesses[0])
    await session.execute(first)
    with pytest.raises(ToolError, match="send the call again"):
        await session.execute(second)
    assert path.read_text() == "b\n"


@pytest.mark.clause("T2.28")
async def test_a_new_file_that_somebody_else_created_meanwhile_is_left(
    session: FileSession,
) -> None:
    plan = await session.prepare("write", path="f", content="new\n")
    (session.root / "f").write_text("mine\n")
    with pytest.raises(ToolError) as caught:
        await session.execute(plan)
    assert caught.value.tool_kind is ToolErrorKind.POLICY_DENIED
    assert (session.root / "f").read_text() == "mine\n"
