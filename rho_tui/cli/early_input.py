"""Keeps what is typed while Rho is still starting (the terminal is not the app's yet).

In its usual mode a terminal echoes early keys over the screen and turns Enter into a line feed,
which the app would take for Ctrl+J. So the mode changes before anything slow is imported, and what
had been typed by then is read and handed to the composer.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass

_MAX_EARLY = 64 * 1024
_KEY_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)?")
"""An arrow key and its like: nothing to act on yet, and no text either."""


@dataclass(slots=True)
class EarlyInput:
    """What was typed before the mode changed: text, and whether Enter closed it."""

    text: str = ""
    entered: bool = False


@contextlib.contextmanager
def early_terminal() -> Iterator[EarlyInput]:
    """Take the terminal's input from here on, and give it back as it was at the end.

    Signals stay on (Ctrl+C still interrupts a slow start); where there is no POSIX terminal
    nothing is changed.
    """
    try:
        import termios
    except ImportError:  # Windows: its console does not translate keys
        yield EarlyInput()
        return
    descriptor = sys.stdin.fileno()
    try:
        before = termios.tcgetattr(descriptor)
    except termios.error:
        yield EarlyInput()
        return
    changed = [*before[:6], list(before[6])]
    changed[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR)
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(descriptor, termios.TCSANOW, changed)
    try:
        yield _pending(descriptor)
    finally:
        # what answers the app's last questions to the terminal must not reach the shell
        with contextlib.suppress(termios.error):
            termios.tcflush(descriptor, termios.TCIFLUSH)
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _pending(descriptor: int) -> EarlyInput:
    data = b""
    while len(data) < _MAX_EARLY and select.select([descriptor], [], [], 0)[0]:
        piece = os.read(descriptor, 4096)
        if not piece:
            break
        data += piece
    text = _KEY_SEQUENCE.sub("", data.decode("utf-8", "replace")).replace("\r", "\n")
    kept = "".join(c for c in text if c == "\n" or c == "\t" or c.isprintable())
    return EarlyInput(kept.rstrip("\n"), kept.endswith("\n"))
