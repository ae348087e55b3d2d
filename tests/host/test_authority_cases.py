"""Commands and paths that look harmless, given to the real tools: the user is asked first.

There are no lists of safe commands in Rho that could be dodged, and no prefixes: every command asks
as it stands, and every path is judged by where it really leads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rho_core.authority.approvals import AllowForSession, Deny
from rho_core.authority.capabilities import (
    ExecuteProcess,
    ReadPath,
    UnrestrictedFilesystem,
    WritePath,
)
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.history.messages import History, ToolCall, ToolResult
from rho_core.testing import ScriptedTurn
from rho_core.tooling.contract import Tool
from rho_core.tools.file_tools import EditFormat, file_tools
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.shell.tool import BashTool
from rho_tui.host import facts
from rho_tui.host.permissions import PermissionMode
from tests.core.run_harness import open_session, results, run_all
from tests.host.conversation_kit import Stage

END = ScriptedTurn.completed("done")


def tools() -> list[Tool]:
    patch = file_tools(FileLedger(), edit_format=EditFormat.APPLY_PATCH)
    others = [tool for tool in file_tools(FileLedger()) if tool.name not in {t.name for t in patch}]
    return [*patch, *others, BashTool()]


def turn(*calls: tuple[str, dict[str, Any]]) -> ScriptedTurn:
    made = [ToolCall.of(f"c{number}", name, args) for number, (name, args) in enumerate(calls)]
    return ScriptedTurn.completed("let me", *made)


def stage(workspace: Path, mode: PermissionMode, *turns: ScriptedTurn) -> Stage:
    access = Workspace(workspace).with_unrestricted_file_access()
    return Stage(None, [*turns, END], tools=tools(), mode=mode, options={"workspace": access})


class Answers:
    """Answers what is asked, and remembers it: `allowed` commands for the session, nothing else."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[Any] = []

    def __call__(self, conversation: Any, event: Any) -> None:
        if not isinstance(event, facts.ApprovalAsked):
            return
        operation = event.request.capability.operation
        self.asked.append(operation)
        allowed = command_of(operation) in self.allowed
        conversation.decide(event.approval_id, AllowForSession() if allowed else Deny("no"))

    @property
    def commands(self) -> list[str | None]:
        return [command_of(operation) for operation in self.asked]


def command_of(operation: Any) -> str | None:
    return operation.execution.shell_command if isinstance(operation, ExecuteProcess) else None


def results_of(history: History) -> list[ToolResult]:
    return [message for message in history if isinstance(message, ToolResult)]


HIDDEN = (
    "echo $(touch pwned)",
    "echo `touch pwned`",
    "echo x > ~/.bashrc",
    "echo <(touch pwned)",
    "FOO=1 rm x",
    "cd /; rm x",
    "env rm x",
    "\\rm x",
    "sh -c 'rm x'",
    # the same kind, in other spellings
    "echo ok && rm x",
    "echo ok\nrm x",
    "echo ok & rm x",
    "echo ok | xargs rm x",
    "command rm x",
    "'r'm x",
    "eval rm x",
    "(rm x)",
    "echo ${y:=$(rm x)}",
    "echo  ok",
    "echo ok ",
)
CALLED_READ_ONLY = (
    "find . -name x -exec touch p \\;",
    "git diff --output=p",
    "git -c alias.z='!touch p' z",
    "sed -i s/a/b/ f",
    "awk 'BEGIN{system(\"touch p\")}'",
    "sort -o p f",
    "date -s x",
    "PATH=.:$PATH ls",
    "./ls",
    "ls",
    "tree -o p",
    "rg --pre 'touch p' x",
    "tar --to-command='touch p' -xf t",
    "less -o p f",
)


@pytest.mark.clause("case:E2", "case:E3", "APP3.2")
@pytest.mark.parametrize("mode", [PermissionMode.SUPERVISED, PermissionMode.ALLOW_EDITS])
@pytest.mark.parametrize("commands", [HIDDEN, CALLED_READ_ONLY])
async def test_no_command_runs_unasked_because_of_one_that_was_allowed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: PermissionMode,
    commands: tuple[str, ...],
) -> None:
    home, workspace = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    workspace.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("x", "f"):
        (workspace / name).write_text("a\n")
    trojan = workspace / "ls"
    trojan.write_text("#!/bin/sh\ntouch p\n")
    trojan.chmod(0o755)
    before = sorted(path.name for path in workspace.iterdir())

    answers = Answers("echo ok")
    calls = [("bash", {"command": command}) for command in ("echo ok", "echo ok", *commands)]
    played = stage(workspace, mode, turn(*calls))
    async with await played.new() as conversation:
        await played.play(conversation, "go", react=answers)
        told = results_of(conversation.session.history)

    assert answers.commands == ["echo ok", *commands]  # the second `echo ok` alone was not asked
    assert [result.ok for result in told] == [True, True, *[False] * len(commands)]
    assert all("denied" in result.content for result in told[2:])
    assert sorted(path.name for path in workspace.iterdir()) == before
    assert (workspace / "f").read_text() == "a\n"
    assert list(home.iterdir()) == []


