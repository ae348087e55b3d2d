"""A slow consumer that leaves: how soon the work has unwound, and how much it had piled up."""

from __future__ import annotations

import asyncio
import statistics
import time

from benchmarks.figures import Figure

CAPACITY = 64
PROVIDER_CAPACITY = 16
RUNS = 9
MILLISECONDS = 250


async def _drop() -> tuple[float, int]:
    """Seconds from leaving to the end of all work, and deltas produced beyond those read."""
    from rho_core import ModelResponse, OutputDelta, Rho, Text
    from rho_core.testing import SCRIPTED_IDENTITY, ScriptedProvider

    class Flood(ScriptedProvider):
        produced = 0

        async def send_turn_stream(self, request: object, events: object) -> ModelResponse:
            while self.produced < 1_000_000:
                await events.send(OutputDelta("word"))  # type: ignore[attr-defined]
                self.produced += 1
            return ModelResponse((Text("end"),))

    provider = Flood(identity=SCRIPTED_IDENTITY)
    session = await Rho(provider, event_capacity=CAPACITY).session()
    run = session.start("go")
    read = 0
    async for _event in run:
        read += 1
        await asyncio.sleep(0.001)  # a consumer slower than any model
        if read == 20:
            break
    ahead = provider.produced - read
    began = time.perf_counter()
    await run.aclose()
    seconds = time.perf_counter() - began
    if session.is_running or len(asyncio.all_tasks()) > 1:
        raise RuntimeError("the run left work behind")
    return seconds, ahead


def run() -> list[Figure]:
    """The worst of several: milliseconds to the end, and events that waited for the reader."""
    taken = [asyncio.run(_drop()) for _ in range(RUNS)]
    slowest = 1e3 * max(seconds for seconds, _ in taken)
    most = max(ahead for _, ahead in taken)
    median = 1e3 * statistics.median(seconds for seconds, _ in taken)
    bound = CAPACITY + PROVIDER_CAPACITY
    return [
        Figure("core_drop", slowest, 0, "ms", MILLISECONDS, kind="excess",
               note=f"median {median:.1f} ms"),
        Figure("core_backlog", most, bound, "events", 1, note="ahead of the reader"),
    ]  # fmt: skip
