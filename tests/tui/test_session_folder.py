"""A resumed session behaves as where it was made: everything that shows or uses a folder agrees."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rho_core.authority.capabilities import ExecuteProcess
from rho_core.history.messages import SystemMessage, ToolCall, ToolResult
from rho_core.testing import ScriptedProvider, ScriptedTurn
from rho_tui.app import RhoApp
from rho_tui.host.sessions.index import list_sessions
from rho_tui.host.sessions.recovery import load
from rho_tui.host.workbench import Workbench
from rho_tui.widgets.approval_prompt import ApprovalPrompt
from tests.tui.scene import Scene
from tests.tui.stage import Stage
from tests.tui.terminal import screen_text


class Folders:
    """Two projects, `a` and `b`, and apps that are started in one of them."""

    def __init__(self, root: Path) -> None:
        self.stage = Stage(root, provider=ScriptedProvider([]))
        self.a, self.b = self.stage.home / "a", self.stage.home / "b"
        for folder in (self.a, self.b):
            folder.mkdir()
            (folder / "f.txt").write_text(f"I am the one of {folder.name}\n", "utf-8")
            (folder / f"only-in-{folder.name}.txt").write_text("x\n", "utf-8")
            (folder / "AGENTS.md").write_text(f"Rules of {folder.name}.\n", "utf-8")
            (folder / ".git").mkdir()
            (folder / ".git" / "HEAD").write_text(f"ref: refs/heads/branch-{folder.name}\n")

    @asynccontextmanager
    async def app(
        self, folder: Path, provider: ScriptedProvider, resume: Path | None = None
    ) -> AsyncIterator[Scene]:
        launch = replace(self.stage.launch, cwd=folder)
        bench = Workbench(launch, make_provider=lambda _choice: provider)
        app = RhoApp(launch, bench=bench, resume=resume, clock=self.stage.clock)
        app.animation_level = "none"
        async with app.run_test(size=(100, 40)) as pilot:
            scene = Scene(self.stage, pilot)
            await scene.open()
            yield scene
            await scene.chat.leave()

    def session_of(self, folder: Path) -> Path:
        [summary] = list_sessions(self.stage.launch.paths.sessions_dir, cwd=str(folder))
        return summary.path


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    made = Folders(tmp_path)
    monkeypatch.setenv("HOME", str(made.stage.home))
    return made


def answering(count: int = 1) -> ScriptedProvider:
    return ScriptedProvider([ScriptedTurn.completed(f"answer {n}") for n in range(count)])


async def made_in(folders: Folders, folder: Path) -> Path:
    """A session with one turn that was started in `folder`."""
    async with folders.app(folder, answering()) as scene:
        await scene.turn(f"hello from {folder.name}")
    return folders.session_of(folder)


def status(scene: Scene) -> str:
    return screen_text(scene.app).splitlines()[-2]


async def shown_files(scene: Scene, query: str) -> str:
    """What `@query` suggests."""
    scene.chat.composer.set_text("")
    await scene.type(f"@{query}")
    await scene.until(lambda: "only-in-" in screen_text(scene.app))
    text = screen_text(scene.app)
    scene.chat.composer.clear()
    return text


async def everything_is_about(scene: Scene, folder: Path, other: Path) -> None:
    """Status, branch, mentions, the user's commands and the control agree on `folder`."""
    assert scene.chat.control.folder == folder
    await scene.until(lambda: f"~/{folder.name} (branch-{folder.name})" in status(scene))
    suggested = await shown_files(scene, "only")
    assert f"only-in-{folder.name}.txt" in suggested
    assert f"only-in-{other.name}.txt" not in suggested
    scene.ask(f"!!pwd; cat f.txt; echo over-{folder.name}-$((6 * 7))")
    await scene.shows(f"over-{folder.name}-42")
    screen = screen_text(scene.app)
    assert f"I am the one of {folder.name}" in screen
    assert str(folder) in screen.replace("\n", "")


