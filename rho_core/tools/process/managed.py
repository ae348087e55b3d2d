"""One background process: a thread that follows it, its state, and those who wait for news."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from rho_core.tools.process.output import ProcessOutput
from rho_core.tools.shell.command import CommandExit, ShellCommand
from rho_core.tools.shell.processes import CommandLine, ShellSupervisor, ShellUnavailable


class ProcessState(StrEnum):
    """Where a process stands (17.5)."""

    STARTING = "starting"
    RUNNING = "running"
    EXITED = "exited"
    TERMINATED = "terminated"
    TIMED_OUT = "timed_out"
    FAILED_TO_START = "failed_to_start"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (ProcessState.STARTING, ProcessState.RUNNING)


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """A reading of a process.

    `exit_code` is there for one that exited by itself: negative when a signal ended it, None when
    nobody could tell. `seconds` is how long it has run, or ran.
    """

    state: ProcessState
    seconds: float
    exit_code: int | None = None
    detail: str = ""


class ManagedProcess:
    """A process under a `ShellSupervisor`. Thread-safe; `start` once."""

    def __init__(
        self,
        id: str,
        owner: str,
        line: CommandLine,
        supervisor: ShellSupervisor,
        output: ProcessOutput,
        *,
        command_text: str,
        timeout_seconds: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.id = id
        self.owner = owner
        self.command_text = command_text
        self.output = output
        self.is_observed = False
        self._lock = threading.Lock()
        self._listeners: dict[object, Callable[[], object]] = {}
        self._clock = clock
        self._stopwatch = supervisor.stopwatch
        self._started = self._stopwatch()
        self._status = ProcessStatus(ProcessState.STARTING, 0.0)
        self.finished_at: float | None = None
        self._command = ShellCommand(
            line,
            supervisor,
            self,
            timeout_seconds=timeout_seconds,
            on_running=self._note_running,
        )

    @property
    def status(self) -> ProcessStatus:
        """How it stands now."""
        status = self._status
        if status.state.is_terminal:
            return status
        return ProcessStatus(status.state, self._stopwatch() - self._started)

    @property
    def is_live(self) -> bool:
        """Whether it may still have processes."""
        return not self._status.state.is_terminal

    def start(self) -> None:
        """Run it in a thread of its own. Returns at once."""
        threading.Thread(target=self._run, name="rho-process", daemon=True).start()

    def stop(self, *, gently: bool = True) -> None:
        """Ask it to end: SIGTERM, and SIGKILL two seconds later (17.11). Returns at once."""
        self._command.stop(gently=gently)

    def join(self, seconds: float) -> bool:
        """Wait until none of its processes is left. Blocking."""
        return self._command.finished.wait(seconds)

    def subscribe(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` at every change, from any thread; returns the way out."""
        key = object()
        with self._lock:
            self._listeners[key] = listener

        def forget() -> None:
            with self._lock:
                self._listeners.pop(key, None)

        return forget

    def feed(self, stream: int, data: bytes) -> None:
        """Output arrived."""
        self.output.feed(stream, data)
        self._tell()

    def close(self) -> None:
        """All output has arrived; the state turns terminal after this (17.12)."""
        self.output.close()

    def _note_running(self) -> None:
        self._become(ProcessStatus(ProcessState.RUNNING, 0.0))

    def _run(self) -> None:
        try:
            ended = self._command.run()
        except ShellUnavailable as error:
            self._finish(ProcessState.FAILED_TO_START, detail=str(error))
        except BaseException as error:  # a record must never stay live without its thread
            self._finish(ProcessState.FAILED_TO_START, detail=f"{type(error).__name__}: {error}")
            raise
        else:
            self._finish_as(ended)

    def _finish_as(self, ended: CommandExit) -> None:
        detail = ""
        if ended.survivors:
            detail = f"{ended.survivors} of its processes could not be stopped"
        if ended.timed_out:
            self._finish(ProcessState.TIMED_OUT, detail=detail)
        elif ended.was_stopped:
            self._finish(ProcessState.TERMINATED, detail=detail)
        else:
            if ended.stopped and not detail:
                detail = "processes that it left in the background were stopped"
            self._finish(ProcessState.EXITED, exit_code=ended.exit_code, detail=detail)

    def _finish(self, state: ProcessState, *, exit_code: int | None = None, detail: str) -> None:
        self.finished_at = self._clock()
        seconds = self._stopwatch() - self._started
        self._become(ProcessStatus(state, seconds, exit_code, detail))

    def _become(self, status: ProcessStatus) -> None:
        self._status = status
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()
