"""Runs the file tools the way the runtime does: prepare, then execute with granted authority."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rho_core.authority.workspace import Workspace
from rho_core.cancellation import CancellationToken
from rho_core.errors import ToolError
from rho_core.ids import ToolCallId
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    PreparedToolInvocation,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.values import ToolOutput
from rho_core.tools.file_tools import file_tools
from rho_core.tools.files.ledger import FileLedger

OLD = b"precious\n" * 100_000
NEW = b"other\n" * 200_000


def names(directory: Path) -> list[str]:
    """The sorted names in a directory."""
    return sorted(entry.name for entry in directory.iterdir())


class FileSession:
    """One workspace, one ledger and the file tools over them."""

    def __init__(self, root: Path, **options: Any) -> None:
        self.root = root
        self.workspace = Workspace(root)
        self.ledger = FileLedger()
        self.tools = {tool.spec().name: tool for tool in file_tools(self.ledger, **options)}

    async def prepare(self, name: str, **arguments: Any) -> PreparedToolInvocation:
        return await self.tools[name].prepare(
            ToolInvocation(ToolCallId("call-1"), arguments),
            ToolPreparationContext(self.workspace, CancellationToken()),
        )

    async def execute(
        self, plan: PreparedToolInvocation, cancellation: CancellationToken | None = None
    ) -> ToolOutput:
        return await plan.execute(
            AuthorizedToolContext(workspace=self.workspace, cancellation=cancellation)
        )

    async def run(self, name: str, **arguments: Any) -> ToolOutput:
        return await self.execute(await self.prepare(name, **arguments))

    async def fail(self, name: str, **arguments: Any) -> ToolError:
        """The error of a call that must fail."""
        try:
            output = await self.run(name, **arguments)
        except ToolError as error:
            return error
        raise AssertionError(f"{name} succeeded: {output.content!r}")

    def put(self, name: str, data: bytes | str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path
