"""Opening a session and one scripted turn of the core, against the bare asyncio it is made of."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from benchmarks.figures import Figure, interleaved

ROUNDS = 300
RUNS = 5


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    for _ in range(ROUNDS):
        await work()
    return (time.perf_counter() - began) / ROUNDS


async def _start() -> float:
    from rho_core import Rho
    from rho_core.testing import ScriptedProvider

    async def open_session() -> None:
        await Rho(ScriptedProvider()).session()

    return await _timed(open_session)


async def _turn() -> float:
    from rho_core import Rho
    from rho_core.testing import ScriptedProvider, ScriptedTurn

    provider = ScriptedProvider([ScriptedTurn.completed("hello")] * ROUNDS)
    rho = Rho(provider)

    async def take_turn() -> None:
        session = await rho.session()
        async with session.start("hi") as run:
            async for _event in run:
                pass
            await run.outcome()

    return await _timed(take_turn)


async def _tasks_and_a_queue() -> float:
    """What a turn cannot do without: a worker, a provider, and a queue of five events."""

    async def provider() -> str:
        await asyncio.sleep(0)
        return "hello"

    async def worker(queue: asyncio.Queue[int | None]) -> str:
        answer = await asyncio.create_task(provider())
        for number in range(5):
            await queue.put(number)
        await queue.put(None)
        return answer

    async def once() -> None:
        queue: asyncio.Queue[int | None] = asyncio.Queue(64)
        task = asyncio.create_task(worker(queue))
        while await queue.get() is not None:
            pass
        await task

    return await _timed(once)


def run() -> list[Figure]:
    """Microseconds each; the floor of both is two tasks and a queue."""
    start, turn, floor = interleaved(
        (
            lambda: asyncio.run(_start()),
            lambda: asyncio.run(_turn()),
            lambda: asyncio.run(_tasks_and_a_queue()),
        ),
        RUNS,
    )
    return [
        Figure("core_start", 1e6 * start, 1e6 * floor, "us", 3, note="Rho(…) and session()"),
        Figure("core_turn", 1e6 * turn, 1e6 * floor, "us", 12, note="one scripted turn"),
    ]
