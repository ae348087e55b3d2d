"""Runs any one tool the way the runtime does: prepare, then execute with its context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rho_core.authority.workspace import Workspace
from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import ToolError
from rho_core.ids import ToolCallId
from rho_core.tooling.contract import (
    InvocationSource,
    PreparedToolInvocation,
    ProgressSender,
    Tool,
    ToolContext,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.values import ToolOutput, ToolProgress


class ToolCalls:
    """One tool in one workspace; `root` None means there is no workspace."""

    def __init__(self, tool: Tool, root: Path | None) -> None:
        self.tool = tool
        self.workspace = None if root is None else Workspace(root)
        self.cancellation = CancellationToken()
        self.source = InvocationSource.MODEL
        self.progress: Channel[ToolProgress] | None = None
        self.host_input: Any = None

    async def prepare(self, **arguments: Any) -> PreparedToolInvocation:
        return await self.tool.prepare(
            ToolInvocation(ToolCallId("call-1"), arguments, self.source),
            ToolPreparationContext(self.workspace, self.cancellation),
        )

    async def execute(self, plan: PreparedToolInvocation) -> ToolOutput:
        options: dict[str, Any] = {"progress": ProgressSender(self.progress)}
        if self.host_input is not None:
            options["host_input"] = self.host_input
        return await plan.execute(
            ToolContext(workspace=self.workspace, cancellation=self.cancellation, **options)
        )

    async def run(self, **arguments: Any) -> ToolOutput:
        return await self.execute(await self.prepare(**arguments))

    async def fail(self, **arguments: Any) -> ToolError:
        """The error of a call that must fail."""
        try:
            output = await self.run(**arguments)
        except ToolError as error:
            return error
        raise AssertionError(f"the call succeeded: {output.content!r}")
