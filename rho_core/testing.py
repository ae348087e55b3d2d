"""Doubles for tests of hosts: scripted provider, tools, compactor and a clock (C103, C104).

They behave like the real thing towards the runtime: same contracts, same cancellation.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rho_core.authority.capabilities import CapabilityRequest
from rho_core.errors import Cancelled, InvalidHostResponse, ToolError
from rho_core.history.compaction import CompactionOutput, CompactionRequest, Compactor
from rho_core.history.messages import Message
from rho_core.json_values import freeze
from rho_core.providers.contract import ToolSpec
from rho_core.providers.scripted import SCRIPTED_IDENTITY, ScriptedProvider, ScriptedTurn
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    PreparedToolInvocation,
    Tool,
    ToolContext,
    ToolExecutionMode,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.resources import ToolResourceAccess
from rho_core.tooling.values import ToolMetadata, ToolOutput, ToolProgress

__all__ = [
    "SCRIPTED_IDENTITY",
    "FakeClock",
    "PlannedTool",
    "ScriptedCompactor",
    "ScriptedProvider",
    "ScriptedTool",
    "ScriptedTurn",
    "tool_spec",
]


def tool_spec(name: str, description: str = "a tool for tests") -> ToolSpec:
    """A specification that accepts any object."""
    return ToolSpec(name, description, freeze({"type": "object"}))


class ScriptedTool(Tool):
    """An exclusive tool: reports its progress, then succeeds, fails or waits for cancellation.

    `outcome` is a text or an output for success, a `ToolError` (or any exception) for failure,
    None to wait. Calls are recorded in `calls`.
    """

    def __init__(
        self,
        name: str,
        outcome: str | ToolOutput | Exception | None = "ok",
        *,
        progress: Iterable[ToolProgress] = (),
    ) -> None:
        self._spec = tool_spec(name)
        self._outcome = outcome
        self._progress = tuple(progress)
        self.calls: list[dict[str, Any]] = []

    def spec(self) -> ToolSpec:
        """The specification."""
        return self._spec

    async def call(self, invocation: ToolInvocation, context: ToolContext) -> ToolOutput:
        """Play the script."""
        self.calls.append(invocation.arguments)
        for progress in self._progress:
            await context.progress.send(progress)
        if self._outcome is None:
            await context.cancellation.cancelled()
            raise ToolError.cancelled()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        if isinstance(self._outcome, ToolOutput):
            return self._outcome
        return ToolOutput.text(self._outcome)


Executor = Callable[[ToolInvocation, AuthorizedToolContext], Awaitable[ToolOutput]]


@dataclass
class PlannedTool(Tool):
    """A resource-aware tool whose plan and executor the test chooses."""

    name: str = field()  # the property of the base is no default
    run: Executor
    accesses: tuple[ToolResourceAccess, ...] = ()
    capabilities: tuple[CapabilityRequest, ...] = ()
    metadata: ToolMetadata = field(default_factory=ToolMetadata)
    execution_mode: ToolExecutionMode = ToolExecutionMode.SYNC
    cleanup_timeout: float | None = None
    reads_live_history: bool = False

    def spec(self) -> ToolSpec:
        """The specification."""
        return tool_spec(self.name)

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Return the chosen plan."""

        async def execute(call_context: AuthorizedToolContext) -> ToolOutput:
            return await self.run(invocation, call_context)

        plan = PreparedToolInvocation.resource_aware(
            self.accesses, self.capabilities, self.metadata, execute
        )
        if self.cleanup_timeout is None:
            return plan
        return plan.complete_after_cancellation(self.cleanup_timeout)


class ScriptedCompactor(Compactor):
    """Replaces history by the given ones, in order, and records its requests."""

    def __init__(self, outputs: Iterable[CompactionOutput | Iterable[Message]] = ()) -> None:
        self._outputs = [
            out if isinstance(out, CompactionOutput) else CompactionOutput(tuple(out))
            for out in outputs
        ]
        self._failure: str | None = None
        self.requests: list[CompactionRequest] = []

    @classmethod
    def failing(cls, message: str) -> ScriptedCompactor:
        """A compactor that always fails."""
        compactor = cls()
        compactor._failure = message
        return compactor

    async def compact(self, request: CompactionRequest) -> CompactionOutput:
        """The next output; `Cancelled` for a cancelled token, an error when exhausted."""
        if request.cancellation.is_cancelled:
            raise Cancelled
        self.requests.append(request)
        if self._failure is not None:
            raise InvalidHostResponse(self._failure)
        if not self._outputs:
            raise InvalidHostResponse("scripted compactor has no remaining output")
        return self._outputs.pop(0)


class FakeClock:
    """Virtual time. With `auto`, a sleep passes at once; else it ends when `advance` reaches it.

    `slept` lists the seconds of every sleep that began.
    """

    def __init__(self, *, auto: bool = True) -> None:
        self._auto = auto
        self._now = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """Virtual seconds since the clock was made."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait in virtual time."""
        self.slept.append(seconds)
        if self._auto:
            await asyncio.sleep(0)
            self._now += seconds
            return
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), wake))
        await wake

    @property
    def sleeping(self) -> int:
        """How many sleeps are waiting to end."""
        return sum(not wake.done() for _, _, wake in self._sleepers)

    def advance(self, seconds: float) -> None:
        """Let time pass and end the sleeps that are due."""
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, wake = heapq.heappop(self._sleepers)
            if not wake.done():
                wake.set_result(None)
