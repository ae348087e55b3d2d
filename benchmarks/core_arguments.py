"""Tool-call arguments that arrive in pieces: the cost of a byte must not grow with their length."""

from __future__ import annotations

import asyncio
import json
import time

from benchmarks.figures import Figure, interleaved

KIBIBYTES = (16, 64, 256)
PIECE = 64
"""Characters per fragment, as models write them."""
RUNS = 5


async def _nanoseconds_per_byte(size: int) -> float:
    from rho_core import Rho, ToolCall, ToolCallDelta
    from rho_core.events import ToolCallUpdated
    from rho_core.testing import ScriptedProvider, ScriptedTool, ScriptedTurn

    arguments = {"path": "a.txt", "content": 'line "of" {text}\n' * (size // 17)}
    text = json.dumps(arguments)
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    deltas = [ToolCallDelta(0, "a", "write", pieces[0])]
    deltas += [ToolCallDelta(0, arguments=piece) for piece in pieces[1:]]
    call = ToolCall.of("a", "write", arguments)
    turns = [ScriptedTurn.streaming(deltas, call), ScriptedTurn.completed("end")]
    session = await Rho(ScriptedProvider(turns), tools=[ScriptedTool("write")]).session()
    seen = 0
    began = time.perf_counter()
    async with session.start("go") as run:
        async for event in run:
            seen += isinstance(event, ToolCallUpdated)
        await run.outcome()
    seconds = time.perf_counter() - began
    if seen != len(pieces):
        raise RuntimeError(f"{seen} of {len(pieces)} fragments arrived")
    return 1e9 * seconds / len(text)


def run() -> list[Figure]:
    """Nanoseconds per byte at the largest size against the smallest."""
    taken = interleaved(
        [
            lambda size=size: asyncio.run(_nanoseconds_per_byte(size * 1024))  # type: ignore[misc]
            for size in KIBIBYTES
        ],
        RUNS,
    )
    note = ", ".join(
        f"{size} KiB {value:.0f}" for size, value in zip(KIBIBYTES, taken, strict=True)
    )
    return [Figure("core_arguments", taken[-1], taken[0], "ns/B", 2, note=note)]
