"""Strikes at the n-th place where any task of a run suspends, counted over all its tasks.

A task factory wraps every coroutine that a run starts. Each time one of them is about to suspend,
the fuse counts; at its number the chosen action happens right there. Counting up from one until
a run gets away unharmed covers every await point, in the order in which the run meets them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_inside_a_run: ContextVar[bool] = ContextVar("inside_a_run", default=False)


class Injected(Exception):
    """What is thrown into a suspended coroutine."""


class Fuse:
    """Counts suspensions and strikes once. `struck` is the name of the task that was hit."""

    def __init__(self, number: int, action: Callable[[], object] | None) -> None:
        self.number = number
        self.seen = 0
        self.struck: str | None = None
        self.inside: tuple[str, ...] = ()  # the coroutines that were awaiting, outermost first
        self.action = action  # None throws `Injected` into the suspended coroutine

    def is_due(self) -> bool:
        self.seen += 1
        return self.seen == self.number


class _Probed(Coroutine[Any, Any, Any]):
    """A coroutine whose suspensions count."""

    def __init__(self, work: Coroutine[Any, Any, Any], fuse: Fuse) -> None:
        self._work = work
        self._fuse = fuse

    def send(self, value: Any) -> Any:
        return self._suspended(self._work.send(value))

    def throw(self, *error: Any) -> Any:
        return self._suspended(self._work.throw(*error))

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise NotImplementedError

    def _suspended(self, waits_for: Any) -> Any:
        if not self._fuse.is_due():
            return waits_for
        task = asyncio.current_task()
        self._fuse.struck = task.get_name() if task is not None else "?"
        self._fuse.inside = tuple(_awaiting(self._work))
        if self._fuse.action is not None:
            self._fuse.action()
            return waits_for
        if waits_for is not None:  # the future was offered to the task, which never gets it
            waits_for._asyncio_future_blocking = False
        return self._work.throw(Injected("injected"))


def _awaiting(work: Any) -> Iterator[str]:
    while hasattr(work, "cr_await"):
        yield work.__qualname__
        work = work.cr_await


@contextmanager
def probing(fuse: Fuse) -> Iterator[Callable[[], Any]]:
    """Within the block, `inside()` marks the context whose tasks are probed."""
    loop = asyncio.get_running_loop()

    def factory(
        loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        if _inside_a_run.get():
            work = _Probed(work, fuse)
        return asyncio.Task(work, loop=loop, **options)

    loop.set_task_factory(factory)  # type: ignore[arg-type]
    try:
        yield inside
    finally:
        loop.set_task_factory(None)


@contextmanager
def inside() -> Iterator[None]:
    """Tasks that are created here, and all their children, belong to the run."""
    reset = _inside_a_run.set(True)
    try:
        yield
    finally:
        _inside_a_run.reset(reset)
