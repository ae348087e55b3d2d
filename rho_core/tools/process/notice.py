"""What the model reads of background processes: snapshots, receipts and notices of their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rho_core.text import truncate_utf8
from rho_core.tools.process.managed import ManagedProcess, ProcessState, ProcessStatus
from rho_core.tools.process.output import OutputWindow
from rho_core.tools.shell.exit_code import exit_code_text
from rho_core.tools.shell.styled_text import StyledText
from rho_core.tools.shell.terminal_text import plain_text

#: How every notice begins; a host may use it to tell a notice from what a person wrote.
NOTICE_HEAD = "Background processes have ended since the last turn (this is no user input):"
MAX_NOTICE_BYTES = 16 * 1024
MAX_EXCERPT_BYTES = 4 * 1024
_COMMAND_CHARACTERS = 200
_OMITTED_RESERVE = 80


def snapshot_text(id: str, status: ProcessStatus, window: OutputWindow) -> StyledText:
    """A reading of a process: facts, a line each, then both streams (17.6)."""
    lines = [f"process_id: {id}", f"state: {status.state.value}", f"next: {window.next}"]
    if window.first is not None:
        lines.append(f"truncated: first={window.first}")
    if window.pending:
        lines.append("pending")
    if has_exit_line(status):
        lines.append(f"exit: {exit_code_text(status.exit_code)}")
    if status.detail:
        lines.append(f"detail: {status.detail}")
    sections: list[StyledText | str] = ["\n".join(lines)]
    streams = [
        StyledText.join("\n", (f"{label}:", shown))
        for label, text in (("stdout", window.stdout), ("stderr", window.stderr))
        if (shown := StyledText.read(text).removesuffix("\n")).text
    ]
    if streams:
        sections.append(StyledText.join("\n", streams))
    return StyledText.join("\n\n", sections)


def has_exit_line(status: ProcessStatus) -> bool:
    """Only an end by itself has a code, and 0 goes without saying."""
    return status.state is ProcessState.EXITED and status.exit_code != 0


def stop_text(id: str) -> str:
    """The receipt of a stop (17.7)."""
    return f"process_id: {id}\nstop requested"


def progress_text(id: str, status: ProcessStatus) -> str:
    """One line for people (17.15)."""
    text = f"{status.state.value} - {id} - {status.seconds:.1f}s"
    if has_exit_line(status):
        text += f", exit code {exit_code_text(status.exit_code)}"
    return text


@dataclass(frozen=True, slots=True)
class ProcessNotice:
    """The end of some processes, told once."""

    text: str
    processes: tuple[ManagedProcess, ...]

    @property
    def summary(self) -> str:
        """The same for people, a line each."""
        return "\n".join(f"background process {_ended(process)}" for process in self.processes)

    def restore(self) -> None:
        """The notice did not arrive: these processes are to be told of again."""
        for process in self.processes:
            process.is_observed = False


def notice_of(finished: Sequence[ManagedProcess]) -> ProcessNotice:
    """All states first, then excerpts of the output as far as they fit, oldest first (17.14).

    What does not fit is counted, never left out silently.
    """
    sections = [NOTICE_HEAD, *(f"- {process.id} {_ended(process)}" for process in finished)]
    text = truncate_utf8("\n".join(sections), MAX_NOTICE_BYTES - _OMITTED_RESERVE)
    omitted = 0
    for process in finished:
        excerpt = _excerpt(process)
        if not excerpt:
            continue
        size = len(text.encode()) + len(excerpt.encode()) + 2
        if size > MAX_NOTICE_BYTES - _OMITTED_RESERVE:
            omitted += 1
        else:
            text += f"\n\n{excerpt}"
    if omitted:
        text += f"\n\n[the output of {omitted} more can be read with process poll]"
    return ProcessNotice(text, tuple(finished))


def _ended(process: ManagedProcess) -> str:
    status = process.status
    command = " ".join(process.command_text.split())
    if len(command) > _COMMAND_CHARACTERS:
        command = f"{command[:_COMMAND_CHARACTERS]}…"
    code = f", exit code {exit_code_text(status.exit_code)}" if has_exit_line(status) else ""
    detail = f", {status.detail}" if status.detail else ""
    return f"{status.state.value}{code}{detail}: {command}"


def _excerpt(process: ManagedProcess) -> str:
    window = process.output.window(0, MAX_EXCERPT_BYTES)
    text = plain_text(window.stdout + window.stderr).strip("\n")
    if not text:
        return ""
    more = " (beginning)" if window.pending else ""
    return f"output of {process.id}{more}:\n{truncate_utf8(text, MAX_EXCERPT_BYTES)}"
