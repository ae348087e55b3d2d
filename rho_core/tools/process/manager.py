"""The owner of all background processes of a host (17.10, 17.13, 17.14).

Processes run under the host's `ShellSupervisor`: they die with Rho, whatever Rho dies of.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from rho_core.authority.capabilities import ProcessExecution
from rho_core.cancellation import CancellationToken
from rho_core.errors import ToolError
from rho_core.tools.process.managed import ManagedProcess, ProcessState
from rho_core.tools.process.notice import ProcessNotice, notice_of
from rho_core.tools.process.output import RETAINED_BYTES, RETAINED_PIECES, ProcessOutput
from rho_core.tools.shell.processes import CLOSE_DEADLINE, ShellSupervisor
from rho_core.tools.shell.run import command_line

MAX_LIVE = 16
MAX_RECORDS = 64
KEEP_SECONDS = 30 * 60.0
#: How long `start` waits, in seconds, for a process that ends at once, such as a mistyped command.
SETTLE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class LiveProcess:
    """A running process as a host lists it: the newest output is at the end of `tail`."""

    id: str
    command: str
    seconds: float
    tail: str


class ProcessManager:
    """Starts, keeps and ends background processes. Thread-safe; one for a host.

    The host awaits `aclose` when it quits, and may call `kill_all` from signal and exit paths.

    Args:
        supervisor: Runs the processes; its own closing ends them too.
        retained_bytes, retained_pieces: How much output of each process is kept.
        clock: Seconds, for how long finished processes are kept.
    """

    def __init__(
        self,
        supervisor: ShellSupervisor,
        *,
        max_live: int = MAX_LIVE,
        max_records: int = MAX_RECORDS,
        retained_bytes: int = RETAINED_BYTES,
        retained_pieces: int = RETAINED_PIECES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._supervisor = supervisor
        self._max_live = max_live
        self._max_records = max_records
        self._retained = (retained_bytes, retained_pieces)
        self._clock = clock
        self._lock = threading.Lock()
        self._records: dict[str, ManagedProcess] = {}
        self._closed = False

    async def start(self, execution: ProcessExecution, *, owner: str = "") -> ManagedProcess:
        """Start exactly the authorized process; returns once it runs, failed or ended at once.

        `owner` is whoever is told of its end. Raises `ToolError` at the limit of live processes
        and after closing; a process that cannot be started is a result, not an error (17.5).
        """
        process = self._admit(execution, owner)
        changed, forget = _listen(process)
        try:
            process.start()
            deadline = time.monotonic() + SETTLE_SECONDS
            while process.is_live:
                changed.clear()
                left = deadline - time.monotonic()
                if left <= 0 and process.status.state is not ProcessState.STARTING:
                    break
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), max(left, 0.05))
        finally:
            forget()
        return process

    def find(self, id: str) -> ManagedProcess:
        """The process of that id. Raises `ToolError` for one that is not known (any more)."""
        with self._lock:
            process = self._records.get(id)
        if process is None:
            raise ToolError.execution("unknown process_id")
        return process

    async def wait_for_news(
        self,
        process: ManagedProcess,
        cursor: int,
        seconds: float,
        cancellation: CancellationToken | None = None,
    ) -> None:
        """Return when there is output from `cursor` on, or the process ended, or time is over.

        Cancellation ends the wait and does nothing to the process (17.3).
        """
        changed, forget = _listen(process)
        loop = asyncio.get_running_loop()
        unhook = None
        if cancellation is not None:
            unhook = cancellation.on_cancel(lambda: _wake(loop, changed))
        deadline = time.monotonic() + seconds
        try:
            while process.is_live and process.output.end <= cursor:
                left = deadline - time.monotonic()
                if left <= 0 or (cancellation is not None and cancellation.is_cancelled):
                    return
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), left)
                changed.clear()
        finally:
            forget()
            if unhook is not None:
                unhook()

    def stop(self, process: ManagedProcess) -> None:
        """Ask for the end and return at once. Raises `ToolError` when it has ended already."""
        if not process.is_live:
            raise ToolError.execution("process has exited")
        process.stop()

    def live(self) -> list[LiveProcess]:
        """What runs now, oldest first."""
        with self._lock:
            running = [process for process in self._records.values() if process.is_live]
        return [
            LiveProcess(
                process.id, process.command_text, process.status.seconds, process.output.tail()
            )
            for process in running
        ]

    def take_notice(self, owner: str = "") -> ProcessNotice | None:
        """What to tell the model of processes that ended unseen; each is told once (17.14).

        `ProcessNotice.restore` makes them untold again, for a delivery that failed.
        """
        with self._lock:
            finished = [
                process
                for process in self._records.values()
                if process.owner == owner and not process.is_live and not process.is_observed
            ]
            for process in finished:
                process.is_observed = True
        return notice_of(finished) if finished else None

    def kill_all(self) -> None:
        """End every process. Returns at once; safe in an exit or signal handler."""
        # no lock: a signal handler may interrupt the thread that holds it; copying is atomic
        for process in list(self._records.values()):
            if process.is_live:
                process.stop(gently=False)

    async def aclose(self) -> None:
        """Refuse new processes, end the running ones and wait until they are gone."""
        with self._lock:
            self._closed = True
            running = [process for process in self._records.values() if process.is_live]
        for process in running:
            process.stop(gently=False)
        await asyncio.to_thread(_join, running)

    def _admit(self, execution: ProcessExecution, owner: str) -> ManagedProcess:
        """A record for a new process, counted before it starts (17.10)."""
        line = command_line(execution, os.environ)
        with self._lock:
            if self._closed:
                raise ToolError.execution("background processes have been shut down")
            self._drop_old()
            if sum(process.is_live for process in self._records.values()) >= self._max_live:
                raise ToolError.execution(
                    f"live process limit reached ({self._max_live}); stop one first"
                )
            max_bytes, max_pieces = self._retained
            process = ManagedProcess(
                str(uuid.uuid4()),
                owner,
                line,
                self._supervisor,
                ProcessOutput(max_bytes=max_bytes, max_pieces=max_pieces),
                command_text=execution.shell_command or "",
                timeout_seconds=execution.limits.timeout_seconds,
                clock=self._clock,
            )
            self._records[process.id] = process
        return process

    def _drop_old(self) -> None:
        now = self._clock()
        finished = [process for process in self._records.values() if not process.is_live]
        excess = len(self._records) + 1 - self._max_records
        for number, process in enumerate(finished):
            ended = process.finished_at
            if number < excess or (ended is not None and now - ended > KEEP_SECONDS):
                del self._records[process.id]


def _listen(process: ManagedProcess) -> tuple[asyncio.Event, Callable[[], None]]:
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    return changed, process.subscribe(lambda: _wake(loop, changed))


def _wake(loop: asyncio.AbstractEventLoop, changed: asyncio.Event) -> None:
    # the loop may be closed when a process outlasts it; then nobody listens
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(changed.set)


def _join(running: list[ManagedProcess]) -> None:
    deadline = time.monotonic() + CLOSE_DEADLINE
    for process in running:
        process.join(max(0.0, deadline - time.monotonic()))
