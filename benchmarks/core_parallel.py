"""Eight reads of a millisecond in one batch, four at a time against one at a time."""

from __future__ import annotations

import asyncio
import time
from pathlib import PurePath

from benchmarks.figures import Figure

CALLS = 8
SECONDS = 0.001
RUNS = 15
"""The best of them: a busy machine lengthens a millisecond at random."""


async def _batch(limit: int) -> float:
    from rho_core import Rho, ToolOutput, ToolResourceAccess, WorkspacePath
    from rho_core.events import ToolFinished, ToolProposed
    from rho_core.testing import PlannedTool, ScriptedProvider, ScriptedTurn

    async def read(_invocation: object, _context: object) -> ToolOutput:
        await asyncio.sleep(SECONDS)
        return ToolOutput.text("read")

    access = ToolResourceAccess.shared(WorkspacePath(PurePath("/w/a")))
    calls = [(str(number), "read", {}) for number in range(CALLS)]
    turns = [ScriptedTurn.calls(*calls), ScriptedTurn.completed("end")]
    tool = PlannedTool("read", read, accesses=(access,))
    rho = Rho(ScriptedProvider(turns), tools=[tool], max_parallel_tools=limit)
    session = await rho.session()
    proposed: list[float] = []
    finished: list[float] = []
    async with session.start("go") as run:
        async for event in run:
            if isinstance(event, ToolProposed):
                proposed.append(time.perf_counter())
            elif isinstance(event, ToolFinished):
                finished.append(time.perf_counter())
        await run.outcome()
    if len(finished) != CALLS:
        raise RuntimeError("the batch did not run")
    return finished[-1] - proposed[0]


def run() -> list[Figure]:
    """Milliseconds of the batch at its best; a third of the serial time is a speed-up of three."""
    taken = [(asyncio.run(_batch(4)), asyncio.run(_batch(1))) for _ in range(RUNS)]
    value, floor = (min(times) for times in zip(*taken, strict=True))
    note = f"{floor / value:.1f} times as fast"
    return [Figure("core_parallel", 1e3 * value, 1e3 * floor, "ms", 1 / 3, note=note)]
