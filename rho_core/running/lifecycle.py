"""The runtime's register of active work: what a shutdown has to cancel (A40–A42)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from rho_core.cancellation import CancellationToken
from rho_core.errors import RuntimeShutdown
from rho_core.ids import RunId


@dataclass(frozen=True, slots=True)
class ShutdownOutcome:
    """How many runs and manual compactions a shutdown cancelled."""

    cancelled_runs: int


class Lifecycle:
    """Shared by a runtime and all its sessions."""

    def __init__(self) -> None:
        self._active: dict[RunId, CancellationToken] = {}
        self._tasks: set[asyncio.Task[Any]] = set()  # the loop itself keeps only weak references
        self._is_shut_down = False

    @property
    def is_shut_down(self) -> bool:
        """Whether new work is refused."""
        return self._is_shut_down

    def ensure_open(self) -> None:
        """Raise `RuntimeShutdown` once new work is refused."""
        if self._is_shut_down:
            raise RuntimeShutdown

    def register(self, run_id: RunId, token: CancellationToken) -> None:
        """Note active work. Raises `RuntimeShutdown`."""
        self.ensure_open()
        self._active[run_id] = token

    def unregister(self, run_id: RunId) -> None:
        """The work has ended."""
        self._active.pop(run_id, None)

    def hold(self, task: asyncio.Task[Any]) -> None:
        """Keep a worker task alive until it is done (L14)."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def shutdown(self) -> ShutdownOutcome:
        """Refuse new work and cancel what is active, without waiting for it. Idempotent."""
        if self._is_shut_down:
            return ShutdownOutcome(0)
        self._is_shut_down = True
        tokens = list(self._active.values())
        for token in tokens:
            token.cancel()
        return ShutdownOutcome(len(tokens))
