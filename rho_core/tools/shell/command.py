"""One running command: a thread that reads its output, watches the clock and sees it end.

The command ends when its first process does, plus a short drain; an open pipe never delays it
(16.11, A4). Stopping is one call from any thread.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from rho_core.tools.shell.processes import (
    CommandLine,
    CommandLink,
    ShellSupervisor,
    ShellUnavailable,
    kill_session,
)

READ_SIZE = 65_536
DRAIN_SECONDS = 0.25
TEARDOWN_SECONDS = 4.0
#: What a gentle stop may take longer, see `supervisor_main.GENTLE_GRACE`.
GENTLE_SECONDS = 2.0
#: A command that floods is read at this rate, so that Rho's other threads get their turn.
FLOOD_BYTES_PER_SECOND = 128 * 1024 * 1024
_FLOOD_STEP = 2 * 1024 * 1024


class OutputSink(Protocol):
    """Where the output of a command goes, from the thread that runs it."""

    def feed(self, stream: int, data: bytes) -> None:
        """Take bytes of stdout (0) or stderr (1)."""

    def close(self) -> None:
        """No more output comes."""


@dataclass(frozen=True, slots=True)
class CommandExit:
    """How a command ended.

    `exit_code` is negative when a signal ended it, None when nobody could tell. `stopped` counts
    background processes that had to be stopped after a normal end, `survivors` those that could
    not be.
    """

    exit_code: int | None
    duration_seconds: float
    timed_out: bool = False
    was_stopped: bool = False
    stopped: int = 0
    survivors: int = 0


class ShellCommand:
    """A command to run once. `run` blocks and belongs in a thread of its own.

    `on_running` is called in that thread once the command is known to run.
    """

    def __init__(
        self,
        line: CommandLine,
        supervisor: ShellSupervisor,
        capture: OutputSink,
        *,
        timeout_seconds: float | None = None,
        on_running: Callable[[], object] = lambda: None,
    ) -> None:
        self.finished = threading.Event()
        self._line = line
        self._supervisor = supervisor
        self._capture = capture
        self._timeout = timeout_seconds
        self._on_running = on_running
        # reentrant: a signal handler may call `stop` inside any of the sections below
        self._lock = threading.RLock()
        self._link: CommandLink | None = None
        self._stop_requested = False
        self._is_gentle = False
        self._is_over = False

    def stop(self, *, gently: bool = False) -> None:
        """End the command with all its processes. Returns at once; idempotent; from any thread.

        They get SIGTERM first, and a moment to end; `gently` makes that two seconds.
        """
        with self._lock:
            self._is_gentle = gently and (self._is_gentle or not self._stop_requested)
            self._stop_requested = True
            if self._link is not None and not self._is_over:
                with contextlib.suppress(OSError):
                    self._link.control.send(b"T" if gently else b"K")

    def run(self) -> CommandExit:
        """Run to the end. Raises `ShellUnavailable` when it cannot be started."""
        try:
            self._supervisor.register(self)
            if self._stop_requested:
                return CommandExit(None, 0.0, was_stopped=True)
            started, begun = time.monotonic(), self._supervisor.stopwatch()
            link = self._supervisor.launch(self._line)
            try:
                with self._lock:
                    self._link = link
                if self.stop_requested:
                    self.stop(gently=self._is_gentle)
                watch = _Watch(
                    self,
                    link,
                    self._capture,
                    timeout_at=None if self._timeout is None else started + self._timeout,
                    elapsed=lambda: self._supervisor.stopwatch() - begun,
                )
                return watch.follow()
            finally:
                with self._lock:
                    self._is_over = True
                    link.close()
        finally:
            self._capture.close()
            self._supervisor.forget(self)
            self.finished.set()

    def start_failure(self, number: int) -> str:
        """Why the command could not start, given the errno of it."""
        if not self._line.cwd.is_dir():
            return "the working directory does not exist"
        return f"{self._line.arguments[0]}: {os.strerror(number)}"

    def note_running(self) -> None:
        """The command was executed."""
        self._on_running()

    @property
    def is_gentle(self) -> bool:
        """Whether the stop that was asked for leaves more time."""
        return self._is_gentle

    @property
    def stop_requested(self) -> bool:
        """Whether someone asked to end it."""
        return self._stop_requested


class _Watch:
    """The reading loop of one command."""

    def __init__(
        self,
        command: ShellCommand,
        link: CommandLink,
        capture: OutputSink,
        *,
        timeout_at: float | None,
        elapsed: Callable[[], float],
    ) -> None:
        self._command = command
        self._control = link.control
        self._capture = capture
        self._elapsed = elapsed
        self._timeout_at = timeout_at
        self._give_up_at: float | None = None
        self._reports = bytearray()
        self._leader: int | None = None
        self._ended_at: float | None = None
        self._took: float | None = None
        self._exit_code: int | None = None
        self._torn_down: tuple[int, int] | None = None
        self._timed_out = False
        self._was_stopped = False
        self._open_outputs = 2
        self._flood = 0
        self._selector = selectors.DefaultSelector()
        self._selector.register(link.control, selectors.EVENT_READ, None)
        for stream, descriptor in enumerate(link.outputs):
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ, stream)

    def follow(self) -> CommandExit:
        """Read until the command is torn down, then drain for a moment at most."""
        with self._selector:
            while self._torn_down is None and not self._is_late():
                self._step(self._next_wait())
            if self._torn_down is None and self._leader is not None:
                kill_session(self._leader)
            drain_until = time.monotonic() + DRAIN_SECONDS
            while self._open_outputs and (left := drain_until - time.monotonic()) > 0:
                self._step(left)
        stopped, survivors = self._torn_down or (0, 0)
        if self._ended_at is None:  # nobody saw it end
            self._was_stopped = self._command.stop_requested and not self._timed_out
        return CommandExit(
            self._exit_code,
            self._elapsed() if self._took is None else self._took,
            timed_out=self._timed_out,
            was_stopped=self._was_stopped,
            stopped=0 if self._timed_out or self._was_stopped else stopped,
            survivors=survivors,
        )

    def _is_late(self) -> bool:
        """Apply the deadlines; True when the supervisor does not answer any more."""
        now = time.monotonic()
        if self._timeout_at is not None and self._ended_at is None and now >= self._timeout_at:
            self._timeout_at = None
            if not self._command.stop_requested:
                self._timed_out = True
                self._command.stop()
        if self._give_up_at is None and (self._ended_at or self._command.stop_requested):
            self._give_up_at = now + TEARDOWN_SECONDS + GENTLE_SECONDS * self._command.is_gentle
        return self._give_up_at is not None and now >= self._give_up_at

    def _next_wait(self) -> float:
        # `stop` comes from other threads: look once a second whether a deadline began
        deadlines = [at for at in (self._timeout_at, self._give_up_at) if at is not None]
        left = min(deadlines, default=float("inf")) - time.monotonic()
        return max(0.0, min(left, 1.0))

    def _step(self, wait: float) -> None:
        for key, _events in self._selector.select(wait):
            if key.data is None:
                self._read_reports()
            else:
                self._read_output(key.fileobj, key.data)

    def _read_output(self, descriptor: Any, stream: int) -> None:
        try:
            data = os.read(descriptor, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(descriptor)
            self._open_outputs -= 1
            return
        self._capture.feed(stream, data)
        self._flood += len(data)
        if self._flood >= _FLOOD_STEP:
            self._flood = 0
            time.sleep(_FLOOD_STEP / FLOOD_BYTES_PER_SECOND)

    def _read_reports(self) -> None:
        try:
            data = self._control.recv(256)
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(self._control)
            if self._torn_down is None:
                self._supervisor_lost()
            return
        self._reports += data
        while b"\n" in self._reports:
            line, _, rest = self._reports.partition(b"\n")
            self._reports = bytearray(rest)
            self._take_report(bytes(line))

    def _take_report(self, line: bytes) -> None:
        kind, *numbers = line.split()
        values = [int(number) for number in numbers]
        match kind:
            case b"P":
                self._leader = values[0]
            case b"F":
                raise ShellUnavailable(self._command.start_failure(values[0]))
            case b"R":
                self._command.note_running()
            case b"E":
                self._ended_at, self._took = time.monotonic(), self._elapsed()
                self._was_stopped = self._command.stop_requested and not self._timed_out
                self._exit_code = values[0]
            case b"D":
                self._torn_down = (values[0], values[1])
            case _:
                raise ShellUnavailable("the shell helper sent an unknown report")

    def _supervisor_lost(self) -> None:
        """The supervisor was killed: end what can still be found, and say nothing of the code."""
        if self._leader is None:
            raise ShellUnavailable("the shell helper died before the command started")
        kill_session(self._leader)
        self._torn_down = (0, 0)
