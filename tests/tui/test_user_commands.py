"""`!command` in the app: stopped, kept with the session, and in nobody's way."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core.testing import ScriptedProvider, ScriptedTurn
from rho_tui.host.sessions.index import list_sessions
from rho_tui.transcript.blocks import CardStatus, ShellBody, ToolCard
from tests.tools.shell_harness import is_alive, unique_sleep
from tests.tui.scene import Scene
from tests.tui.stage import Stage
from tests.tui.terminal import screen_text

ESC = "\x1b"
SIZE = (100, 40)


def commands(scene: Scene) -> list[ToolCard]:
    """The cards of shell commands, as they are."""
    transcript = scene.chat.presenter.surface.transcript
    blocks = map(transcript.block, transcript.block_ids())
    return [b for b in blocks if isinstance(b, ToolCard) and b.header.verb == "$"]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    provider = ScriptedProvider([ScriptedTurn.completed(f"answer {n}") for n in range(3)])
    made = Stage(tmp_path, provider=provider)
    monkeypatch.setenv("HOME", str(made.home))
    return made


@pytest.mark.clause("APP5.54", "APP5.39", "APP2.7")
async def test_esc_stops_a_command_and_a_resume_shows_the_same_cards(stage: Stage) -> None:
    async with stage.app().run_test(size=SIZE) as pilot:
        scene = Scene(stage, pilot)
        await scene.turn("hello")
        scene.ask("!echo fi''rst")
        await scene.until(lambda: [c.status for c in commands(scene)] == [CardStatus.OK])
        scene.ask("!echo se''cond; sleep 300")
        await scene.shows("second")
        scene.ask("!echo third")
        await scene.shows("a command is still running")
        scene.ask("/new")
        await scene.shows("/new has to wait until your command is over")
        await scene.type(ESC)
        await scene.until(lambda: commands(scene)[-1].status is CardStatus.INTERRUPTED)
        assert commands(scene)[-1].bodies == (ShellBody("second\n"),)
        assert not scene.chat.control.command_is_running
        live = commands(scene)
        [path] = [s.path for s in list_sessions(stage.launch.paths.sessions_dir)]
        await scene.chat.open_session(path)
        await scene.until(lambda: "still running" not in screen_text(scene.app))
        assert commands(scene) == live
        await scene.turn("and?")
        assert "The user ran" not in screen_text(scene.app)
        await scene.chat.leave()
    assert isinstance(stage.provider, ScriptedProvider)
    prompt = str(stage.provider.requests[-1].messages[-1])
    assert "first" in prompt
    assert "cancelled" in prompt


@pytest.mark.clause("APP5.53")
async def test_a_command_runs_without_a_provider_and_ends_with_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path)
    monkeypatch.setenv("HOME", str(stage.home))
    async with stage.app().run_test(size=SIZE) as pilot:
        scene = Scene(stage, pilot)
        await scene.shows("Which model should it use?")
        await scene.type(ESC)
        await scene.until(lambda: scene.chat.composer.ready and scene.app.screen is scene.chat)
        scene.ask("!pwd; echo al''one")
        await scene.until(lambda: [c.status for c in commands(scene)] == [CardStatus.OK])
        assert commands(scene)[0].bodies == (ShellBody(f"{stage.project}\nalone"),)
        marker = unique_sleep()
        scene.ask(f"!echo be''gun; {marker}")
        await scene.shows("begun")
        assert is_alive(marker)
        await scene.chat.leave()
        assert not is_alive(marker)