@pytest.mark.clause("case:G6", "APP7.12")
async def test_a_session_resumed_from_another_folder_runs_where_it_was_made(
    folders: Folders,
) -> None:
    path = await made_in(folders, folders.a)
    provider = ScriptedProvider(
        [
            ScriptedTurn.completed(
                "I look.",
                ToolCall.of("1", "read_file", {"path": "f.txt"}),
                ToolCall.of("2", "bash", {"command": "pwd"}),
            ),
            ScriptedTurn.completed("done"),
        ]
    )
    async with folders.app(folders.b, provider, path) as scene:
        await everything_is_about(scene, folders.a, folders.b)
        scene.ask("look around")
        prompt: ApprovalPrompt = await scene.approval()
        asked = prompt.request.capability.operation
        assert isinstance(asked, ExecuteProcess)
        assert asked.execution.working_directory == folders.a
        await scene.allow()
        await scene.shows("done")
        await scene.ended()
    request = provider.requests[-1]
    system = request.messages[0]
    assert isinstance(system, SystemMessage)
    assert f"Working directory: {json.dumps(str(folders.a))}" in system.text
    assert "Rules of a." in system.text
    assert "Rules of b." not in system.text
    read, pwd = [m.content for m in request.messages if isinstance(m, ToolResult)]
    assert "I am the one of a" in read
    assert f"stdout:\n{folders.a}\n" in pwd


@pytest.mark.clause("case:G6", "APP7.12", "APP5.28")
async def test_resume_and_new_within_the_app_take_everything_along(folders: Folders) -> None:
    path = await made_in(folders, folders.a)
    provider = answering(2)
    async with folders.app(folders.b, provider) as scene:
        await everything_is_about(scene, folders.b, folders.a)
        session = path.stem.split("_")[-1]
        scene.ask(f"/resume {session[:8]}")
        await scene.shows("hello from a")
        await scene.open()
        await everything_is_about(scene, folders.a, folders.b)
        scene.ask("/new")
        await scene.until(lambda: "hello from a" not in screen_text(scene.app))
        await scene.open()
        await everything_is_about(scene, folders.a, folders.b)
        await scene.turn("a second one of a")
        scene.ask("/resume")
        await scene.shows("Resume a session")
        assert "hello from a" in screen_text(scene.app)
    system = provider.requests[0].messages[0]
    assert isinstance(system, SystemMessage)
    assert "Rules of a." in system.text
    sessions = list_sessions(folders.stage.launch.paths.sessions_dir)
    assert [summary.cwd for summary in sessions] == [str(folders.a)] * 2


GONE = "the folder of this session is gone"


def flat(scene: Scene) -> str:
    """The screen without the line breaks of wrapped text."""
    return " ".join(screen_text(scene.app).split())


@pytest.mark.clause("case:G6", "APP7.12")
async def test_a_session_whose_folder_is_gone_can_be_read_and_nothing_runs(
    folders: Folders,
) -> None:
    path = await made_in(folders, folders.a)
    kept = path.read_bytes()
    shutil.rmtree(folders.a)
    provider = answering()
    async with folders.app(folders.b, provider, path) as scene:
        await scene.shows("hello from a")
        await scene.shows("answer 0")
        await scene.until(lambda: f"{GONE}: {folders.a}. Put it back and /resume" in flat(scene))
        await scene.until(lambda: "~/a" in status(scene) and "folder is gone" in status(scene))
        scene.ask("go on")
        await scene.until(lambda: flat(scene).count(GONE) == 2)
        await scene.until(lambda: scene.chat.composer.text == "go on")
        scene.ask("!!echo ran-$((6 * 7))")
        await scene.until(lambda: flat(scene).count(GONE) == 3)
        scene.ask("/compact")
        await scene.until(lambda: flat(scene).count(GONE) == 4)
        scene.chat.composer.set_text("")
        await scene.type("@only")
        assert "ran-42" not in screen_text(scene.app)
        assert "only-in-b" not in screen_text(scene.app)
    assert provider.requests == []
    assert path.read_bytes() == kept
    assert not folders.a.exists()


