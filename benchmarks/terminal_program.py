"""A program in a pseudo-terminal whose output is drained at once, for measuring from outside.

Nothing is emulated here: the bytes are kept and searched. A terminal emulator in this process
would compete with the program for the processor and be part of what is measured.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from benchmarks.figures import cpu_seconds

ROOT = Path(__file__).resolve().parents[1]
SIZE = (120, 36)
"""Columns and rows."""

RHO = (sys.executable, "-m", "rho_tui")
BARE = (sys.executable, "-m", "benchmarks.floors", "bare")

RHO_PROMPT = b"ype a message"
"""What the composer shows as soon as it is painted; the cursor stands on its first letter."""
BARE_PROMPT = b"ready"

_DROPPED = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONOPTIMIZE")


def program_environment(**extra: str) -> dict[str, str]:
    """Like a user's shell: bytecode is cached, output buffered, the checkout importable."""
    kept = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    return {
        **kept,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PYTHONPATH": str(ROOT),
        **extra,
    }


class TerminalProgram:
    """Runs a program in a pty from construction to `close`; a thread keeps what it writes."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path = ROOT, env: Mapping[str, str] | None = None
    ) -> None:
        ours, theirs = pty.openpty()
        columns, rows = SIZE
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._written = bytearray()
        self._news = threading.Condition()
        self._ended = False
        self._terminal = ours
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(env) if env is not None else program_environment(),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def __enter__(self) -> TerminalProgram:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def written(self) -> int:
        """How many bytes the program has written so far."""
        return len(self._written)

    def send(self, keys: str) -> None:
        """Write keys in one go."""
        os.write(self._terminal, keys.encode())

    def wait_for(self, wanted: bytes, *, since: int = 0, seconds: float = 60.0) -> float:
        """Wait until the program has written `wanted` behind byte `since`; the moment it did."""
        deadline = time.perf_counter() + seconds
        with self._news:
            while self._written.find(wanted, since) < 0:
                left = deadline - time.perf_counter()
                if left <= 0 or self._ended:
                    raise RuntimeError(
                        f"{self.process.args!r} never wrote {wanted!r}; its last output was "
                        f"{bytes(self._written[-2000:])!r}"
                    )
                self._news.wait(left)
            return time.perf_counter()

    def settled_cpu(self, *, quiet: float = 0.5, seconds: float = 60.0) -> float:
        """CPU seconds of the program, once it has used next to nothing for `quiet` seconds."""
        deadline = time.perf_counter() + seconds
        used = cpu_seconds(self.pid)
        while time.perf_counter() < deadline:
            time.sleep(quiet)
            before, used = used, cpu_seconds(self.pid)
            if used - before <= 0.02 * quiet:
                return used
        raise RuntimeError(f"{self.process.args!r} never came to rest")

    def close(self) -> None:
        """End the program and everything in its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join(2)
        os.close(self._terminal)

    def _drain(self) -> None:
        while True:
            try:
                data = os.read(self._terminal, 1 << 16)
            except OSError:  # the other end is closed
                data = b""
            with self._news:
                self._written += data
                self._ended = not data
                self._news.notify_all()
            if not data:
                return
