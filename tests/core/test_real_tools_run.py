"""Runs over the real file and shell tools in a real folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core import events as ev
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.errors import Cancelled, ToolError
from rho_core.session import Session
from rho_core.testing import ScriptedProvider, ScriptedTool, ScriptedTurn
from rho_core.tooling.values import ToolFailed
from rho_core.tools.file_tools import file_tools
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.shell.tool import BashTool
from tests.core.run_harness import (
    assert_calls_paired,
    assert_replay_safe,
    call,
    collect,
    leaked_tasks,
    of,
    open_session,
    read_until,
    results,
    run_all,
    until,
    within,
)
from tests.tools.shell_harness import is_alive, unique_sleep

ALL = ScopedWorkspacePolicy().allow_read_paths().allow_write_paths().allow_processes()


async def working(
    folder: Path, *turns: ScriptedTurn, policy: ScopedWorkspacePolicy = ALL
) -> tuple[Session, ScriptedProvider]:
    return await open_session(
        [*turns, ScriptedTurn.completed("end")],
        tools=[*file_tools(FileLedger()), BashTool()],
        workspace=Workspace(folder),
        policy=policy,
        max_parallel_tools=4,
    )


@pytest.mark.clause("D17", "D28", "T1.7")
async def test_files_are_written_read_and_seen_by_a_command_in_model_order(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("three\n")
    session, _ = await working(
        tmp_path,
        ScriptedTurn.calls(
            call("w1", "write", path="a.txt", content="one\n"),
            call("w2", "write", path="b.txt", content="two\n"),
            call("r", "read_file", path="c.txt"),
            call("sh", "bash", command="cat a.txt b.txt"),
        ),
    )
    events, _ = await run_all(session)
    assert (tmp_path / "a.txt").read_text() == "one\n"
    w1, w2, read, shell = results(session.history)
    assert [w1.ok, w2.ok, read.ok, shell.ok] == [True] * 4
    assert "three" in read.content
    assert "one\ntwo" in shell.content
    assert of(events, ev.ToolStarted)[0].metadata.diff is not None
    assert_calls_paired(events)


@pytest.mark.clause("E10", "D24")
async def test_without_a_grant_nothing_happens_and_the_model_is_told(tmp_path: Path) -> None:
    session, provider = await working(
        tmp_path,
        ScriptedTurn.calls(
            call("w", "write", path="a.txt", content="x"),
            call("sh", "bash", command="touch b.txt"),
        ),
        policy=ScopedWorkspacePolicy(),
    )
    await run_all(session)
    assert list(tmp_path.iterdir()) == []
    assert [r.content.split(":")[0] for r in results(provider.requests[1].messages)] == [
        "write capability denied",
        "process capability denied",
    ]


@pytest.mark.clause("D29", "D30", "X4")
async def test_cancelling_a_run_kills_its_command(tmp_path: Path) -> None:
    sleep = unique_sleep()
    session, _ = await working(tmp_path, ScriptedTurn.calls(call("sh", "bash", command=sleep)))
    async with session.start("go") as run:
        await read_until(run, ev.ToolStarted)
        await until(lambda: is_alive(sleep))
        run.cancel()
        events = await within(collect(run))
        with pytest.raises(Cancelled):
            await run.outcome()
    assert not is_alive(sleep)
    assert len(of(events, ev.ToolFinished)) == 1
    assert_replay_safe(session.history)
    assert not leaked_tasks()


@pytest.mark.clause("D43")
async def test_a_failed_commands_facts_reach_the_card(tmp_path: Path) -> None:
    session, _ = await working(tmp_path, ScriptedTurn.calls(call("sh", "bash", command="exit 3")))
    events, _ = await run_all(session)
    completion = of(events, ev.ToolFinished)[0].completion
    assert isinstance(completion, ToolFailed)
    assert completion.metadata.details["exit_code"] == 3


async def test_facts_that_are_no_json_do_not_end_the_run() -> None:
    error = ToolError.execution("broke").with_details(weird=object())
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")],
        tools=[ScriptedTool("t", error)],
    )
    _, outcome = await run_all(session)
    assert outcome.text == "end"
    assert results(session.history)[0].content == "broke"