@pytest.mark.clause("case:E2", "case:E3")
async def test_in_plan_mode_no_command_runs_and_nobody_is_asked(tmp_path: Path) -> None:
    commands = [("bash", {"command": command}) for command in (*HIDDEN, *CALLED_READ_ONLY)]
    played = stage(tmp_path, PermissionMode.PLAN, turn(*commands))
    answers = Answers()
    async with await played.new() as conversation:
        await played.play(conversation, "go", react=answers)
        told = results_of(conversation.session.history)
    assert answers.asked == []
    assert len(told) == len(commands)
    assert all("plan mode" in result.content for result in told)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`proj` beside folders with names like it, a home, and a link out of it."""
    root = tmp_path.resolve()
    for folder in ("proj", "proj-evil", "home", "PROJ", "proj/sub"):
        (root / folder).mkdir(exist_ok=True)  # `PROJ` is `proj` where case does not count
    for folder in ("proj-evil", "home", "PROJ"):
        (root / folder / "x").write_text("secret of outside\n")
    (root / "x").write_text("secret of outside\n")
    (root / "proj" / "inside.txt").write_text("mine\n")
    (root / "proj" / "link_to_outside").symlink_to(root / "proj-evil")
    monkeypatch.setenv("HOME", str(root / "home"))
    return root


def outside(root: Path) -> dict[str, Path]:
    """What is named, and where it leads."""
    named = {
        f"{root}/proj-evil/x": root / "proj-evil/x",
        "../proj-evil/x": root / "proj-evil/x",
        "sub/../../x": root / "x",
        "~/x": root / "home/x",
        "link_to_outside/x": root / "proj-evil/x",
        f"{root}/proj/../proj-evil/x": root / "proj-evil/x",
        f"{root}/proj/./link_to_outside/../x": root / "x",
    }
    if not (root / "PROJ").samefile(root / "proj"):
        named[f"{root}/PROJ/x"] = root / "PROJ/x"
    return named


@pytest.mark.clause("case:E9", "T2.24")
@pytest.mark.parametrize(
    ("tool", "more", "kind"),
    [
        ("read_file", {}, ReadPath),
        ("write", {"content": "overwritten\n"}, WritePath),
        ("str_replace", {"old_string": "secret", "new_string": "open"}, WritePath),
        ("list_dir", {}, ReadPath),
    ],
)
async def test_a_path_that_leads_outside_asks_by_its_real_name_however_it_is_spelled(
    near: Path, tool: str, more: dict[str, str], kind: type
) -> None:
    named = outside(near)
    calls = [(tool, {"path": path, **more}) for path in named]
    played = stage(near / "proj", PermissionMode.ALLOW_EDITS, turn(*calls))
    answers = Answers()
    async with await played.new() as conversation:
        await played.play(conversation, "go", react=answers)
        told = results_of(conversation.session.history)
    first = {operation.path: operation for operation in answers.asked}
    assert set(first) == set(named.values())
    assert all(isinstance(operation.scope, UnrestrictedFilesystem) for operation in answers.asked)
    assert any(isinstance(operation, kind) for operation in answers.asked)
    assert not any(result.ok for result in told)
    assert not any("secret of outside" in result.content for result in told)
    for path in named.values():
        assert path.read_text() == "secret of outside\n"
    assert sorted(path.name for path in (near / "proj").iterdir()) == [
        "inside.txt", "link_to_outside", "sub",
    ]  # fmt: skip


@pytest.mark.clause("case:E9")
async def test_what_leads_inside_does_not_ask(near: Path) -> None:
    paths = ("inside.txt", "sub/../inside.txt", f"{near}/proj/inside.txt", "../proj/inside.txt")
    calls = [("read_file", {"path": path}) for path in paths]
    written = [("write", {"path": f"sub/{n}.txt", "content": "x"}) for n in range(2)]
    played = stage(near / "proj", PermissionMode.ALLOW_EDITS, turn(*calls, *written))
    answers = Answers()
    async with await played.new() as conversation:
        await played.play(conversation, "go", react=answers)
        told = results_of(conversation.session.history)
    assert answers.asked == []
    assert all(result.ok for result in told), told


@pytest.mark.clause("case:E9", "E13", "F5")
async def test_a_workspace_that_is_not_opened_refuses_them_all(near: Path) -> None:
    named = outside(near)
    calls = [("read_file", {"path": path}) for path in named]
    calls += [("write", {"path": path, "content": "overwritten\n"}) for path in named]
    calls += [
        ("apply_patch", {"input": f"*** Begin Patch\n*** Add File: {p}\n+x\n*** End Patch\n"})
        for p in named
        if not p.startswith("link_to_outside")
    ]
    session, provider = await open_session(
        [turn(*calls), END],
        tools=tools(),
        workspace=Workspace(near / "proj"),
        policy=ScopedWorkspacePolicy().allow_read_paths().allow_write_paths(),
        max_parallel_tools=4,
    )
    await run_all(session)
    told = results(provider.requests[1].messages)
    assert len(told) == len(calls)
    assert not any(result.ok for result in told)
    assert {path.read_text() for path in named.values()} == {"secret of outside\n"}
    assert not (near / "proj" / "~").exists()


@pytest.mark.clause("case:E9")
async def test_a_command_starts_in_the_workspace_whatever_its_link_is_called(near: Path) -> None:
    link = near / "proj-link"
    link.symlink_to(near / "proj")
    played = stage(link, PermissionMode.SUPERVISED, turn(("bash", {"command": "pwd -P"})))
    answers = Answers("pwd -P")
    async with await played.new() as conversation:
        await played.play(conversation, "go", react=answers)
        (told,) = results_of(conversation.session.history)
    [operation] = answers.asked
    assert operation.execution.working_directory == near / "proj"
    assert str(near / "proj") in told.content.split("\n")
