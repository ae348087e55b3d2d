"""Results of commands as facts and terminal output in the colours the program chose (APP2.29).

The model's text is plain; the colours come beside it, as offsets, and are put back in here. Only
SGR sequences are made, and `ansi` draws them like the live output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rho_core.tooling.values import ToolMetadata
from rho_core.tools.shell.exit_code import signal_name
from rho_tui.transcript.blocks import Body, Fact, ShellBody, Tone

_ARGUMENTS = re.compile(r"[0-9;:]{0,64}")

Drawn = tuple[tuple[Fact, ...], tuple[Body, ...]]
"""Facts and bodies of a card."""


def shell_result(metadata: ToolMetadata, content: str) -> Drawn:
    """How a command ended, and what it printed."""
    details = metadata.details
    facts: list[Fact] = []
    exit_code, seconds = details.get("exit_code"), details.get("duration_seconds")
    took = f" · {seconds:.1f}s" if isinstance(seconds, int | float) else ""
    if details.get("timed_out"):
        facts.append(Fact(f"timed out{took}", "error"))
    elif exit_code is not None:
        tone: Tone = "meta" if exit_code == 0 else "error"
        facts.append(Fact(f"{_exit_text(exit_code)}{took}", tone))
    if spill := details.get("spill_path"):
        facts.append(Fact(f"the output is kept in {spill}", "meta"))
    start, end = _streams(content, timed_out=bool(details.get("timed_out")))
    return tuple(facts), _output(metadata, content, start, end)


def process_result(metadata: ToolMetadata, content: str) -> Drawn:
    """The state of a background process, and what it printed since the last look."""
    details = metadata.details
    state, exit_code = details.get("state"), details.get("exit_code")
    if state is None:
        return (Fact("stop requested", "meta"),), ()
    parts = [str(state).replace("_", " ")]
    if exit_code is not None:
        parts.append(_exit_text(exit_code))
    parts.append(f"{details.get('duration_seconds', 0):.1f}s")
    failed = exit_code is not None or state in ("timed_out", "failed_to_start")
    fact = Fact(" · ".join(parts), "error" if failed else "meta")
    head, separator, shown = content.partition("\n\n")
    start = len(head) + len(separator)
    if "\nstderr:\n" not in shown:
        start += _label(shown)
    return (fact,), _output(metadata, content, start, len(content))


def _exit_text(exit_code: object) -> str:
    """`exit 3`, or by name which signal ended it."""
    name = signal_name(exit_code) if isinstance(exit_code, int) and exit_code < 0 else ""
    return f"ended by {name}" if name else f"exit {exit_code}"


def _streams(content: str, *, timed_out: bool) -> tuple[int, int]:
    """Where the streams of a result lie: what is around them is said by the facts."""
    start, end = 0, len(content)
    if timed_out:  # one line first, and no footer
        head, separator, _ = content.partition("\n\n")
        start = len(head) + len(separator)
    elif content.startswith("time: "):
        end = 0
    else:
        body, separator, footer = content.rpartition("\n\n")
        end = len(body) if separator and footer.startswith("time: ") else end
    streams = content[start:end]
    return (start if "\n\nstderr:\n" in streams else start + _label(streams)), end


def _label(streams: str) -> int:
    """Length of the label of a stream that is alone: it would say nothing."""
    return len("stdout:\n") if streams.startswith(("stdout:\n", "stderr:\n")) else 0


def _output(metadata: ToolMetadata, content: str, start: int, end: int) -> tuple[Body, ...]:
    if start >= end:
        return ()
    pieces: list[str] = []
    at = start
    for offset, arguments in _styles(metadata):
        if offset >= end:
            break
        if offset > at:
            pieces.append(content[at:offset])
            at = offset
        pieces.append(f"\x1b[{arguments}m")
    pieces.append(content[at:end])
    return (ShellBody("".join(pieces)),)


def _styles(metadata: ToolMetadata) -> Iterator[tuple[int, str]]:
    """The colour changes that a result tells, in order; what is none is passed over."""
    styles = metadata.details.get("styles")
    for mark in styles if isinstance(styles, tuple) else ():
        match mark:
            case (int(offset), str(arguments)) if _ARGUMENTS.fullmatch(arguments):
                yield offset, arguments
            case _:
                pass
