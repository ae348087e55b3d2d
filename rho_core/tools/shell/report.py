"""The text of a finished command: both streams, what was left out, and a footer that stays (16.8).

Sections are separated by a blank line: `stdout:`, `stderr:`, bracketed notices, and last
`time: 0.1s`, with `exit code: n` when it is not 0. When the streams do not fit the byte budget,
each keeps its head and its tail (30.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rho_core.text import ceil_boundary, floor_boundary
from rho_core.tools.shell.capture import OutputCapture, StreamCapture
from rho_core.tools.shell.command import CommandExit
from rho_core.tools.shell.exit_code import exit_code_text
from rho_core.tools.shell.run import ShellResult
from rho_core.tools.shell.styled_text import StyledText

_OMISSION_RESERVE = 64
_MIN_STREAM_BYTES = 16


@dataclass(frozen=True, slots=True)
class ShellReport:
    """What is told of a command that ran: `text` for the model, `facts` for its card.

    The facts are those of `ToolMetadata.details`; `styles` among them, if the output had colours,
    are those of `text`.
    """

    text: str
    facts: dict[str, Any]


def shell_report(
    result: ShellResult,
    max_bytes: int,
    *,
    timeout_seconds: float | None,
    process_tool: bool = False,
) -> ShellReport:
    """Tell of a command that ran. The text is at most `max_bytes` of UTF-8.

    With `process_tool` the model is told what keeps a process in the background.

    Only the footer and the notices are never cut: a budget smaller than them is exceeded.
    """
    ended = result.exit
    first = f"command timed out after {timeout_seconds:g}s" if ended.timed_out else ""
    last = [*_notices(result, process_tool), "" if ended.timed_out else _footer(ended)]
    fixed = [section for section in (first, *last) if section]
    labels = len("stdout:\n") + len("stderr:\n") + 2 * (len(fixed) + 2)
    room = max_bytes - labels - sum(len(section.encode()) for section in fixed)
    streams = _streams(result.output, room)
    sections: tuple[StyledText | str, ...] = (first, *streams, *last)
    styled = StyledText.join("\n\n", (section for section in sections if section))
    return ShellReport(styled.text, _facts(result, styled))


def _facts(result: ShellResult, styled: StyledText) -> dict[str, Any]:
    ended, spill = result.exit, result.output.spill
    facts: dict[str, Any] = {
        "duration_seconds": round(ended.duration_seconds, 3),
        "timed_out": ended.timed_out,
    }
    if ended.exit_code is not None and not ended.timed_out:
        facts["exit_code"] = ended.exit_code
    if spill is not None and spill.path is not None:
        facts["spill_path"] = str(spill.path).encode("utf-8", "replace").decode()
    if styled.marks:
        facts["styles"] = styled.styles()
    return facts


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
    head: StyledText
    tail: StyledText

    @property
    def size(self) -> int:
        return len(self.head.text.encode()) + len(self.tail.text.encode())

    def fit(self, room: int) -> StyledText:
        """The section in `room` bytes: everything, or head and tail around one line."""
        if self.stream.is_complete and self.size <= room:
            body = self.head
        else:
            half = max(_MIN_STREAM_BYTES, room - _OMISSION_RESERVE) // 2
            head = _front(self.head, half)
            tail = _back(self.tail if self.tail.text else self.head.cut(len(head.text)), half)
            kept = len(head.text.encode()) + len(tail.text.encode())
            line = StyledText(f"[… {max(0, self.stream.total - kept)} bytes left out …]")
            parts = (head.removesuffix("\n"), line, tail)
            body = StyledText.join("\n", (part for part in parts if part.text))
        return StyledText.join("\n", (f"{self.label}:", body.removesuffix("\n")))


def _streams(output: OutputCapture, room: int) -> list[StyledText]:
    sections = [
        _Section(
            label,
            stream,
            StyledText.read(stream.head()),
            StyledText("") if stream.is_complete else StyledText.read(stream.tail()),
        )
        for label, stream in (("stdout", output.stdout), ("stderr", output.stderr))
        if stream.total
    ]
    shares = _shares([section.size for section in sections], room)
    texts = [section.fit(share) for section, share in zip(sections, shares, strict=True)]
    # a stream of nothing but control codes has nothing to show
    return [styled for styled in texts if not styled.text.endswith(":\n")]


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


def _front(styled: StyledText, room: int) -> StyledText:
    """At most `room` bytes from the beginning, ending at a line if one ends near."""
    data = styled.text.encode()
    cut = floor_boundary(data, room)
    line_end = data.rfind(b"\n", cut - cut // 4, cut)
    return styled.cut(0, len(data[: line_end + 1 if line_end >= 0 else cut].decode()))


def _back(styled: StyledText, room: int) -> StyledText:
    """At most `room` bytes from the end, beginning at a line if one begins near."""
    data = styled.text.encode()
    start = ceil_boundary(data, max(0, len(data) - room))
    line_start = data.find(b"\n", start, start + (len(data) - start) // 4)
    kept = data[line_start + 1 if line_start >= 0 else start :].decode()
    return styled.cut(len(styled.text) - len(kept))
