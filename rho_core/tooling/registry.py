"""What runtimes and tool hosts share: checks of options, tools by name (A2, A24, C51)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rho_core.errors import InvalidConfiguration
from rho_core.providers.contract import ToolSpec, sorted_specs
from rho_core.tooling.contract import Tool


def positive(value: object, name: str) -> int:
    """A count of at least 1, strictly an int. Raises `InvalidConfiguration` (A24)."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidConfiguration(f"{name} must be a positive integer")
    return value


def registry(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Tools by name. Raises `InvalidConfiguration` for a name that is taken (A2)."""
    named: dict[str, Tool] = {}
    for tool in tools:
        if tool.name in named:
            raise InvalidConfiguration(f"duplicate tool name '{tool.name}'")
        named[tool.name] = tool
    return named


def with_replaced(tools: Mapping[str, Tool], name: str, tool: Tool) -> dict[str, Tool]:
    """A registry in which `tool` has the place of the one named `name`, which is there (1.5).

    Raises `InvalidConfiguration` when another tool has the new name already.
    """
    return registry(tool if known == name else present for known, present in tools.items())


def stand_in(tools: Mapping[str, Tool], name: str) -> str:
    """The name of the registered tool that does the work of a missing one; empty: there is none."""
    return next((known for known, tool in tools.items() if name in tool.stands_for), "")


def advertised(tools: Mapping[str, Tool]) -> tuple[ToolSpec, ...]:
    """The specifications of a registry, sorted by name (C51).

    Raises `InvalidConfiguration` for one that does not bear the name its tool is registered by:
    the model would call a tool that is not there.
    """
    specs = {name: tool.spec() for name, tool in tools.items()}
    for name, spec in specs.items():
        if spec.name != name:
            raise InvalidConfiguration(f"tool '{name}' has a specification named '{spec.name}'")
    return sorted_specs(list(specs.values()))
