"""Run a shell command without blocking the event loop: for the tool and for `!command` alike."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rho_core.authority.capabilities import (
    ExecutableSelection,
    ProcessEnvironment,
    ProcessExecution,
    ProcessLimits,
    ShellInvocation,
)
from rho_core.cancellation import CancellationToken
from rho_core.tools.shell.capture import LiveText, OutputCapture
from rho_core.tools.shell.command import CommandExit, ShellCommand
from rho_core.tools.shell.environment import shell_environment
from rho_core.tools.shell.processes import CommandLine, ShellSupervisor, ShellUnavailable

MAX_COMMAND_BYTES = 128 * 1024 - 1
LIVE_INTERVAL_SECONDS = 0.05

OutputListener = Callable[[str], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class ShellResult:
    """How a command ended, with what was kept of its output."""

    exit: CommandExit
    output: OutputCapture
    was_cancelled: bool


def shell_execution(
    command: str,
    *,
    cwd: Path,
    environment: ProcessEnvironment,
    max_output_bytes: int,
    timeout_seconds: float | None = None,
    executable: str | None = None,
) -> ProcessExecution:
    """The facts of a shell command: what is authorized is the object that is executed (16.3).

    `executable` defaults to `bash`, or `sh` where there is no bash; the text goes to it unchanged,
    as one argument.
    """
    name = executable or default_shell(environment)
    selection = ExecutableSelection.EXACT_PATH if "/" in name else ExecutableSelection.SEARCH_PATH
    return ProcessExecution(
        cwd,
        ShellInvocation(name, selection, ("-c",), command),
        environment,
        ProcessLimits(max_output_bytes, timeout_seconds),
    )


def default_shell(environment: ProcessEnvironment) -> str:
    """`bash` if the child's PATH has it, else `sh`."""
    import shutil

    path = environment.compose(dict(os.environ)).get("PATH", os.defpath)
    return "bash" if shutil.which("bash", path=path) else "sh"


async def run_shell(
    execution: ProcessExecution,
    supervisor: ShellSupervisor,
    *,
    cancellation: CancellationToken | None = None,
    on_output: OutputListener | None = None,
    spill_folder: Path | None = None,
    parent_environment: Mapping[str, str] | None = None,
) -> ShellResult:
    """Run a command to its end and return what it wrote.

    `on_output` is awaited with decoded pieces in order, at most twenty a second. When the token is
    cancelled the command is stopped within a second and the result says so; when the awaiting task
    is cancelled the command is stopped before `CancelledError` goes on. Whatever happens, no
    process of the command is left.

    Raises `ShellUnavailable` when the command cannot be started.
    """
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    live = None
    if on_output is not None:
        live = LiveText(lambda: _call_in_loop(loop, arrived.set))
    capture = OutputCapture(execution.limits.max_output_bytes, spill_folder=spill_folder, live=live)
    command = ShellCommand(
        command_line(execution, os.environ if parent_environment is None else parent_environment),
        supervisor,
        capture,
        timeout_seconds=execution.limits.timeout_seconds,
    )
    done: asyncio.Future[CommandExit] = loop.create_future()
    relay = None
    if live is not None and on_output is not None:
        done.add_done_callback(lambda _done: arrived.set())
        relay = asyncio.create_task(_relay(live, arrived, on_output, done))
    forget = cancellation.on_cancel(command.stop) if cancellation is not None else None
    threading.Thread(
        target=_run_in_thread, args=(command, loop, done), name="rho-shell", daemon=True
    ).start()
    try:
        ended = await _outcome(command, done)
        # a command that had ended when cancellation came keeps its result (D26)
        was_cancelled = ended.was_stopped and cancellation is not None and cancellation.is_cancelled
        if relay is not None and not was_cancelled:
            await relay  # everything is delivered, in order, before the result (16.14)
        return ShellResult(ended, capture, was_cancelled)
    finally:
        command.stop()
        if forget is not None:
            forget()
        if relay is not None:
            relay.cancel()
            await asyncio.gather(relay, return_exceptions=True)


async def _outcome(command: ShellCommand, done: asyncio.Future[CommandExit]) -> CommandExit:
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        # dropped: nobody may be told that this ended while its processes live
        command.stop()
        await asyncio.wait((done,))
        if not done.cancelled():
            done.exception()
        raise


async def _relay(
    live: LiveText,
    arrived: asyncio.Event,
    on_output: OutputListener,
    done: asyncio.Future[CommandExit],
) -> None:
    while True:
        await arrived.wait()
        arrived.clear()
        is_over = done.done()
        if text := live.take():
            await on_output(text)
        if is_over:
            return
        await asyncio.wait((done,), timeout=LIVE_INTERVAL_SECONDS)


def _run_in_thread(
    command: ShellCommand, loop: asyncio.AbstractEventLoop, done: asyncio.Future[CommandExit]
) -> None:
    ended: CommandExit | BaseException
    try:
        ended = command.run()
    except BaseException as error:  # noqa: BLE001 - a thread must hand over whatever happened
        ended = error

    def settle() -> None:
        if done.done():
            return
        if isinstance(ended, CommandExit):
            done.set_result(ended)
        else:
            done.set_exception(ended)

    _call_in_loop(loop, settle)


def _call_in_loop(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    # the loop may be closed when a command outlasts it; then nobody listens
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(callback)


def command_line(execution: ProcessExecution, parent: Mapping[str, str]) -> CommandLine:
    """What is executed for an authorized process. Raises `ShellUnavailable` if it cannot be."""
    invocation = execution.invocation
    if not isinstance(invocation, ShellInvocation):
        raise ShellUnavailable("not a shell command")
    if len(os.fsencode(invocation.command)) > MAX_COMMAND_BYTES:
        raise ShellUnavailable(
            f"the command is longer than {MAX_COMMAND_BYTES} bytes; write it to a file and run that"
        )
    cwd = execution.working_directory
    return CommandLine(
        (invocation.executable, *invocation.arguments, invocation.command),
        cwd,
        shell_environment(execution.environment, parent, str(cwd)),
    )
