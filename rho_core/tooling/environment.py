"""What the executors of tool calls share with the run that owns them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rho_core.authority.approvals import ApprovalSession, AuthorizationOutcome
from rho_core.authority.capabilities import CapabilityRequest
from rho_core.authority.workspace import Workspace
from rho_core.cancellation import CancellationToken
from rho_core.clock import Clock
from rho_core.event_sink import EventSink
from rho_core.events import RunEvent
from rho_core.history.messages import ToolCall
from rho_core.ids import ToolCallId
from rho_core.signals import Signal
from rho_core.tooling.contract import Tool
from rho_core.tooling.values import ToolCompletion

#: Asks for authority for one call: request, call id, the call's token.
AuthorizeCall: TypeAlias = Callable[
    [CapabilityRequest, ToolCallId, CancellationToken], Awaitable[AuthorizationOutcome]
]
#: Told once per call after its `ToolFinished`: the execution took that many seconds, if it ran.
AfterToolUse: TypeAlias = Callable[[ToolCall, ToolCompletion, float | None], None]


@dataclass(frozen=True, slots=True)
class ToolEnvironment:
    """The run's side of its tool calls. `serve` decides queued host commands; never suspends."""

    tools: Mapping[str, Tool]
    workspace: Workspace | None
    token: CancellationToken
    sink: EventSink[RunEvent]
    signal: Signal
    serve: Callable[[], None]
    authorize: AuthorizeCall
    after_tool_use: AfterToolUse
    approvals: ApprovalSession
    on_waiting: Callable[[bool], None]
    max_parallel: int
    event_capacity: int
    clock: Clock
    #: Calls act only once the reader of the events has handled their proposals.
    await_reader: bool = False

    async def proposed(self) -> None:
        """All proposals of some calls are told: give the reader its time, if it asked for that."""
        if self.await_reader:
            await self.sink.taken()

    def spawn(self, work: Any, name: str) -> asyncio.Task[Any]:
        """Start a child task that wakes the worker when it ends. The caller awaits it."""
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(look_at)
        task.add_done_callback(lambda _task: self.signal.notify())
        return task


def look_at(task: asyncio.Task[Any]) -> None:
    """An outcome that its owner no longer needs, after an interruption, is no lost error."""
    if not task.cancelled():
        task.exception()


async def end_tasks(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancel what still runs and wait until it has unwound; outcomes are the caller's business."""
    running = [task for task in tasks if task is not None and not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)


async def let_end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Wait for tasks that observe the cancelled token themselves, as authorizations do (E22)."""
    running = [task for task in tasks if not task.done()]
    if running:
        await asyncio.wait(running)


async def end_tasks_gently(tasks: Mapping[asyncio.Task[Any], float], clock: Clock) -> None:
    """Let each task run for up to its number of seconds, then cancel and await it (X7)."""

    async def grant(task: asyncio.Task[Any], seconds: float) -> None:
        timer = asyncio.ensure_future(clock.sleep(seconds))
        try:
            await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            await end_tasks((task,))

    if tasks:
        await asyncio.gather(*(grant(task, seconds) for task, seconds in tasks.items()))
