"""The built-in tools under a host's policy: inert without a grant, and exactly what was granted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rho_core.authority.approvals import Deny
from rho_core.authority.capabilities import (
    CapabilityKind,
    ExecuteProcess,
    ReadPath,
    ShellInvocation,
)
from rho_core.authority.policy import ScopedWorkspacePolicy, WorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tooling.contract import Tool
from rho_core.tooling.host import ToolHost, ToolHostCall
from rho_core.tooling.resources import AccessMode, DirectoryTree
from rho_core.tooling.values import ToolOperation, ToolOutput
from tests.core.authorization import ScriptedHandler
from tests.tools.built_in_tools import built_in_tools
from tests.tools.tool_calls import ToolCalls

PATCH = "*** Begin Patch\n*** {} File: {}\n{}*** End Patch"
SKILL = "---\nname: demo\ndescription: d\n---\nbody\n"

#: Calls that would all succeed if they were allowed, in the workspace of `root`.
ALLOWED_TO_ALL: list[tuple[str, dict[str, Any], str]] = [
    ("list_dir", {"path": "."}, "read"),
    ("read_file", {"path": "a.txt"}, "read"),
    ("grep", {"pattern": "hello"}, "read"),
    ("glob", {"pattern": "*"}, "read"),
    ("write", {"path": "a.txt", "content": "b"}, "write"),
    ("write", {"path": "new/b.txt", "content": "b"}, "write"),
    ("str_replace", {"path": "a.txt", "old_string": "hello", "new_string": "b"}, "write"),
    ("edit", {"input": "[a.txt#4173]\nCUT 1"}, "write"),
    ("apply_patch", {"input": PATCH.format("Delete", "a.txt", "")}, "write"),
    ("bash", {"command": "echo ran > ran"}, "process"),
    ("process", {"action": "start", "command": "echo ran > ran"}, "process"),
    ("skill", {"name": "demo"}, "skill"),
]


@pytest.fixture
async def tools() -> AsyncIterator[dict[str, Tool]]:
    async with built_in_tools() as made:
        yield made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("hello\n")
    skill = tmp_path / ".agents" / "skills" / "demo" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)
    return tmp_path


def tree(root: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


async def invoke(
    tool: Tool, root: Path, arguments: dict[str, Any], policy: WorkspacePolicy, **options: Any
) -> ToolOutput:
    host = ToolHost([tool], workspace=Workspace(root), policy=policy, **options)
    return await host.invoke(ToolHostCall(tool.name, arguments))


@pytest.mark.clause("E10", "T2.11")
@pytest.mark.parametrize(("name", "arguments", "label"), ALLOWED_TO_ALL)
async def test_without_a_grant_every_tool_is_inert(
    tools: dict[str, Tool], root: Path, name: str, arguments: dict[str, Any], label: str
) -> None:
    before = tree(root)
    with pytest.raises(ToolError) as caught:
        await invoke(tools[name], root, arguments, ScopedWorkspacePolicy())
    assert caught.value.tool_kind is ToolErrorKind.POLICY_DENIED
    assert caught.value.message.startswith(f"{label} capability denied: ")
    assert "hello" not in caught.value.message
    assert tree(root) == before


@pytest.mark.clause("T8.2", "T10.3", "T11.3", "T12.9")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (name, arguments)
        for name, arguments, label in ALLOWED_TO_ALL
        if label == "write" and arguments.get("path") != "new/b.txt"
    ],
)
async def test_writing_alone_does_not_allow_to_change_what_exists(
    tools: dict[str, Tool], root: Path, name: str, arguments: dict[str, Any]
) -> None:
    before = tree(root)
    only_writing = ScopedWorkspacePolicy().allow_write_paths()
    with pytest.raises(ToolError, match="read capability denied"):
        await invoke(tools[name], root, arguments, only_writing)
    assert tree(root) == before
    both = only_writing.allow_read_paths()
    assert (await invoke(tools[name], root, arguments, both)).metadata.diff is not None
    assert tree(root) != before


@pytest.mark.clause("T8.2")
async def test_writing_alone_allows_what_is_new(tools: dict[str, Tool], root: Path) -> None:
    only_writing = ScopedWorkspacePolicy().allow_write_paths()
    await invoke(tools["write"], root, {"path": "n/w.txt", "content": "x"}, only_writing)
    patch = {"input": PATCH.format("Add", "n/p.txt", "+x\n")}
    await invoke(tools["apply_patch"], root, patch, only_writing)
    assert (root / "n/w.txt").read_text() == "x"
    assert (root / "n/p.txt").read_text() == "x\n"


@pytest.mark.clause("T4.5", "T14.6", "T15.12")
@pytest.mark.parametrize("name", ["list_dir", "read_file", "grep", "glob"])
async def test_reading_alone_lets_the_reading_tools_work_and_they_say_that_they_read(
    tools: dict[str, Tool], root: Path, name: str
) -> None:
    arguments = next(arguments for known, arguments, _ in ALLOWED_TO_ALL if known == name)
    policy = ScopedWorkspacePolicy().allow_read_paths()
    output = await invoke(tools[name], root, arguments, policy)
    assert "a.txt" in output.content
    assert output.metadata.operation is ToolOperation.READ
    assert output.metadata.affected_paths == (arguments.get("path", "."),)


@pytest.mark.clause("T14.6", "T15.12")
@pytest.mark.parametrize("name", ["grep", "glob"])
async def test_a_search_asks_to_read_the_tree_that_its_path_leads_to(
    tools: dict[str, Tool], root: Path, name: str
) -> None:
    (root / "src").mkdir()
    (root / "link").symlink_to("src")
    plan = await ToolCalls(tools[name], root).prepare(pattern="x", path="link")
    (request,) = plan.capabilities
    assert isinstance(request.operation, ReadPath)
    assert request.operation.path == root / "src"
    (access,) = plan.accesses
    assert (access.resource, access.mode) == (DirectoryTree(root / "src"), AccessMode.SHARED)


@pytest.mark.clause("T16.3", "T17.2")
@pytest.mark.parametrize("name", ["bash", "process"])
async def test_a_hostile_command_comes_to_approval_as_one_fact_and_is_not_run_when_denied(
    tools: dict[str, Tool], root: Path, name: str
) -> None:
    command = "touch \"a b\"; : ' $(touch ran) `touch ran`\n#' && touch ran\ttouch --"
    handler = ScriptedHandler(Deny("not that"))
    policy = ScopedWorkspacePolicy().allow_processes().require_process_approval()
    arguments = {"command": command} | ({"action": "start"} if name == "process" else {})
    before = tree(root)
    with pytest.raises(ToolError, match="process capability denied: not that"):
        await invoke(tools[name], root, arguments, policy, approvals=handler)
    (request,) = (asked.capability for asked in handler.requests)
    assert request.kind is CapabilityKind.PROCESS
    assert isinstance(request.operation, ExecuteProcess)
    execution = request.operation.execution
    assert isinstance(execution.invocation, ShellInvocation)
    assert execution.shell_command == command
    assert execution.invocation.arguments == ("-c",)
    assert execution.working_directory == root
    assert "touch" not in repr(request)
    assert tree(root) == before
