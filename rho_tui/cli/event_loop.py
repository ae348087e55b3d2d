"""The event loop that the program runs on; an embedded core runs on the loop of its host."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` as `asyncio.run` does, on uvloop where there is one (not on Windows).

    It is asyncio all the same, and a fifth cheaper for a program that mostly passes small pieces
    between sockets, threads and tasks.
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(main)


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:
        return None  # asyncio's own
    return uvloop.new_event_loop
