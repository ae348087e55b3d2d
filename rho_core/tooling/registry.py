"""Checks of options that runtimes and tool hosts share (A2, A24)."""

from __future__ import annotations

from collections.abc import Iterable

from rho_core.errors import InvalidConfiguration
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
        name = tool.spec().name
        if name in named:
            raise InvalidConfiguration(f"duplicate tool name '{name}'")
        named[name] = tool
    return named
