"""Cancellation as a value that is passed along, not as a killed task (C2, L1)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rho_core.errors import Cancelled

T = TypeVar("T")


class CancellationToken:
    """Level-triggered, idempotent, settable from any thread. Dropping a token cancels nothing."""

    __slots__ = ("_callbacks", "_lock", "_set")

    def __init__(self) -> None:
        self._set = False
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], object]] = {}

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._set

    def cancel(self) -> None:
        """Set the token and wake everyone who waits for it.

        Every callback runs; the first exception among them is raised afterwards.
        """
        with self._lock:
            if self._set:
                return
            self._set = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        failure: Exception | None = None
        for callback in callbacks:
            try:
                callback()
            except Exception as error:  # noqa: BLE001 - one bad listener must not mute the rest
                failure = failure or error
        if failure is not None:
            raise failure

    def raise_if_cancelled(self) -> None:
        """Raise `Cancelled` if the token is set."""
        if self._set:
            raise Cancelled

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` once, at cancellation (at once if it already happened).

        It runs in the thread that cancels and must not block. Returns a function that removes it.
        """
        key = object()
        with self._lock:
            if not self._set:
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def child(self) -> CancellationToken:
        """A token that is cancelled with this one, and may be cancelled alone."""
        token = CancellationToken()
        # the parent must not keep a finished child's callback alive
        token_forget = self.on_cancel(token.cancel)
        token.on_cancel(token_forget)
        return token

    async def cancelled(self) -> None:
        """Return once the token is set."""
        if self._set:
            return
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not waiter.done():
                waiter.set_result(None)

        forget = self.on_cancel(lambda: loop.call_soon_threadsafe(wake))
        try:
            await waiter
        finally:
            forget()

    async def race(self, work: Awaitable[T]) -> T:
        """Await `work`; on cancellation drop it and raise `Cancelled`.

        A result that is there when cancellation is seen wins (D26). Work that is dropped is
        cancelled as a task and awaited, so that its cleanup has run when this returns.
        """
        task = asyncio.ensure_future(work)
        if self._set and not task.done():
            await _drop(task)
            raise Cancelled
        loop = asyncio.get_running_loop()
        wake: asyncio.Future[None] = loop.create_future()

        def set_wake() -> None:
            if not wake.done():
                wake.set_result(None)

        forget = self.on_cancel(lambda: loop.call_soon_threadsafe(set_wake))
        try:
            await asyncio.wait((task, wake), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            await _drop(task)
            raise Cancelled
        except asyncio.CancelledError:
            await _drop(task)
            raise
        finally:
            forget()
            wake.cancel()

    def _forget(self, key: object) -> None:
        with self._lock:
            self._callbacks.pop(key, None)

    def __repr__(self) -> str:
        return f"CancellationToken(is_cancelled={self._set})"


async def _drop(task: asyncio.Future[T]) -> None:
    """Cancel a task and wait until it has finished unwinding; its outcome is nobody's business."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()
