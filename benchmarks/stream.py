"""CPU of a streamed answer in the whole program, against Textual's own Markdown stream.

Both read the same 5,000 tokens of mixed Markdown from the same server process, as fast as the
socket gives them, in a real terminal. What is counted runs from Enter to rest.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure, cpu_seconds, interleaved
from benchmarks.local_server import local_server, rho_with
from benchmarks.markdown_sample import tokens
from benchmarks.terminal_program import (
    BARE_PROMPT,
    RHO_PROMPT,
    TerminalProgram,
    program_environment,
)

TOKENS = 5_000
RUNS = 3
END = "endofstream"
"""The last word of the answer: once it is on the screen, so is all before it."""
STOCK_END = "finished"
"""What the stock app says once its stream has stopped."""


def stream_cpu(
    command: Sequence[str], prompt: bytes, end: str, *, cwd: Path, env: dict[str, str]
) -> tuple[float, float]:
    """CPU seconds, and wall seconds to the last word on the screen."""
    with TerminalProgram(command, cwd=cwd, env=env) as program:
        program.wait_for(prompt)
        time.sleep(1)  # imports after the first paint are not part of the answer
        program.settled_cpu()
        before, began = cpu_seconds(program.pid), time.perf_counter()
        program.send("go\r")
        ended = program.wait_for(end.encode(), seconds=300)
        return program.settled_cpu() - before, ended - began


def run() -> list[Figure]:
    """CPU seconds of 5,000 tokens, Rho and the stock Markdown widget."""
    scenario = {"turns": [{"text": f"{''.join(tokens(TOKENS))}\n\n{END}\n", "chunk_chars": 4}]}
    walls: dict[str, list[float]] = {"rho": [], "stock": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workspace = folder / "workspace"
        workspace.mkdir()
        with local_server(scenario, folder) as url:
            command, env = rho_with(url, folder / "home")
            stock_command = (sys.executable, "-m", "benchmarks.floors", "markdown", url)

            def ours() -> float:
                cpu, wall = stream_cpu(command, RHO_PROMPT, END, cwd=workspace, env=env)
                walls["rho"].append(wall)
                return cpu

            def stock() -> float:
                floor_env = program_environment()
                cpu, wall = stream_cpu(
                    stock_command, BARE_PROMPT, STOCK_END, cwd=workspace, env=floor_env
                )
                walls["stock"].append(wall)
                return cpu

            value, floor = interleaved((ours, stock), RUNS, warm=False)
    note = f"last word after {min(walls['rho']):.2f} and {min(walls['stock']):.2f} s"
    return [Figure("stream", value, floor, "CPU s", 0.15, note=note)]
