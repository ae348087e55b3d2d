"""What is drawn for a terminal that is gone goes nowhere, and nobody waits for it."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

import pytest
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from rho_tui.terminal_driver import LastingOutput


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_writing_goes_on_when_the_terminal_has_gone() -> None:
    master, slave = os.openpty()
    file = os.fdopen(slave, "w")
    os.close(master)
    with pytest.raises(OSError, match="Input/output"):
        os.write(slave, b"x")
    writer = WriterThread(LastingOutput(file))  # type: ignore[arg-type]  # what is used of it
    writer.start()

    def draw() -> None:
        for _ in range(3 * MAX_QUEUED_WRITES):
            writer.write("frame")
        writer.stop()

    drawing = threading.Thread(target=draw, daemon=True)
    drawing.start()
    drawing.join(10)
    assert not drawing.is_alive()
    with contextlib.suppress(OSError):  # it has something left to write
        file.close()


def test_what_is_written_arrives_while_there_is_a_terminal() -> None:
    reader, other = os.pipe()
    with os.fdopen(reader) as arrived, os.fdopen(other, "w") as file:
        output = LastingOutput(file)
        output.write("héllo")
        output.flush()
        assert not output.isatty()
        assert output.fileno() == other
        file.close()
        assert arrived.read() == "héllo"
