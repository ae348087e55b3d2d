"""What built-in tools with a model of arguments share: specification, trust, and parsing."""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rho_core.authority.capabilities import CapabilityKind
from rho_core.errors import ToolError
from rho_core.providers.contract import ToolSpec
from rho_core.tooling.contract import (
    Tool,
    ToolInvocation,
    ToolPreparationContext,
    ToolSecurity,
)

if TYPE_CHECKING:
    from rho_core.tools.arguments import ToolArguments

A = TypeVar("A", bound="ToolArguments")


class StructuredTool(Tool, Generic[A]):
    """A built-in that says what it is in its class, and whose `prepare` begins with `parse`."""

    #: What the model is told of the tool.
    description: str
    #: The classes of authority that its calls may ask for.
    capabilities: ClassVar[tuple[CapabilityKind, ...]]

    @classmethod
    @abstractmethod
    def arguments_model(cls) -> type[A]:
        """The arguments. Imported here and not with the module: pydantic takes a while to load."""

    def spec(self) -> ToolSpec:
        """The name, description and schema; made once for all tools that are alike."""
        return _spec(type(self), self.name, self.description)

    def security(self) -> ToolSecurity:
        """A built-in with its classes of authority."""
        return ToolSecurity.built_in(*self.capabilities)

    def parse(self, invocation: ToolInvocation, context: ToolPreparationContext) -> A:
        """The arguments of a call that is not cancelled. Raises `ToolError` (2.1, 2.9, 2.10)."""
        from rho_core.tools.arguments import parse_arguments

        if context.cancellation.is_cancelled:
            raise ToolError.cancelled()
        return parse_arguments(self.arguments_model(), invocation.arguments)


@cache
def _spec(tool: type[StructuredTool[Any]], name: str, description: str) -> ToolSpec:
    from rho_core.tools.arguments import tool_spec

    return tool_spec(name, description, tool.arguments_model())
