"""The user's own `!command`: shown like a tool's, needs no approval (APP5G, decisions)."""

from __future__ import annotations

import itertools
from pathlib import Path

from rho_core.authority.capabilities import ProcessEnvironment
from rho_core.cancellation import CancellationToken
from rho_core.errors import ToolErrorKind
from rho_core.tooling.values import ToolFailed, ToolMetadata, ToolOutput, ToolSucceeded
from rho_core.tools.shell.processes import ShellSupervisor, ShellUnavailable
from rho_core.tools.shell.report import shell_report
from rho_core.tools.shell.run import run_shell, shell_execution
from rho_tui.transcript.sink import TranscriptSink
from rho_tui.transcript.tool_cards import CallFacts, tool_card

TIMEOUT_SECONDS = 60.0


class InlineShell:
    """Runs one command at a time and shows it in the transcript.

    Args:
        supervisor: Owner of the processes.
        environment: What commands inherit: the same as for the model's commands.
        max_output_bytes: The budget of what enters the context.
        spill_folder: Where output beyond the budget is kept.
    """

    def __init__(
        self,
        supervisor: ShellSupervisor,
        environment: ProcessEnvironment,
        max_output_bytes: int,
        spill_folder: Path | None = None,
    ) -> None:
        self._spill_folder = spill_folder
        self._supervisor = supervisor
        self._environment = environment
        self._max_output_bytes = max_output_bytes
        self._numbers = itertools.count(1)
        self._token: CancellationToken | None = None

    @property
    def is_running(self) -> bool:
        """Whether a command runs."""
        return self._token is not None

    def cancel(self) -> None:
        """Stop the command."""
        if self._token is not None:
            self._token.cancel()

    async def run(self, command: str, cwd: Path, sink: TranscriptSink) -> str:
        """Run `command` to its end; returns what the model may read of it."""
        block_id = f"shell-{next(self._numbers)}"
        facts = CallFacts("bash", {"command": command, "timeout_seconds": int(TIMEOUT_SECONDS)})
        sink.append(block_id, tool_card(facts))
        self._token = CancellationToken()
        try:
            text, completion = await self._run(command, cwd, sink, block_id)
        finally:
            self._token = None
        sink.set_block(
            block_id, tool_card(CallFacts("bash", facts.arguments, completion=completion))
        )
        return f"The user ran a command:\n$ {command}\n\n{text}\n\n"

    async def _run(
        self, command: str, cwd: Path, sink: TranscriptSink, block_id: str
    ) -> tuple[str, ToolSucceeded | ToolFailed]:
        async def show(text: str) -> None:
            sink.append_text(block_id, text)

        execution = shell_execution(
            command,
            cwd=cwd,
            environment=self._environment,
            max_output_bytes=self._max_output_bytes,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        try:
            result = await run_shell(
                execution,
                self._supervisor,
                cancellation=self._token,
                on_output=show,
                spill_folder=self._spill_folder,
            )
        except ShellUnavailable as error:
            return str(error), ToolFailed(ToolErrorKind.EXECUTION, str(error))
        if result.was_cancelled:
            return "cancelled", ToolFailed(ToolErrorKind.CANCELLED, "tool call cancelled")
        report = shell_report(result, self._max_output_bytes, timeout_seconds=TIMEOUT_SECONDS)
        text, metadata = report.text, ToolMetadata().with_details(**report.facts)
        if result.exit.exit_code == 0 and not result.exit.timed_out:
            return text, ToolSucceeded(ToolOutput(text, metadata))
        return text, ToolFailed(ToolErrorKind.EXECUTION, text, metadata)
