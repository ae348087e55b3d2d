"""A real pseudo-terminal with a real program in it, and eyes on both bytes and screen."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pexpect
import ptyprocess
import pyte

_LOOK_SECONDS = 0.02
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
        self._text: str | None = None
        self._hung_up = False
        self.process = pexpect.spawn(
            command[0],
            list(command[1:]),
            cwd=str(cwd),
            env={"TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
            dimensions=(rows, columns),
            timeout=None,
            maxread=65536,
            # a shell that runs tests in the background ignores it, and children inherit that
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
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
            error.add_note(f"the last bytes were: {bytes(self.raw[-400:])!r}")
        # a test that waited for the process itself has taken its exit status away from us
        with contextlib.suppress(pexpect.ExceptionPexpect):
            if self.process.isalive():
                self.kill()
                self.process.wait()
        self.process.ptyproc.delayafterclose = 0  # it is dead: nothing to wait for
        with contextlib.suppress(pexpect.ExceptionPexpect, ptyprocess.PtyProcessError):
            self.process.close()

    @property
    def text(self) -> str:
        """The screen as lines of text."""
        self.pump(0)
        if self._text is None:
            buffer, columns = self._screen.buffer, range(self._screen.columns)
            # the cell behind a wide character is empty; pyte's own `display` measures every cell
            self._text = "\n".join(
                "".join(buffer[row][column].data for column in columns).rstrip()
                for row in range(self._screen.lines)
            )
        return self._text

    def pump(self, seconds: float) -> None:
        """Read what the program has written, waiting up to `seconds` for something."""
        if self._hung_up:
            time.sleep(min(seconds, 0.02))
            return
        try:
            while True:
                data = self.process.read_nonblocking(65536, timeout=seconds)
                self.raw += data
                self._stream.feed(data)
                self._text = None
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
            time.sleep(_LOOK_SECONDS)  # a frame comes in several pieces
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

    def hang_up(self) -> None:
        """Close the terminal under the program, as closing its window does."""
        self._hung_up = True
        self.process.ptyproc.fileobj.close()

    def modes(self) -> int:
        """The terminal's local modes: `termios.ECHO`, `termios.ICANON` and so on."""
        return int(termios.tcgetattr(self.process.child_fd)[3])

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
