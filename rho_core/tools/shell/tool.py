"""`bash`: run one shell command to its end (section 16)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityKind,
    CapabilityRequest,
    ExecuteProcess,
    ProcessEnvironment,
    ProcessExecution,
)
from rho_core.errors import ToolError
from rho_core.tooling.contract import (
    PreparedToolInvocation,
    ToolContext,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput, ToolProgress
from rho_core.tools.shell.processes import ShellSupervisor, ShellUnavailable
from rho_core.tools.shell.report import shell_report
from rho_core.tools.shell.run import ShellResult, run_shell, shell_execution
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.authority.workspace import ResolvedWorkspacePath, Workspace
    from rho_core.tools.shell.arguments import BashArguments

DEFAULT_MAX_OUTPUT_BYTES = 64_000
_DESCRIPTION = (
    "Run a shell command in the workspace root and return its output, exit code and time. "
    "Every call starts a new shell: `cd` and variables do not carry over. There is no terminal and "
    "stdin is empty, so nothing can ask questions, open an editor or a pager. {background} "
    "Without timeout_seconds there is no time limit. Long output keeps its beginning and end, and "
    "names the file that holds the rest."
)
_NO_BACKGROUND = "Processes left in the background are stopped when the command ends."
_BACKGROUND = "Use the process tool for servers, watchers and all that must run on."


class BashTool(StructuredTool["BashArguments"]):
    """Runs a command under a `ShellSupervisor`. Exclusive; asks for process authority.

    Args:
        supervisor: Owns the processes; the host closes it. One of its own is made otherwise.
        environment: Which variables commands inherit. The host strips provider keys here.
        max_output_bytes: The budget of the result text.
        spill_folder: Where output beyond the budget is kept; nowhere if None.
        has_process_tool: Whether `process` is there for what must run on in the background.
    """

    name = "bash"
    capabilities = (CapabilityKind.PROCESS,)

    def __init__(
        self,
        *,
        supervisor: ShellSupervisor | None = None,
        environment: ProcessEnvironment | None = None,
        max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES,
        spill_folder: Path | None = None,
        has_process_tool: bool = False,
    ) -> None:
        self._supervisor = supervisor or ShellSupervisor()
        self._environment = environment or ProcessEnvironment()
        self._max_output_bytes = max(1, max_output_bytes)
        self._spill_folder = spill_folder
        self._has_process_tool = has_process_tool
        background = _BACKGROUND if has_process_tool else _NO_BACKGROUND
        self.description = _DESCRIPTION.format(background=background)

    def start_metadata(self, arguments: dict[str, Any]) -> ToolMetadata:
        """The operation only: the command is in the arguments (16.4)."""
        return ToolMetadata(ToolOperation.EXECUTE)

    @classmethod
    def arguments_model(cls) -> type[BashArguments]:
        """The keys of `bash`."""
        from rho_core.tools.shell.arguments import BashArguments

        return BashArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Parse, and declare exactly the process that will be started (16.2–16.4)."""
        arguments = self.parse(invocation, context)
        shell = await plan_shell(
            arguments.command,
            context,
            environment=self._environment,
            max_output_bytes=self._max_output_bytes,
            timeout_seconds=arguments.timeout_seconds,
        )

        async def execute(tool_context: ToolContext) -> ToolOutput:
            await shell.revalidate()
            return await self._execute(shell.execution, tool_context)

        return PreparedToolInvocation.exclusive(
            ToolMetadata(ToolOperation.EXECUTE),
            execute,
            capabilities=(CapabilityRequest(ExecuteProcess(shell.execution), BuiltInTool("bash")),),
        )

    async def _execute(self, execution: ProcessExecution, context: ToolContext) -> ToolOutput:
        async def show(text: str) -> None:
            await context.progress.send(ToolProgress(output_delta=text))

        try:
            result = await run_shell(
                execution,
                self._supervisor,
                cancellation=context.cancellation,
                on_output=None if context.progress.is_closed else show,
                spill_folder=self._spill_folder,
            )
        except ShellUnavailable as error:
            raise ToolError.execution(f"cannot run the command: {error}") from error
        if result.was_cancelled:
            raise ToolError.cancelled()
        return self._finish(result, execution)

    def _finish(self, result: ShellResult, execution: ProcessExecution) -> ToolOutput:
        report = shell_report(
            result,
            self._max_output_bytes,
            timeout_seconds=execution.limits.timeout_seconds,
            process_tool=self._has_process_tool,
        )
        if result.exit.exit_code != 0 or result.exit.timed_out:
            raise ToolError.execution(report.text).with_details(**report.facts)
        metadata = ToolMetadata(ToolOperation.EXECUTE).with_details(**report.facts)
        return ToolOutput.text(report.text, metadata)


@dataclass(frozen=True, slots=True)
class ShellPlan:
    """A shell command that may be authorized: its facts, and its folder to be looked at again."""

    execution: ProcessExecution
    workspace: Workspace
    cwd: ResolvedWorkspacePath

    async def revalidate(self) -> None:
        """The folder is still the one that was declared. Raises `ToolError`."""
        await asyncio.to_thread(_revalidate_cwd, self.workspace, self.cwd)


async def plan_shell(
    command: str,
    context: ToolPreparationContext,
    *,
    environment: ProcessEnvironment,
    max_output_bytes: int,
    timeout_seconds: float | None,
) -> ShellPlan:
    """Resolve the workspace root and fix the process that will be started there (16.2, 17.2)."""
    if context.workspace is None:
        raise ToolError.execution("a workspace is required to run commands")
    cwd = await asyncio.to_thread(_resolve_cwd, context.workspace)
    execution = shell_execution(
        command,
        cwd=cwd.path,
        environment=environment,
        max_output_bytes=max_output_bytes,
        timeout_seconds=timeout_seconds,
    )
    return ShellPlan(execution, context.workspace, cwd)


def _resolve_cwd(workspace: Workspace) -> ResolvedWorkspacePath:
    from rho_core.authority.workspace import WorkspaceError

    try:
        return workspace.resolve_for_read(".")
    except WorkspaceError as error:
        raise ToolError.policy_denied(f"the working directory cannot be used: {error}") from error


def _revalidate_cwd(workspace: Workspace, cwd: ResolvedWorkspacePath) -> None:
    from rho_core.authority.workspace import WorkspaceError

    try:
        workspace.revalidate(cwd)
    except WorkspaceError as error:
        raise ToolError.policy_denied(f"the working directory cannot be used: {error}") from error
