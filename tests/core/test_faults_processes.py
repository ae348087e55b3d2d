"""Cancel, drop, or raise at every await point up to a running command: none outlives its run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.errors import RhoError
from rho_core.run import Run
from rho_core.testing import ScriptedProvider, ScriptedTurn
from rho_core.tools.shell.tool import BashTool
from tests.core.fault_injection import Fuse, inside, probing
from tests.core.run_harness import (
    assert_replay_safe,
    call,
    collect,
    leaked_tasks,
    open_session,
    until,
    within,
)
from tests.tools.shell_harness import is_alive, unique_sleep


async def comes_true(condition: Callable[[], object]) -> None:
    """Like `until`, for what takes a process its time: looks now and then, not all the time."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - a process tells nobody that it runs
            await asyncio.sleep(0.004)


def drop(run: Run) -> None:
    run._events.drop()
    run.cancel()
    run._task.cancel()


async def strike(root: Path, number: int, action: Callable[[Run], object] | None) -> bool:
    """One run, struck at its n-th await point; False if its command ran on undisturbed."""
    sleep = unique_sleep()
    session, _ = await open_session(
        [ScriptedTurn.calls(call("sh", "bash", command=sleep)), ScriptedTurn.completed("end")],
        tools=[BashTool()],
        workspace=Workspace(root),
        policy=ScopedWorkspacePolicy().allow_processes(),
    )
    fuse = Fuse(number, None)
    with probing(fuse):
        with inside():
            run = session.start("go")
        if action is not None:
            fuse.action = lambda: action(run)
        reading = asyncio.create_task(collect(run))
        await comes_true(lambda: fuse.struck or is_alive(sleep) or run.is_finished)
        struck = fuse.struck
        # an exception in some places only loses live output, and the command goes on
        await comes_true(lambda: run.is_finished or is_alive(sleep))
        run.cancel()
        try:
            await within(run.outcome())
        except RhoError:
            assert struck or run.cancellation_handle.is_cancelled
        await within(reading)
    await until(lambda: not leaked_tasks(), "the end of every task")
    assert not is_alive(sleep), f"a command outlived await point {number} in {fuse.struck!r}"
    assert_replay_safe(session.history)
    session.replace_provider(ScriptedProvider([ScriptedTurn.completed("usable")]))
    assert (await within(session.complete("again"))).text == "usable"
    return struck is not None


@pytest.mark.clause("C5", "C72", "D29", "D30")
@pytest.mark.parametrize("action", [Run.cancel, drop, None], ids=["cancel", "drop", "raise"])
async def test_no_command_outlives_its_run(
    tmp_path: Path, action: Callable[[Run], object] | None
) -> None:
    for number in range(1, 200):
        if not await strike(tmp_path, number, action):
            assert number > 8, "the run has lost its await points"
            return
    raise AssertionError("the command never ran undisturbed")
