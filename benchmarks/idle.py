"""What an idle program holds and burns: resident memory after start, CPU over a few seconds."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure, cpu_seconds, interleaved, memory_mib
from benchmarks.terminal_program import (
    BARE,
    BARE_PROMPT,
    RHO,
    RHO_PROMPT,
    TerminalProgram,
    program_environment,
)

RUNS = 3
SETTLE = 2.0
"""Seconds of idling before memory is read: by then the conversation is open."""
WATCHED = 4.0
"""Seconds over which idle CPU is counted."""


def idle(
    command: Sequence[str], prompt: bytes, *, cwd: Path, env: dict[str, str]
) -> tuple[float, float]:
    """MiB of the process and its children, and percent of one processor."""
    with TerminalProgram(command, cwd=cwd, env=env) as program:
        program.wait_for(prompt)
        time.sleep(SETTLE)
        program.settled_cpu()  # on a busy machine opening the conversation takes longer
        memory = memory_mib(program.pid)
        before = cpu_seconds(program.pid)
        time.sleep(WATCHED)
        used = cpu_seconds(program.pid) - before
        return memory, 100 * used / WATCHED


def run() -> list[Figure]:
    """Idle memory against the bare app; the CPU of both stands in the note."""
    cpu: dict[str, list[float]] = {"rho": [], "bare": []}
    with tempfile.TemporaryDirectory() as folder:
        env = program_environment(RHO_HOME=str(Path(folder, "home")))
        workspace = Path(folder, "workspace")
        workspace.mkdir()
        rho = (*RHO, "--provider", "demo")

        def ours() -> float:
            memory, percent = idle(rho, RHO_PROMPT, cwd=workspace, env=env)
            cpu["rho"].append(percent)
            return memory

        def bare() -> float:
            memory, percent = idle(BARE, BARE_PROMPT, cwd=workspace, env=env)
            cpu["bare"].append(percent)
            return memory

        value, floor = interleaved((ours, bare), RUNS)
    note = f"idle CPU {min(cpu['rho']):.1f} % and {min(cpu['bare']):.1f} %"
    return [Figure("idle_memory", value, floor, "MiB", 1.6, note=note)]