@pytest.mark.clause("case:G6")
async def test_a_folder_that_is_put_back_lets_its_session_go_on(folders: Folders) -> None:
    path = await made_in(folders, folders.a)
    elsewhere = folders.a.rename(folders.stage.home / "hidden")
    provider = answering()
    async with folders.app(folders.b, provider, path) as scene:
        await scene.until(lambda: GONE in flat(scene))
        elsewhere.rename(folders.a)
        conversation = scene.chat.control.conversation
        assert conversation is not None
        scene.ask(f"/resume {conversation.id[:8]}")
        await scene.until(lambda: GONE not in flat(scene))
        await scene.open()
        await everything_is_about(scene, folders.a, folders.b)
        await scene.turn("and now?")
    assert len(provider.requests) == 1
    assert path.read_bytes().count(b"Rules of b") == 0


@pytest.mark.clause("case:G6")
async def test_a_session_goes_on_elsewhere_only_when_the_user_says_so(folders: Folders) -> None:
    path = await made_in(folders, folders.a)
    third = folders.stage.home / "third"
    third.mkdir()
    shutil.rmtree(folders.a)
    provider = answering(2)
    async with folders.app(folders.b, provider, path) as scene:
        await scene.until(lambda: GONE in flat(scene))
        scene.ask("/move")
        await scene.until(lambda: f"this session works in {folders.b} from here on" in flat(scene))
        await scene.open()
        await everything_is_about(scene, folders.b, folders.a)
        scene.ask("/move")
        await scene.until(lambda: f"this session works in {folders.b}, which is" in flat(scene))
    # the move is kept although nothing was said after it
    assert folders.session_of(folders.b) == path
    async with folders.app(third, provider, path) as scene:
        await everything_is_about(scene, folders.b, folders.a)
        await scene.turn("and now?")
    system, *rest = provider.requests[0].messages
    assert isinstance(system, SystemMessage)
    assert f"Working directory: {json.dumps(str(folders.b))}" in system.text
    assert "Rules of b." in system.text
    assert "Rules of a." not in system.text
    assert [m for m in rest if isinstance(m, SystemMessage)] == []
    assert "hello from a" in str(rest[0])
    assert folders.session_of(folders.b) == path
    assert load(path).folder == str(folders.b)


@pytest.mark.clause("case:G6")
async def test_new_in_a_folder_that_is_gone_begins_where_rho_was_started(folders: Folders) -> None:
    path = await made_in(folders, folders.a)
    async with folders.app(folders.b, answering(), path) as scene:
        await scene.shows("hello from a")
        shutil.rmtree(folders.a)
        scene.ask("/new")
        told = f"{folders.a} is gone: this session works in {folders.b}"
        await scene.until(lambda: told in flat(scene))
        await scene.open()
        await everything_is_about(scene, folders.b, folders.a)


@pytest.mark.clause("case:G6")
async def test_a_session_that_cannot_be_opened_leaves_the_one_that_is_open(
    folders: Folders,
) -> None:
    path = await made_in(folders, folders.a)
    provider = answering()
    async with folders.app(folders.b, provider) as scene:
        before = scene.chat.control.conversation
        path.write_bytes(path.read_bytes().replace(b'"schema":1', b'"schema":99', 1))
        await scene.chat.open_session(path)
        await scene.shows("the session cannot be opened: session schema 99 is not supported")
        await scene.chat.open_session(None, folders.stage.home / "nowhere")
        await scene.until(lambda: "nowhere' does not exist" in flat(scene))
        assert scene.chat.control.conversation is before
        await scene.turn("still here?")
    assert len(provider.requests) == 1
