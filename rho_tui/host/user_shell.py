"""The user's own `!command`: run like a call of `bash`, recorded, needs no approval (APP5G)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rho_core.authority.capabilities import ProcessEnvironment
from rho_core.cancellation import CancellationToken
from rho_core.errors import ToolErrorKind
from rho_core.tooling.execution import interrupted
from rho_core.tooling.values import (
    ToolCompletion,
    ToolFailed,
    ToolMetadata,
    ToolOutput,
    ToolSucceeded,
)
from rho_core.tools.shell.processes import ShellSupervisor, ShellUnavailable
from rho_core.tools.shell.report import shell_report
from rho_core.tools.shell.run import OutputListener, ShellResult, run_shell, shell_execution
from rho_tui.host import facts
from rho_tui.host.facts import ConversationEvent
from rho_tui.host.folders import FolderGone, folder_exists
from rho_tui.host.live_output import LOOK_BACK, MAX_OUTPUT_TAIL, output_tail
from rho_tui.host.sessions import records as r

TIMEOUT_SECONDS = 60.0

Tell = Callable[[r.Record | None, ConversationEvent], None]
"""Records, if there is a record, and shows, in the order of the calls."""


@dataclass(frozen=True, slots=True)
class ShellSettings:
    """What the user's commands run with.

    Attributes:
        supervisor: Owner of the processes.
        environment: What commands inherit: the same as for the model's commands.
        max_output_bytes: The budget of what is kept and enters the context.
        spill_folder: Where output beyond the budget is kept.
    """

    supervisor: ShellSupervisor
    environment: ProcessEnvironment
    max_output_bytes: int
    spill_folder: Path | None = None


class UserShell:
    """Runs one command at a time in the folder of a conversation."""

    def __init__(self, settings: ShellSettings, folder: Path, tell: Tell) -> None:
        self._settings = settings
        self._folder = folder
        self._tell = tell
        self._token: CancellationToken | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_running(self) -> bool:
        """Whether a command runs."""
        return self._token is not None

    def cancel(self) -> None:
        """Stop the command. Nothing happens without one."""
        if self._token is not None:
            self._token.cancel()

    async def run(self, command: str, *, included: bool) -> None:
        """Run `command` to its end; if `included`, the model is told of it with the next prompt.

        Raises `FolderGone`, and RuntimeError while another command runs.
        """
        if self._token is not None:
            raise RuntimeError("a command is running")
        self._token = CancellationToken()
        self._idle.clear()
        try:
            if not await asyncio.to_thread(folder_exists, self._folder):
                raise FolderGone(f"the folder is gone: {self._folder}; no command runs there")
            await self._run(f"command-{uuid.uuid4()}", command, self._token, included=included)
        finally:
            self._token = None
            self._idle.set()

    async def aclose(self) -> None:
        """Stop the command and wait until it has been told how it ended."""
        self.cancel()
        await self._idle.wait()

    async def _run(
        self, id: str, command: str, token: CancellationToken, *, included: bool
    ) -> None:
        self._tell(
            r.UserCommandStarted(id, command, TIMEOUT_SECONDS, included),
            facts.UserCommandStarted(id, command, TIMEOUT_SECONDS),
        )
        tail = ""

        async def show(text: str) -> None:
            nonlocal tail
            tail = (tail + text)[-MAX_OUTPUT_TAIL - LOOK_BACK :]
            self._tell(None, facts.UserCommandPrinted(id, text))

        completion: ToolCompletion = interrupted()
        try:
            completion = await self._execute(command, token, show)
        finally:
            # a command that was not let finish has no result that would hold its output
            cut_off = isinstance(completion, ToolFailed) and (
                completion.kind is ToolErrorKind.CANCELLED
            )
            self._tell(
                r.UserCommandEnded(id, completion, output_tail(tail) if cut_off else ""),
                facts.UserCommandEnded(id, completion),
            )

    async def _execute(
        self, command: str, token: CancellationToken, show: OutputListener
    ) -> ToolCompletion:
        settings = self._settings
        execution = shell_execution(
            command,
            cwd=self._folder,
            environment=settings.environment,
            max_output_bytes=settings.max_output_bytes,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        try:
            result = await run_shell(
                execution,
                settings.supervisor,
                cancellation=token,
                on_output=show,
                spill_folder=settings.spill_folder,
            )
        except ShellUnavailable as error:
            return ToolFailed(ToolErrorKind.EXECUTION, str(error))
        if result.was_cancelled:
            return ToolFailed(ToolErrorKind.CANCELLED, "tool call cancelled")
        return _completion(result, settings.max_output_bytes)


def _completion(result: ShellResult, max_output_bytes: int) -> ToolCompletion:
    """What a call of `bash` would have come to."""
    report = shell_report(result, max_output_bytes, timeout_seconds=TIMEOUT_SECONDS)
    metadata = ToolMetadata().with_details(**report.facts)
    if result.exit.exit_code == 0 and not result.exit.timed_out:
        return ToolSucceeded(ToolOutput(report.text, metadata))
    return ToolFailed(ToolErrorKind.EXECUTION, report.text, metadata)
