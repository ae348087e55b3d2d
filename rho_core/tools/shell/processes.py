"""The owner of all shell commands of one host: starts them, and can end them all at once (16.11).

Commands run under `supervisor_main.py`, a helper process that Rho talks to over sockets. Whoever
closes Rho's end of a command's socket, the kernel at a crash included, ends the command with all
its descendants.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

CLOSE_DEADLINE = 5.0
SEND_TIMEOUT = 5.0
_KEPT_FOR_SERVER = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR")


class RunningCommand(Protocol):
    """What the owner needs of a command."""

    @property
    def finished(self) -> threading.Event:
        """Set once no process of the command is left."""

    def stop(self) -> None:
        """Ask the command to end; returns at once."""


class ShellUnavailable(Exception):
    """Commands cannot be started here; the message says why."""


@dataclass(frozen=True, slots=True, repr=False)
class CommandLine:
    """What is executed: found on the PATH of `environment` unless `arguments[0]` is a path."""

    arguments: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]

    def frame(self) -> bytes:
        """The wire form, see `supervisor_main`."""
        fields = [
            os.fsencode(self.cwd),
            str(len(self.arguments)).encode(),
            *(os.fsencode(argument) for argument in self.arguments),
            *(os.fsencode(f"{name}={value}") for name, value in self.environment.items()),
        ]
        if any(b"\0" in field for field in fields):
            raise ShellUnavailable("a command cannot contain NUL characters")
        return b"\0".join(fields)


@dataclass(slots=True)
class CommandLink:
    """Rho's ends of a started command: control socket, stdout and stderr pipes."""

    control: socket.socket
    outputs: tuple[int, int]

    def close(self) -> None:
        """Let go of the command: it ends, if it did not already."""
        self.control.close()
        for descriptor in self.outputs:
            with contextlib.suppress(OSError):
                os.close(descriptor)


class ShellSupervisor:
    """Owns the helper process and every running command. Thread-safe.

    The host keeps one, calls `kill_all` from signal and exit paths, and awaits `aclose` when it
    quits. Nothing starts before the first command.

    Args:
        stopwatch: Seconds by which commands report how long they took; deadlines never use it.
    """

    def __init__(self, *, stopwatch: Callable[[], float] = time.monotonic) -> None:
        self.stopwatch = stopwatch
        self._lock = threading.Lock()
        self._running: set[RunningCommand] = set()
        self._server: socket.socket | None = None
        self._end_helper: weakref.finalize[..., ShellSupervisor] | None = None
        self._closed = False

    def register(self, command: RunningCommand) -> None:
        """Own `command` from now on. Raises `ShellUnavailable` after closing."""
        with self._lock:
            if self._closed:
                raise ShellUnavailable("the shell has been shut down")
            self._running.add(command)

    def forget(self, command: RunningCommand) -> None:
        """The command has ended."""
        with self._lock:
            self._running.discard(command)

    def kill_all(self) -> None:
        """End every running command. Returns at once; safe in an exit or signal handler."""
        # no lock: a signal handler may interrupt the thread that holds it; copying is atomic
        for command in list(self._running):
            command.stop()

    async def aclose(self) -> None:
        """Refuse new commands, end the running ones and wait until they are gone."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for command in running:
            command.stop()
        await asyncio.to_thread(self._join, running)

    def _join(self, running: list[RunningCommand]) -> None:
        for command in running:
            command.finished.wait(CLOSE_DEADLINE)
        with self._lock:
            self._stop_helper()

    def launch(self, line: CommandLine) -> CommandLink:
        """Hand a command to the helper. Blocking; raises `ShellUnavailable`."""
        frame = line.frame()
        with contextlib.ExitStack() as on_failure:
            ours, theirs = socket.socketpair()
            on_failure.callback(ours.close)
            pipes = [os.pipe(), os.pipe()]
            for read, _write in pipes:
                on_failure.callback(os.close, read)
            try:
                self._send(frame, [theirs.fileno(), pipes[0][1], pipes[1][1]])
            finally:
                theirs.close()
                for _read, write in pipes:
                    os.close(write)
            on_failure.pop_all()
        return CommandLink(ours, (pipes[0][0], pipes[1][0]))

    def _send(self, frame: bytes, descriptors: list[int]) -> None:
        with self._lock:
            for attempt in range(2):
                if self._server is None:
                    self._start_helper()
                assert self._server is not None
                try:
                    socket.send_fds(self._server, [len(frame).to_bytes(4, "big")], descriptors)
                    self._server.sendall(frame)
                    return
                except OSError as error:
                    # the helper died since the last command: start another, once
                    self._stop_helper()
                    if attempt:
                        raise ShellUnavailable(f"the shell helper died: {error}") from error

    def _start_helper(self) -> None:
        if not hasattr(socket, "send_fds") or sys.platform == "win32":
            raise ShellUnavailable("shell commands need a POSIX system")
        if not sys.executable:
            raise ShellUnavailable("the Python interpreter that supervises commands is not known")
        ours, theirs = socket.socketpair()
        script = Path(__file__).with_name("supervisor_main.py")
        # Rho's own variables may hold credentials, and a command can read its parents' environment
        environment = {name: os.environ[name] for name in _KEPT_FOR_SERVER if name in os.environ}
        try:
            helper = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", str(script), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=environment,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise ShellUnavailable(f"the shell helper cannot start: {error}") from error
        finally:
            theirs.close()
        ours.settimeout(SEND_TIMEOUT)
        self._server = ours
        # also when this object is dropped without `aclose`, and when the interpreter exits
        self._end_helper = weakref.finalize(self, _end_helper, ours, helper)

    def _stop_helper(self) -> None:
        self._server = None
        if self._end_helper is not None:
            self._end_helper()


def _end_helper(server: socket.socket, helper: subprocess.Popen[bytes]) -> None:
    server.close()
    try:
        helper.wait(1.0)
    except subprocess.TimeoutExpired:
        helper.kill()
        helper.wait()


def kill_session(leader: int) -> None:
    """Last resort, when a command's supervisor itself was killed: end the session it led."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)
    with contextlib.suppress(OSError):
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError, IndexError):
                data = (entry / "stat").read_bytes()
                session = int(data[data.rindex(b")") + 2 :].split(None, 4)[3])
                if session == leader:
                    os.kill(int(entry.name), signal.SIGKILL)
