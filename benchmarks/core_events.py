"""Ten thousand deltas through one run of the core, against a raw bounded `asyncio.Queue`."""

from __future__ import annotations

import asyncio
import time

from benchmarks.figures import Figure, interleaved

DELTAS = 10_000
CAPACITY = 64
"""Of the raw queue."""
RUNS = 5


async def _through_a_run() -> float:
    from rho_core import Rho
    from rho_core.events import AssistantTextDelta
    from rho_core.providers.contract import OutputDelta
    from rho_core.testing import ScriptedProvider, ScriptedTurn

    turn = ScriptedTurn.streaming([OutputDelta("four")] * DELTAS)
    session = await Rho(ScriptedProvider([turn])).session()
    began = time.perf_counter()
    run = session.start("go")
    seen = 0
    async for event in run:
        seen += isinstance(event, AssistantTextDelta)
    await run.outcome()
    seconds = time.perf_counter() - began
    if seen != DELTAS:
        raise RuntimeError(f"{seen} of {DELTAS} deltas arrived")
    return seconds


async def _through_a_queue() -> float:
    queue: asyncio.Queue[str | None] = asyncio.Queue(CAPACITY)

    async def produce() -> None:
        for _ in range(DELTAS):
            await queue.put("four")
        await queue.put(None)

    began = time.perf_counter()
    producer = asyncio.create_task(produce())
    while await queue.get() is not None:
        pass
    await producer
    return time.perf_counter() - began


def run() -> list[Figure]:
    """Milliseconds for all of them; at least 40 % of the queue's throughput is a ratio of 2.5."""
    value, floor = interleaved(
        (lambda: asyncio.run(_through_a_run()), lambda: asyncio.run(_through_a_queue())), RUNS
    )
    note = f"{100 * floor / value:.0f} % of the queue's throughput"
    return [Figure("core_events", 1e3 * value, 1e3 * floor, "ms", 2.5, note=note)]
