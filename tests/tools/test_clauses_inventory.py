"""What holds for every built-in tool alike: names, keys, refusals, descriptions (1 and 2)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rho_core.errors import ToolErrorKind
from rho_core.tooling.contract import Tool, ToolExecutionMode
from tests.tools.built_in_tools import built_in_tools
from tests.tools.tool_calls import ToolCalls

#: name -> required keys, optional keys, and arguments that are right
CALLS: dict[str, tuple[set[str], set[str], dict[str, Any]]] = {
    "apply_patch": (
        {"input"},
        set(),
        {"input": "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"},
    ),
    "bash": ({"command"}, {"timeout_seconds"}, {"command": "true"}),
    "edit": ({"input"}, set(), {"input": "[a.txt#0000]\nCUT 1"}),
    "glob": ({"pattern"}, {"path", "include_hidden", "max_results"}, {"pattern": "*"}),
    "grep": (
        {"pattern"},
        {
            "path",
            "glob",
            "literal",
            "case_sensitive",
            "include_hidden",
            "max_results",
            "max_per_file",
            "output_mode",
        },
        {"pattern": "x"},
    ),
    "list_dir": ({"path"}, set(), {"path": "."}),
    "process": (
        {"action"},
        {"command", "timeout_seconds", "process_id", "cursor", "wait_seconds"},
        {"action": "start", "command": "true"},
    ),
    "questionnaire": (
        {"questions"},
        {"title", "reason", "on_timeout"},
        {"questions": [{"question": "Sure?", "type": "confirm"}]},
    ),
    "read_file": ({"path"}, {"offset", "limit"}, {"path": "a.txt"}),
    "skill": ({"name"}, set(), {"name": "demo"}),
    "str_replace": (
        {"path", "old_string", "new_string"},
        {"replace_all"},
        {"path": "a.txt", "old_string": "a", "new_string": "b"},
    ),
    "write": ({"path", "content"}, set(), {"path": "a.txt", "content": ""}),
}
NEED_NO_WORKSPACE = {"questionnaire"}


@pytest.fixture
async def tools() -> AsyncIterator[dict[str, Tool]]:
    async with built_in_tools() as made:
        yield made


@pytest.mark.clause("T1.1", "T2.16")
def test_the_set_is_complete_and_nothing_of_it_runs_detached(tools: dict[str, Tool]) -> None:
    assert sorted(tools) == sorted(CALLS)
    assert {tool.execution_mode for tool in tools.values()} == {ToolExecutionMode.SYNC}


@pytest.mark.clause("T4.1", "T5.1", "T8.1", "T10.1", "T11.1", "T12.1", "T14.1", "T15.1", "T16.1")
@pytest.mark.clause("T17.1", "T18.1", "T19.1")
@pytest.mark.parametrize("name", CALLS)
def test_a_tool_advertises_exactly_its_keys(tools: dict[str, Tool], name: str) -> None:
    required, optional, _ = CALLS[name]
    schema = tools[name].spec().input_schema
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == required | optional
    assert set(schema["required"]) == required


@pytest.mark.clause("T2.2")
@pytest.mark.parametrize("name", CALLS)
async def test_every_tool_names_an_unknown_key(
    tools: dict[str, Tool], tmp_path: Path, name: str
) -> None:
    required, _, arguments = CALLS[name]
    error = await ToolCalls(tools[name], tmp_path).fail(**arguments, surprise=1)
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert "unknown key 'surprise'" in error.message
    assert all(key in error.message for key in required)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.clause("T2.1", "T2.9")
@pytest.mark.parametrize("name", CALLS)
async def test_arguments_are_judged_before_the_workspace_is_missed(
    tools: dict[str, Tool], name: str
) -> None:
    calls = ToolCalls(tools[name], None)
    refusal = await calls.fail()
    assert refusal.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert refusal.message.startswith("invalid arguments: ")
    if name not in NEED_NO_WORKSPACE:
        error = await calls.fail(**CALLS[name][2])
        assert error.tool_kind is ToolErrorKind.EXECUTION
        assert "workspace" in error.message
        assert "require" in error.message


@pytest.mark.clause("T2.10")
@pytest.mark.parametrize("name", CALLS)
async def test_a_cancelled_call_prepares_nothing(
    tools: dict[str, Tool], tmp_path: Path, name: str
) -> None:
    calls = ToolCalls(tools[name], tmp_path)
    calls.cancellation.cancel()
    error = await calls.fail(**CALLS[name][2])
    assert error.tool_kind is ToolErrorKind.CANCELLED
    assert error.message == "tool call cancelled"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.clause("T5.8", "T10.2", "T17.16")
@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("read_file", ["PDF", "docx", "xlsx", "ods", "PNG", "row numbers", "offset and limit"]),
        ("edit", ["read_file", "grep", "write", "failed edit", "Never invent", "One section"]),
        ("process", ["You are told of the end", "do not poll in a loop"]),
    ],
)
def test_a_description_holds_the_facts_that_a_model_needs(
    tools: dict[str, Tool], name: str, facts: list[str]
) -> None:
    description = " ".join(tools[name].spec().description.split())
    assert [fact for fact in facts if fact not in description] == []
