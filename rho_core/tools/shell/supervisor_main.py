"""The process that runs shell commands for Rho and lets none of their children outlive them.

Executed as a script by a bare interpreter (`python -I -S`), never imported: it needs nothing but
the standard library. One server serves one Rho; for every command it forks a supervisor that

* becomes the reaper of orphans (Linux), so that `setsid` and double forks cannot escape it,
* runs the command in a new session, which has no controlling terminal,
* reports over a control socket, and
* stops every descendant when the command ends, when Rho asks, and when Rho is gone: the socket
  then reads end-of-file, whatever Rho died of, `kill -9` included.

Wire. Rho sends a frame on the server socket: 4 bytes of length with three descriptors attached
(control, stdout, stderr), then NUL-separated fields: cwd, argument count, arguments, `NAME=value`s.
On the control socket come lines: `P pid` leads its session and starts, `F errno` could not start,
`R` it is running, `E code` the command ended (negative: by that signal), `D stopped survivors` all
is torn down. Any byte from Rho, or end-of-file, means: stop it now; `T` leaves it more time for
that than others.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import gc
import os
import select
import signal
import socket
import sys
import time
import warnings  # noqa: F401 - `os.execvpe` imports it: once here, not in every child

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself would cost as much as all the rest
    from collections.abc import Callable

LEFTOVER_GRACE = 0.2  # for `>(tee log)` and friends to finish by themselves
TERMINATE_GRACE = 0.2  # between SIGTERM and SIGKILL
GENTLE_GRACE = 2.0  # the same, for a server that was asked to stop
KILL_DEADLINE = 2.0  # for a process that even SIGKILL does not end at once
POLL_STEP = 0.01

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
HAS_WAITID = hasattr(os, "waitid")


def _load_prctl() -> Callable[..., object] | None:
    """Linux' `prctl`, looked up once before the first fork; None elsewhere."""
    if sys.platform != "linux":
        return None
    try:
        function: Callable[..., object] = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    return function


_PRCTL = _load_prctl()


def _prctl(option: int, value: int) -> None:
    if _PRCTL is not None:
        _PRCTL(option, value, 0, 0, 0)


def serve(server: socket.socket) -> None:
    """Fork a supervisor for every frame until Rho closes its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are reaped by the kernel
    gc.disable()  # collections would only copy the pages that forks share
    while True:
        header, descriptors = _receive_header(server)
        if header is None:
            return
        payload = _receive_exactly(server, int.from_bytes(header, "big"))
        if payload is None or len(descriptors) != 3:
            return
        if os.fork() == 0:
            server.close()
            try:
                supervise(descriptors, payload.split(b"\0"))
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _receive_header(server: socket.socket) -> tuple[bytes | None, list[int]]:
    descriptors = array.array("i")
    data, ancillary, _flags, _address = server.recvmsg(4, socket.CMSG_SPACE(3 * 4))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) - len(content) % 4])
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # the command must not hold our ends open
    if not data:
        return None, []
    rest = _receive_exactly(server, 4 - len(data))
    return (None if rest is None else data + rest), list(descriptors)


def _receive_exactly(server: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        chunk = server.recv(min(65_536, size - len(data)))
        if not chunk:
            return None
        data += chunk
    return bytes(data)


class Command:
    """One command and everything that descends from it."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.pid = 0
        self.reaped_code: int | None = None
        self.told_to_stop = False
        self.grace = TERMINATE_GRACE
        self._wake_read, wake_write = os.pipe()
        for descriptor in (self._wake_read, wake_write):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)

    def report(self, line: str) -> None:
        # Rho may be gone: nobody is left to tell
        with contextlib.suppress(OSError):
            self.control.sendall(line.encode() + b"\n")

    def wait(self, timeout: float | None) -> None:
        """Sleep until a child ends, Rho speaks or hangs up, or the time is over."""
        control = self.control.fileno()
        sources = [self._wake_read] if self.told_to_stop else [self._wake_read, control]
        ready, _, _ = select.select(sources, [], [], timeout)
        if self._wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
        if control in ready:
            with contextlib.suppress(OSError):
                if self.control.recv(64) == b"T":
                    self.grace = GENTLE_GRACE
            self.told_to_stop = True

    def exit_code(self) -> int | None:
        """How the command ended, None while it runs. Its pid stays reserved where possible."""
        if not HAS_WAITID:
            if self.reaped_code is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self.reaped_code = os.waitstatus_to_exitcode(status) if pid else None
            return self.reaped_code
        info = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if info is None:
            return None
        return info.si_status if info.si_code == os.CLD_EXITED else -info.si_status

    def reap_orphans(self) -> None:
        """Collect adopted processes that ended, but never the command itself."""
        while HAS_WAITID:
            try:
                info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if info is None or info.si_pid == self.pid:
                return
            os.waitpid(info.si_pid, 0)

    def has_ended_alone(self) -> bool:
        """A cheap first look after the exit: nothing was left to the reaper."""
        me = os.getpid()
        try:
            with open(f"/proc/{me}/task/{me}/children", "rb") as file:
                return file.read().split() == [b"%d" % self.pid]
        except OSError:
            return False

    def living(self) -> list[int]:
        """The pids of all living descendants; on systems without /proc, the group if any lives."""
        try:
            names = os.listdir("/proc")  # noqa: PTH208
            os.stat("/proc/self/stat")  # noqa: PTH116
        except OSError:
            return [-self.pid] if self._group_lives() else []
        children: dict[int, list[int]] = {}
        for name in names:
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    data = file.read()
            except OSError:
                continue
            fields = data[data.rindex(b")") + 2 :].split(None, 2)
            if fields[0] not in (b"Z", b"X"):
                children.setdefault(int(fields[1]), []).append(int(name))
        found: list[int] = []
        queue = [os.getpid()]
        while queue:
            below = children.get(queue.pop(), [])
            found += below
            queue += below
        return found

    def _group_lives(self) -> bool:
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return False
        return True

    def signal_all(self, number: int, pids: list[int]) -> None:
        """Signal the group first, which is atomic, then whoever left it."""
        for pid in [-self.pid, *pids]:
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def await_end(self, seconds: float, *, unless_told: bool = False) -> list[int]:
        """Wait until nothing lives; what still does after `seconds`."""
        deadline = time.monotonic() + seconds
        while True:
            self.reap_orphans()
            pids = self.living()
            if not pids or time.monotonic() >= deadline or (unless_told and self.told_to_stop):
                return pids
            self.wait(POLL_STEP)

    def tear_down(self) -> tuple[int, int]:
        """Stop all descendants: how many had to be stopped, how many could not be."""
        pids = self.living()
        stopped = len(pids)
        if pids:
            self.signal_all(signal.SIGTERM, pids)
            self.signal_all(signal.SIGCONT, pids)  # a stopped process must run to take SIGTERM
            pids = self.await_end(self.grace)
        deadline = time.monotonic() + KILL_DEADLINE
        while pids and time.monotonic() < deadline:
            self.signal_all(signal.SIGKILL, pids)
            pids = self.await_end(POLL_STEP)
        return stopped, len(pids)


