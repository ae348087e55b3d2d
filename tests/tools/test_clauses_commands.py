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
from rho_tui.host import user_shell
from rho_tui.host.command_news import COMMAND_NEWS_HEAD, CommandNews
from rho_tui.host.facts import ConversationEvent
from rho_tui.host.permissions import ModePolicy, PermissionMode
from rho_tui.host.sessions import records as r
from rho_tui.host.user_shell import ShellSettings, UserShell
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


class Ran:
    """The user's commands in a folder, and what is recorded of them."""

    def __init__(self, settings: ShellSettings, folder: Path) -> None:
        self.shell = UserShell(settings, folder, self._tell)
        self.records: list[r.Record] = []

    def _tell(self, record: r.Record | None, _event: ConversationEvent) -> None:
        if record is not None:
            self.records.append(record)

    async def told(self, command: str) -> str:
        """Run a command; what the model is told of it."""
        self.records.clear()
        await self.shell.run(command, included=True)
        [text] = CommandNews(self.records).take()
        return text


@pytest.mark.clause("T28.1", "T28.3")
async def test_the_users_own_command_is_told_with_its_output_and_code(
    supervisor: ShellSupervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    monkeypatch.setenv("OTHER", "kept")
    environment = ProcessEnvironment.inherit_except(["SECRET_KEY"])
    ran = Ran(ShellSettings(supervisor, environment, 64_000), tmp_path)
    marker = unique_sleep()
    command = f"cat; pwd; echo [$SECRET_KEY$OTHER]; {marker} & echo bad >&2; exit 3"
    text = await asyncio.wait_for(ran.told(command), 10)
    assert text.startswith(f"{COMMAND_NEWS_HEAD}\n$ {command}\n\nstdout:\n")
    assert f"stdout:\n{tmp_path.resolve()}\n[kept]\n" in text
    assert "stderr:\nbad\n" in text
    assert "exit code: 3" in text
    assert wait_until(lambda: not is_alive(marker))
    assert [type(record) for record in ran.records] == [r.UserCommandStarted, r.UserCommandEnded]
    assert not ran.shell.is_running


@pytest.mark.clause("T28.1")
async def test_the_users_own_command_has_a_time_limit(
    supervisor: ShellSupervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert user_shell.TIMEOUT_SECONDS == 60
    monkeypatch.setattr(user_shell, "TIMEOUT_SECONDS", 0.3)
    ran = Ran(ShellSettings(supervisor, ProcessEnvironment(), 64_000), tmp_path)
    marker = unique_sleep()
    text = await asyncio.wait_for(ran.told(f"echo on; {marker}"), 10)
    assert "command timed out after 0.3s\n\nstdout:\non" in text
    assert wait_until(lambda: not is_alive(marker))


@pytest.mark.clause("T28.3")
async def test_the_users_own_command_keeps_the_budget_and_can_be_cancelled(
    supervisor: ShellSupervisor, tmp_path: Path
) -> None:
    ran = Ran(ShellSettings(supervisor, ProcessEnvironment(), 1_000), tmp_path)
    text = await ran.told("seq 1 5000")
    assert len(text.encode()) < 1_100
    assert "stdout:\n1\n2\n" in text
    assert "bytes left out" in text
    assert "\n5000\n\ntime: " in text
    marker = unique_sleep()
    running = asyncio.create_task(ran.told(marker))
    while not is_alive(marker):
        assert not running.done()
        await asyncio.sleep(0.01)
    ran.shell.cancel()
    assert (await asyncio.wait_for(running, 5)).endswith("\n\ncancelled")
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
            await scene.until(lambda: not scene.chat.control.command_is_running)
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
