"""`process`: commands that run on in the background (section 17)."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityKind,
    CapabilityRequest,
    ExecuteProcess,
    ProcessEnvironment,
)
from rho_core.errors import ToolError
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    PreparedToolInvocation,
    ToolContext,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.resources import ManagedProcess as ManagedProcessResource
from rho_core.tooling.resources import ToolResourceAccess
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput, ToolProgress
from rho_core.tools.process.managed import ManagedProcess
from rho_core.tools.process.manager import ProcessManager
from rho_core.tools.process.notice import (
    ProcessNotice,
    has_exit_line,
    progress_text,
    snapshot_text,
    stop_text,
)
from rho_core.tools.shell.processes import ShellUnavailable
from rho_core.tools.shell.tool import DEFAULT_MAX_OUTPUT_BYTES, plan_shell
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.tools.process.arguments import ProcessArguments

_DESCRIPTION = (
    "Run a shell command in the background, for servers, watchers and long jobs. action=start "
    "returns a process_id at once; poll returns the output from `cursor` on and the state (go on "
    "with the `next` it names); stop ends the process and its children. You are told of the end "
    "by itself, so do not poll in a loop: poll once with wait_seconds for output you need. There "
    "is no terminal and stdin is empty. Processes end when Rho does."
)
_METADATA = ToolMetadata(ToolOperation.EXECUTE)
_HEAD_RESERVE = 400


class ProcessTool(StructuredTool["ProcessArguments"]):
    """Starts, polls and stops the background processes of a `ProcessManager`.

    Starting is exclusive and asks for process authority; polling and stopping what was started
    asks for none (17.2).

    Args:
        manager: Owns the processes; the host closes it.
        environment: Which variables processes inherit.
        max_output_bytes: The budget of a result.
    """

    name = "process"
    description = _DESCRIPTION
    capabilities = (CapabilityKind.PROCESS,)

    def __init__(
        self,
        manager: ProcessManager,
        *,
        environment: ProcessEnvironment | None = None,
        max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES,
    ) -> None:
        self._manager = manager
        self._environment = environment or ProcessEnvironment()
        self._max_output_bytes = max(1, max_output_bytes)
        # a manager may serve several conversations: each hears of what it started
        self._owner = str(uuid.uuid4())

    def start_metadata(self, arguments: dict[str, Any]) -> ToolMetadata:
        """The operation only: the rest is in the arguments."""
        return _METADATA

    def take_notice(self) -> ProcessNotice | None:
        """What to tell the model, before its next turn, of processes that ended unseen (17.14)."""
        return self._manager.take_notice(self._owner)

    @classmethod
    def arguments_model(cls) -> type[ProcessArguments]:
        """The keys of `process`."""
        from rho_core.tools.process.arguments import ProcessArguments

        return ProcessArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Parse, and declare the process that will start or the one that is touched (17.2)."""
        arguments = self.parse(invocation, context)
        match arguments.action:
            case "start":
                return await self._plan_start(arguments, context)
            case "poll":
                return self._plan_poll(arguments)
            case _:
                return self._plan_stop(arguments)

    async def _plan_start(
        self, arguments: ProcessArguments, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        shell = await plan_shell(
            arguments.command or "",
            context,
            environment=self._environment,
            max_output_bytes=self._max_output_bytes,
            timeout_seconds=arguments.timeout_seconds,
        )

        async def execute(tool_context: ToolContext) -> ToolOutput:
            await shell.revalidate()
            if tool_context.cancellation.is_cancelled:  # honoured until it is spawned (17.3)
                raise ToolError.cancelled()
            try:
                process = await self._manager.start(shell.execution, owner=self._owner)
            except ShellUnavailable as error:
                raise ToolError.execution(f"cannot start the process: {error}") from error
            return self._snapshot(process, 0)

        request = CapabilityRequest(ExecuteProcess(shell.execution), BuiltInTool("process"))
        return PreparedToolInvocation.exclusive(_METADATA, execute, capabilities=(request,))

    def _plan_poll(self, arguments: ProcessArguments) -> PreparedToolInvocation:
        id = arguments.process_id or ""

        async def execute(tool_context: AuthorizedToolContext) -> ToolOutput:
            process = self._manager.find(id)
            token = tool_context.cancellation
            if arguments.wait_seconds and process.is_live:
                message = progress_text(id, process.status)
                await tool_context.progress.send(ToolProgress(message))
            await self._manager.wait_for_news(
                process, arguments.cursor, arguments.wait_seconds, token
            )
            if token.is_cancelled:
                raise ToolError.cancelled()
            return self._snapshot(process, arguments.cursor)

        access = ToolResourceAccess.shared(ManagedProcessResource(id))
        return PreparedToolInvocation.resource_aware((access,), (), _METADATA, execute)

    def _plan_stop(self, arguments: ProcessArguments) -> PreparedToolInvocation:
        id = arguments.process_id or ""

        async def execute(_context: AuthorizedToolContext) -> ToolOutput:
            process = self._manager.find(id)
            self._manager.stop(process)
            metadata = _METADATA.with_details(process_id=id, command=process.command_text)
            return ToolOutput.text(stop_text(id), metadata)

        access = ToolResourceAccess.exclusive(ManagedProcessResource(id))
        return PreparedToolInvocation.resource_aware((access,), (), _METADATA, execute)

    def _snapshot(self, process: ManagedProcess, cursor: int) -> ToolOutput:
        status = process.status  # before the output: a terminal state has all of it
        window = process.output.window(cursor, self._max_output_bytes - _HEAD_RESERVE)
        if status.state.is_terminal:
            process.is_observed = True
        facts: dict[str, Any] = {
            "process_id": process.id,
            "state": status.state.value,
            "duration_seconds": round(status.seconds, 3),
            "command": process.command_text,
        }
        if has_exit_line(status) and status.exit_code is not None:
            facts["exit_code"] = status.exit_code
        styled = snapshot_text(process.id, status, window)
        if styled.marks:
            facts["styles"] = styled.styles()
        return ToolOutput.text(styled.text, _METADATA.with_details(**facts))
