"""The text of a finished command: both streams, what was left out, and a footer that stays (16.8).

Sections are separated by a blank line: `stdout:`, `stderr:`, bracketed notices, and last
`time: 0.1s`, with `exit code: n` when it is not 0. When the streams do not fit the byte budget,
each keeps its head and its tail (30.4).
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

from rho_core.text import ceil_boundary, floor_boundary
from rho_core.tools.shell.capture import OutputCapture, StreamCapture
from rho_core.tools.shell.command import CommandExit
from rho_core.tools.shell.run import ShellResult
from rho_core.tools.shell.terminal_text import plain_text

_OMISSION_RESERVE = 64
_MIN_STREAM_BYTES = 16


def report_text(
    result: ShellResult,
    max_bytes: int,
    *,
    timeout_seconds: float | None,
    process_tool: bool = False,
) -> str:
    """What the model reads of a command that ran. At most `max_bytes` of UTF-8.

    With `process_tool` it is told what keeps a process in the background.

    Only the footer and the notices are never cut: a budget smaller than them is exceeded.
    """
    ended = result.exit
    first = f"command timed out after {timeout_seconds:g}s" if ended.timed_out else ""
    last = [*_notices(result, process_tool), "" if ended.timed_out else _footer(ended)]
    fixed = [section for section in (first, *last) if section]
    labels = len("stdout:\n") + len("stderr:\n") + 2 * (len(fixed) + 2)
    room = max_bytes - labels - sum(len(section.encode()) for section in fixed)
    streams = _streams(result.output, room)
    return "\n\n".join(section for section in (first, *streams, *last) if section)


def exit_code_text(exit_code: int | None) -> str:
    """`3`, or `signal` for a command that a signal ended; with its name when there is one."""
    if exit_code is None:
        return "unknown"
    if exit_code >= 0:
        return str(exit_code)
    try:
        return f"signal ({signal.Signals(-exit_code).name})"
    except ValueError:
        return "signal"


def _footer(ended: CommandExit) -> str:
    time = f"time: {ended.duration_seconds:.1f}s"
    if ended.exit_code == 0:
        return time
    return f"{time}  exit code: {exit_code_text(ended.exit_code)}"


def _notices(result: ShellResult, process_tool: bool) -> list[str]:
    ended, spill = result.exit, result.output.spill
    notices = []
    if ended.stopped:
        hint = "; use the process tool for one that must run on" if process_tool else ""
        notices.append(f"[background processes were stopped when the command ended{hint}]")
    if ended.survivors:
        notices.append(f"[{ended.survivors} processes of the command could not be stopped]")
    if spill is not None and spill.path is not None:
        part = f"the first {spill.size} bytes" if spill.is_truncated else "the whole"
        notices.append(f"[{part} of the output is in {spill.path}]")
    return notices


@dataclass(frozen=True, slots=True)
class _Section:
    label: str
    stream: StreamCapture
    head: str
    tail: str

    @property
    def size(self) -> int:
        return len(self.head.encode()) + len(self.tail.encode())

    def fit(self, room: int) -> str:
        """The section in `room` bytes: everything, or head and tail around one line."""
        if self.stream.is_complete and self.size <= room:
            body = self.head
        else:
            half = max(_MIN_STREAM_BYTES, room - _OMISSION_RESERVE) // 2
            head = _front(self.head, half)
            tail = _back(self.tail if self.tail else self.head[len(head) :], half)
            kept = len(head.encode()) + len(tail.encode())
            line = f"[… {max(0, self.stream.total - kept)} bytes left out …]"
            parts = (head.removesuffix("\n"), line, tail)
            body = "\n".join(part for part in parts if part)
        return f"{self.label}:\n{body.removesuffix(chr(10))}"


def _streams(output: OutputCapture, room: int) -> list[str]:
    sections = [
        _Section(
            label,
            stream,
            plain_text(stream.head()),
            "" if stream.is_complete else plain_text(stream.tail()),
        )
        for label, stream in (("stdout", output.stdout), ("stderr", output.stderr))
        if stream.total
    ]
    shares = _shares([section.size for section in sections], room)
    texts = [section.fit(share) for section, share in zip(sections, shares, strict=True)]
    # a stream of nothing but control codes has nothing to show
    return [text for text in texts if not text.endswith(":\n")]


def _shares(sizes: list[int], room: int) -> list[int]:
    """Divide the room: a stream that needs less than half leaves the rest to the other."""
    if len(sizes) < 2:
        return [room] * len(sizes)
    first, second = sizes
    half = room // 2
    if first <= half:
        return [first, room - first]
    if second <= half:
        return [room - second, second]
    return [half, half]


def _front(text: str, room: int) -> str:
    """At most `room` bytes from the beginning, ending at a line if one ends near."""
    data = text.encode()
    cut = floor_boundary(data, room)
    line_end = data.rfind(b"\n", cut - cut // 4, cut)
    return data[: line_end + 1 if line_end >= 0 else cut].decode()


def _back(text: str, room: int) -> str:
    """At most `room` bytes from the end, beginning at a line if one begins near."""
    data = text.encode()
    start = ceil_boundary(data, max(0, len(data) - room))
    line_start = data.find(b"\n", start, start + (len(data) - start) // 4)
    return data[line_start + 1 if line_start >= 0 else start :].decode()