def supervise(descriptors: list[int], fields: list[bytes]) -> None:
    """Run one command to its end and leave nothing of it behind."""
    command = Command(socket.socket(fileno=descriptors[0]))
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    count = int(fields[1])
    arguments, variables = fields[2 : 2 + count], fields[2 + count :]
    failure = start(command, descriptors[1:], fields[0], arguments, variables)
    for descriptor in descriptors[1:]:
        os.close(descriptor)
    if failure:
        command.report(f"F {failure}")
        return
    command.report("R")
    while (code := command.exit_code()) is None and not command.told_to_stop:
        command.wait(None)
        command.reap_orphans()
    if code is None:
        stopped, survivors = command.tear_down()
        code = command.exit_code()
        command.report(f"E {-signal.SIGKILL if code is None else code}")
        command.report(f"D {stopped} {survivors}")
        return
    command.report(f"E {code}")
    if command.has_ended_alone() or not command.await_end(LEFTOVER_GRACE, unless_told=True):
        command.report("D 0 0")
        return
    stopped, survivors = command.tear_down()
    command.report(f"D {stopped} {survivors}")


def start(
    command: Command,
    outputs: list[int],
    cwd: bytes,
    arguments: list[bytes],
    variables: list[bytes],
) -> int:
    """Fork and execute; 0, or the errno of what failed."""
    failed_read, failed_write = os.pipe()  # closes by itself when the execution succeeds
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        number = errno.EIO
        try:
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                os.setsid()
                # told by the child itself: Rho knows whom to end before the command can do harm
                command.report(f"P {os.getpid()}")
                execute(outputs, cwd, arguments, variables)
        except OSError as error:
            number = error.errno or errno.EIO
        finally:
            os.write(failed_write, str(number).encode())
            os._exit(127)
    command.pid = pid
    os.close(failed_write)
    with open(failed_read, "rb") as file:
        failure = int(file.read() or 0)
    if failure:
        os.waitpid(pid, 0)
    return failure


def execute(outputs: list[int], cwd: bytes, arguments: list[bytes], variables: list[bytes]) -> None:
    """Become the command. Returns only by raising OSError."""
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(cwd)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(outputs[0], 1)
    os.dup2(outputs[1], 2)
    environment = {}
    for variable in variables:
        name, _, value = variable.partition(b"=")
        environment[name] = value
    os.execvpe(arguments[0], arguments, environment)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
