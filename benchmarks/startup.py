"""Usable at the prompt: from the start of the process until a typed key is seen.

The key is sent as soon as the prompt is painted, as by somebody who waits for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure, interleaved
from benchmarks.terminal_program import (
    BARE,
    BARE_PROMPT,
    RHO,
    RHO_PROMPT,
    TerminalProgram,
    program_environment,
)

RUNS = 7
KEY = "ß"
"""Neither program writes this by itself, in text or in an escape sequence."""


def seconds_to_usable(
    command: Sequence[str], prompt: bytes, *, cwd: Path, env: dict[str, str]
) -> tuple[float, float]:
    """Seconds to the painted prompt, and to the echo of a key."""
    with TerminalProgram(command, cwd=cwd, env=env) as program:
        painted = program.wait_for(prompt)
        program.send(KEY)
        echoed = program.wait_for(KEY.encode())
        return painted - program.began, echoed - program.began


def run() -> list[Figure]:
    """Start-up of the demo against a text area in a bare Textual app."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder, "workspace")
        workspace.mkdir()
        env = program_environment(RHO_HOME=str(Path(folder, "home")))
        rho = (*RHO, "--provider", "demo")
        painted: dict[str, list[float]] = {"rho": [], "bare": []}

        def ours() -> float:
            paint, echo = seconds_to_usable(rho, RHO_PROMPT, cwd=workspace, env=env)
            painted["rho"].append(paint)
            return echo

        def bare() -> float:
            paint, echo = seconds_to_usable(BARE, BARE_PROMPT, cwd=workspace, env=env)
            painted["bare"].append(paint)
            return echo

        value, floor = interleaved((ours, bare), RUNS)
        paints = [sorted(painted[name])[len(painted[name]) // 2] for name in ("rho", "bare")]
    note = f"painted after {paints[0]:.2f} and {paints[1]:.2f} s"
    return [Figure("startup", value, floor, "s", 1.6, note=note)]
