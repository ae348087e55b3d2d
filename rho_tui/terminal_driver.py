"""The terminal as Textual drives it, made to stand its going away (case D6).

Closing a terminal sends a hangup and then a continue signal. Textual takes the latter for the end
of a suspension and starts its threads a second time; and its writing thread dies of the first
write that fails, after which everybody who draws waits for ever.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TextIO

from textual.driver import Driver


def lasting(base: type[Driver]) -> type[Driver]:
    """The driver class for this platform with these two faults taken out."""
    if sys.platform == "win32":
        return base
    from textual.drivers.linux_driver import LinuxDriver

    if base is not LinuxDriver:
        return base

    class TerminalDriver(LinuxDriver):
        """Writes as long as there is a terminal, and is started once."""

        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[arg-type]  # passed through
            if self._file is not None:
                self._file = LastingOutput(self._file)  # type: ignore[assignment]  # what is used of it

        def _sigcont_application(self, *_: object) -> None:
            if self._must_signal_resume:  # it was suspended by itself
                super()._sigcont_application()
            else:
                self._app.call_later(self._app.refresh)

    return TerminalDriver


class LastingOutput:
    """The terminal's output. Once there is no terminal, nobody misses what is written to it."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> None:
        """Write, if somebody is there."""
        with contextlib.suppress(OSError, ValueError):
            self._file.write(text)

    def flush(self) -> None:
        """Bring it to the terminal, if that is there."""
        with contextlib.suppress(OSError, ValueError):
            self._file.flush()

    def fileno(self) -> int:
        """The descriptor of the terminal."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._file.isatty()
