"""A tool's name is known without its specification, and both agree (A2, C51)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rho_core.errors import InvalidConfiguration
from rho_core.providers.contract import ToolSpec
from rho_core.testing import PlannedTool, tool_spec
from rho_core.tooling.contract import AuthorizedToolContext, Tool, ToolInvocation
from rho_core.tooling.host import ToolHost
from rho_core.tooling.registry import advertised, registry
from rho_core.tooling.values import ToolOutput
from rho_core.tools.file_tools import EditFormat, file_tools
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.process.manager import ProcessManager
from rho_core.tools.process.tool import ProcessTool
from rho_core.tools.questionnaire import QuestionnaireTool
from rho_core.tools.search.glob import GlobTool
from rho_core.tools.search.grep import GrepTool
from rho_core.tools.shell.processes import ShellSupervisor
from rho_core.tools.shell.tool import BashTool
from rho_core.tools.skill import SkillTool


@pytest.fixture
async def built_in() -> AsyncIterator[list[Tool]]:
    """Every built-in tool, with all three edit formats."""
    supervisor = ShellSupervisor()
    manager = ProcessManager(supervisor)
    yield [
        *(tool for chosen in EditFormat for tool in file_tools(FileLedger(), edit_format=chosen)),
        GrepTool(), GlobTool(), BashTool(supervisor=supervisor), ProcessTool(manager),
        SkillTool(), QuestionnaireTool(),
    ]  # fmt: skip
    await manager.aclose()
    await supervisor.aclose()


class Counted(Tool):
    """Says its name in the class, and counts how often its specification is made."""

    name = "counted"

    def __init__(self, advertised_as: str = "counted") -> None:
        self.made = 0
        self._advertised_as = advertised_as

    def spec(self) -> ToolSpec:
        self.made += 1
        return tool_spec(self._advertised_as)


class Plain(Tool):
    """Has only a specification."""

    def spec(self) -> ToolSpec:
        return tool_spec("plain")


class Named(Plain):
    """Keeps a name of its own, as an attribute set in the constructor."""

    def __init__(self, name: str) -> None:
        self.name = name


async def _echo(invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
    return ToolOutput.text(str(invocation.arguments))


@pytest.mark.clause("A2")
async def test_every_built_in_has_the_name_of_its_specification(built_in: list[Tool]) -> None:
    assert {tool.name for tool in built_in} >= {"edit", "apply_patch", "str_replace", "bash"}
    assert [tool.name for tool in built_in] == [tool.spec().name for tool in built_in]
    # a built-in says it in its class: the specification is not made for it
    assert all(isinstance(vars(type(tool)).get("name"), str) for tool in built_in)


@pytest.mark.clause("A2")
def test_a_name_comes_from_the_specification_unless_the_tool_says_it() -> None:
    assert Plain().name == "plain"
    assert Named("other").name == "other"
    assert PlannedTool("planned", _echo).name == PlannedTool("planned", _echo).spec().name


def test_a_planned_tool_needs_a_name() -> None:
    make: Any = PlannedTool
    with pytest.raises(TypeError, match="name"):
        make(run=_echo)


@pytest.mark.clause("A2", "C51")
def test_registering_makes_no_specification_and_still_finds_duplicates() -> None:
    tool = Counted()
    named = registry([tool])
    with pytest.raises(InvalidConfiguration, match="duplicate tool name 'counted'"):
        registry([tool, Counted()])
    assert tool.made == 0
    assert [spec.name for spec in advertised(named)] == ["counted"]
    assert tool.made == 1


@pytest.mark.clause("C51")
def test_a_specification_with_another_name_is_not_advertised() -> None:
    host = ToolHost([Counted("countde")])
    with pytest.raises(InvalidConfiguration, match="'counted' has a specification named 'countde'"):
        _ = host.tool_specs
