"""A real pseudo-terminal with a real program in it, and eyes on both bytes and screen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pexpect
import pyte

RHO = (sys.executable, "-m", "rho_tui")


class Terminal:
    """Runs a program in a pty of a fixed size; `screen` is what a person would see."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        size: tuple[int, int] = (80, 24),
    ) -> None:
        columns, rows = size
        self.raw = bytearray()
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.process = pexpect.spawn(
            command[0],
            list(command[1:]),
            cwd=str(cwd),
            env={"TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
            dimensions=(rows, columns),
            timeout=None,
            maxread=65536,
        )
        self.process.delaybeforesend = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if error is not None:
            error.add_note("the screen was:\n" + self.text)
        self.process.close(force=True)

    @property
    def text(self) -> str:
        """The screen as lines of text."""
        self.pump(0)
        return "\n".join(line.rstrip() for line in self._screen.display)

    def pump(self, seconds: float) -> None:
        """Read what the program has written, waiting up to `seconds` for something."""
        try:
            while True:
                data = self.process.read_nonblocking(65536, timeout=seconds)
                self.raw += data
                self._stream.feed(data)
                seconds = 0
        except pexpect.TIMEOUT:
            pass
        except pexpect.EOF:
            # a closed pty reports at once: do not spin in `wait_for`
            time.sleep(min(seconds, 0.02))

    def wait_for(self, wanted: str | Callable[[str], bool], *, seconds: float = 15.0) -> str:
        """Wait until the screen shows `wanted` (or satisfies it); returns the screen."""
        holds = (lambda text: wanted in text) if isinstance(wanted, str) else wanted
        deadline = time.monotonic() + seconds
        while True:
            text = self.text
            if holds(text):
                return text
            if time.monotonic() > deadline:
                raise AssertionError(f"the screen never showed {wanted!r}:\n{text}")
            self.pump(0.05)

    def wait_gone(self, unwanted: str, *, seconds: float = 15.0) -> str:
        """Wait until the screen does not show `unwanted` any more."""
        return self.wait_for(lambda text: unwanted not in text, seconds=seconds)

    def send(self, keys: str | bytes) -> None:
        """Write keys in one go, as a fast typist or a paste would."""
        self.process.send(keys)

    def wait_exit(self, *, seconds: float = 10.0) -> int:
        """Wait for the program to end; returns its exit status (negative: a signal)."""
        deadline = time.monotonic() + seconds
        while self.process.isalive():
            self.pump(0.05)
            if time.monotonic() > deadline:
                raise AssertionError(f"the program did not end:\n{self.text}")
        self.pump(0)
        if self.process.signalstatus is not None:
            return -self.process.signalstatus
        assert self.process.exitstatus is not None
        return int(self.process.exitstatus)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Signal the program itself (not its children)."""
        os.kill(self.process.pid, number)


def wait_until(holds: Callable[[], bool], *, seconds: float = 10.0, what: str = "it") -> None:
    """Wait for a condition outside the terminal."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} never happened")
        time.sleep(0.02)


def processes_matching(text: str) -> list[int]:
    """Ids of live processes whose command line holds `text`."""
    found = subprocess.run(["pgrep", "-f", "--", text], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split() if int(word) != os.getpid()]
