"""The user's own commands, and what plan mode lets happen (section 28)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rho_core.authority.capabilities import ProcessEnvironment
from rho_core.authority.policy import Allow, DenyByPolicy
from rho_core.testing import ScriptedProvider, ScriptedTurn
from rho_core.tools.shell.processes import ShellSupervisor
from rho_tui.host.permissions import ModePolicy, PermissionMode
from rho_tui.screens import inline_shell
from rho_tui.screens.inline_shell import InlineShell
from rho_tui.transcript.sink import BlockList
from tests.tools.built_in_tools import built_in_tools
from tests.tools.shell_harness import is_alive, unique_sleep, wait_until
from tests.tools.tool_calls import ToolCalls
from tests.tui.scene import Scene
from tests.tui.stage import Stage


@pytest.fixture
async def supervisor() -> AsyncIterator[ShellSupervisor]:
    owner = ShellSupervisor()
    yield owner
    await owner.aclose()


@pytest.mark.clause("T28.1", "T28.3")
async def test_the_users_own_command_is_told_with_its_output_and_code(
    supervisor: ShellSupervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    monkeypatch.setenv("OTHER", "kept")
    environment = ProcessEnvironment.inherit_except(["SECRET_KEY"])
    shell = InlineShell(supervisor, environment, 64_000)
    marker = unique_sleep()
    command = f"cat; pwd; echo [$SECRET_KEY$OTHER]; {marker} & echo bad >&2; exit 3"
    sink = BlockList()
    text = await asyncio.wait_for(shell.run(command, tmp_path, sink), 10)
    assert text.startswith(f"The user ran a command:\n$ {command}\n\nstdout:\n")
    assert f"stdout:\n{tmp_path.resolve()}\n[kept]\n" in text
    assert "stderr:\nbad\n" in text
    assert "exit code: 3" in text
    assert wait_until(lambda: not is_alive(marker))
    assert len(sink.blocks) == 1
    assert not shell.is_running


@pytest.mark.clause("T28.1")
async def test_the_users_own_command_has_a_time_limit(
    supervisor: ShellSupervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert inline_shell.TIMEOUT_SECONDS == 60
    monkeypatch.setattr(inline_shell, "TIMEOUT_SECONDS", 0.3)
    shell = InlineShell(supervisor, ProcessEnvironment(), 64_000)
    marker = unique_sleep()
    text = await asyncio.wait_for(shell.run(f"echo on; {marker}", tmp_path, BlockList()), 10)
    assert "command timed out after 0.3s\n\nstdout:\non" in text
    assert wait_until(lambda: not is_alive(marker))


@pytest.mark.clause("T28.3")
async def test_the_users_own_command_keeps_the_budget_and_can_be_cancelled(
    supervisor: ShellSupervisor, tmp_path: Path
) -> None:
    shell = InlineShell(supervisor, ProcessEnvironment(), 1_000)
    text = await shell.run("seq 1 5000", tmp_path, BlockList())
    assert len(text.encode()) < 1_100
    assert "stdout:\n1\n2\n" in text
    assert "bytes left out" in text
    assert "\n5000\n\ntime: " in text
    marker = unique_sleep()
    running = asyncio.create_task(shell.run(marker, tmp_path, BlockList()))
    while not is_alive(marker):
        assert not running.done()
        await asyncio.sleep(0.01)
    shell.cancel()
    assert (await asyncio.wait_for(running, 5)).endswith("\n\ncancelled\n\n")
    assert not is_alive(marker)


PLAN_MODE: list[tuple[str, dict[str, Any], bool]] = [
    ("list_dir", {"path": "."}, True),
    ("read_file", {"path": "a.txt"}, True),
    ("grep", {"pattern": "a"}, True),
    ("glob", {"pattern": "*"}, True),
    ("skill", {"name": "demo"}, True),
    ("questionnaire", {"questions": [{"question": "?", "type": "confirm"}]}, True),
    ("process", {"action": "poll", "process_id": "x"}, True),
    ("process", {"action": "stop", "process_id": "x"}, True),
    ("process", {"action": "start", "command": "true"}, False),
    ("bash", {"command": "true"}, False),
    ("write", {"path": "a.txt", "content": "b"}, False),
    ("str_replace", {"path": "a.txt", "old_string": "hello", "new_string": "b"}, False),
    ("apply_patch", {"input": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"}, False),
    ("edit", {"input": "[a.txt#4173]\nCUT 1"}, False),
]


@pytest.mark.clause("T28.6")
@pytest.mark.parametrize(("name", "arguments", "works"), PLAN_MODE)
async def test_plan_mode_lets_read_and_neither_write_nor_run(
    tmp_path: Path, name: str, arguments: dict[str, Any], works: bool
) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    skill = tmp_path / ".agents" / "skills" / "demo" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: demo\ndescription: d\n---\n")
    async with built_in_tools() as tools:
        plan = await ToolCalls(tools[name], tmp_path).prepare(**arguments)
    policy = ModePolicy(PermissionMode.PLAN)
    decisions = [policy.evaluate(request) for request in plan.capabilities]
    assert all(isinstance(decision, Allow) for decision in decisions) is works
    assert works or any(isinstance(decision, DenyByPolicy) for decision in decisions)


def _shell_runs(scene: Scene) -> bool:
    shell = scene.chat._shell
    return shell is not None and shell.is_running


@pytest.mark.clause("T28.1", "T28.6")
async def test_a_command_is_told_unless_marked_twice_and_refused_in_plan_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = ScriptedProvider([ScriptedTurn.completed("seen")])
    stage = Stage(tmp_path, provider=provider)
    monkeypatch.setenv("HOME", str(stage.home))
    async with stage.app().run_test(size=(100, 30)) as pilot:
        scene = Scene(stage, pilot)
        await scene.open()
        for line, shown in (("!!echo hid''den", "hidden"), ("!echo shar''ed", "shared")):
            scene.ask(line)
            await scene.shows(shown)
            await scene.until(lambda: not _shell_runs(scene))
        await scene.turn("go on")
        scene.ask("/mode plan")
        await scene.until(lambda: scene.chat.bench.permission_mode == "plan")
        scene.ask("!touch ran")
        await scene.shows("plan mode is on: no commands run")
        prompt = repr(provider.requests[0].messages[-1])
        await scene.chat.leave()
    await asyncio.to_thread(stage.close)
    assert "$ echo shar''ed" in prompt
    assert "shared" in prompt
    assert "hid" not in prompt
    assert not (stage.project / "ran").exists()
