"""Fifty file-reading steps in a row, saved and shown, beyond what the server itself takes.

The floor sends the very same request bodies to the same server with a bare HTTP client. Rho is
timed from Enter to the last answer on the screen; Enter comes after a pause, as from a person,
because right behind the text it waits for more of a paste. A short turn goes before: what is
loaded once, at the first turn of a process, is no cost of a step.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure, cpu_seconds, interleaved
from benchmarks.local_server import local_server, rho_with
from benchmarks.terminal_program import RHO_PROMPT, TerminalProgram

STEPS = 50
RUNS = 5
END = "allfilesread"
WARM = "warmedup"


def _scenario() -> dict[str, object]:
    call = {"name": "read_file", "arguments": {"path": "file{results}.txt"}}
    return {
        "rules": [
            {"user_contains": "warm", "turn": {"text": WARM}},
            {"tool_results_below": STEPS, "turn": {"calls": [call]}},
        ],
        "otherwise": {"text": END, "chunk_chars": 40},
    }


def _rho_seconds(url: str, folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds from Enter to the answer on the screen."""
    command, env = rho_with(url, folder / "home")
    with TerminalProgram(command, cwd=folder / "workspace", env=env) as program:
        program.wait_for(RHO_PROMPT)
        time.sleep(1)  # the conversation opens after the first paint
        program.send("warm up\r")
        program.wait_for(WARM.encode())
        program.settled_cpu()
        program.send("read them all")
        program.settled_cpu()
        before, began = cpu_seconds(program.pid), time.perf_counter()
        program.send("\r")
        ended = program.wait_for(END.encode(), seconds=120)
        return ended - began, cpu_seconds(program.pid) - before


def _floor_seconds(url: str, bodies: list[bytes]) -> float:
    import httpx

    with httpx.Client(timeout=60) as client:
        began = time.perf_counter()
        for body in bodies:
            with client.stream(
                "POST",
                f"{url}/chat/completions",
                content=body,
                headers={"content-type": "application/json"},
            ) as reply:
                reply.raise_for_status()
                for _chunk in reply.iter_raw():
                    pass
        return time.perf_counter() - began


def run() -> list[Figure]:
    """Milliseconds a step, Rho and the bare client."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workspace = folder / "workspace"
        workspace.mkdir()
        for number in range(STEPS):
            text = "".join(f"line {line} of file {number}\n" for line in range(40))
            (workspace / f"file{number}.txt").write_text(text, "utf-8")
        recorded = folder / "requests.jsonl"
        with local_server(_scenario(), folder, record=recorded) as url:
            _rho_seconds(url, folder)
        bodies = recorded.read_bytes().splitlines()[1:]  # without the warm-up
        if len(bodies) != STEPS + 1:
            raise RuntimeError(f"{STEPS} steps made {len(bodies)} requests")
        burnt: list[float] = []
        with local_server(_scenario(), folder) as url:

            def ours() -> float:
                wall, cpu = _rho_seconds(url, folder)
                burnt.append(cpu)
                return wall

            value, floor = interleaved((ours, lambda: _floor_seconds(url, bodies)), RUNS)
    per_step = 1e3 / (STEPS + 1)
    value, floor = value * per_step, floor * per_step
    note = f"{min(burnt) * per_step:.1f} ms of CPU a step in the best run"
    return [Figure("steps", value, floor, "ms a step", 10.0, kind="excess", note=note)]
