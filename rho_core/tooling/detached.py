"""Calls that run on while the model continues (D45–D58).

A job is started by the worker, one call after another, and lives in a task of its own. Its
progress and its completion are forwarded by the worker wherever it waits; the result is parked
first and enters history at the next boundary, in the order of completion.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import Cancelled, InvalidConfiguration, ToolError
from rho_core.events import ToolDetached, ToolFinished, ToolProposed, ToolStarted, ToolUpdated
from rho_core.history.messages import ToolCall
from rho_core.ids import ToolCallId
from rho_core.questions import HostInputRequest, HostInputResponse
from rho_core.tooling.calls import CallSlot, CallStage, completion_of, failed, outcome_of
from rho_core.tooling.contract import (
    InvocationSource,
    PreparedToolInvocation,
    ProgressSender,
    Tool,
    ToolContext,
    ToolPreparationContext,
)
from rho_core.tooling.environment import ToolEnvironment, end_tasks, end_tasks_gently, let_end
from rho_core.tooling.execution import authorize_plan, execute_plan, prepare_call
from rho_core.tooling.values import ToolCompletion, ToolMetadata, ToolOutput


async def _no_questions(_request: HostInputRequest) -> HostInputResponse:
    raise InvalidConfiguration("detached async tools cannot request host input")


class DetachedJobs:
    """The detached calls of one run. At most `max_parallel` of them execute at a time (D47)."""

    def __init__(self, environment: ToolEnvironment) -> None:
        self._env = environment
        self._running: list[CallSlot] = []
        self._ended: deque[CallSlot] = deque()  # still in _running, in order of completion
        self._parked: list[CallSlot] = []

    @property
    def is_running(self) -> bool:
        """Whether any job still executes, or has ended without having been told."""
        return bool(self._running)

    @property
    def has_pending(self) -> bool:
        """Whether any call has no result in history yet."""
        return bool(self._running or self._parked)

    def take_parked(self) -> list[tuple[ToolCall, ToolCompletion]]:
        """The finished calls whose results are not in history yet, in order of completion."""
        parked, self._parked = self._parked, []
        return [(slot.call, slot.completion) for slot in parked if slot.completion is not None]

    # -- starting -------------------------------------------------------------------------

    async def start(self, calls: Sequence[ToolCall]) -> None:
        """Propose all calls, then detach one after another (D47)."""
        for call in calls:
            await self._env.sink.emit(ToolProposed(call))
        await self._env.proposed()
        for call in calls:
            await self._start(CallSlot(call, self._env.tools.get(call.name)))

    async def _start(self, slot: CallSlot) -> None:
        assert slot.tool is not None  # only a registered tool can have declared Async
        try:
            slot.plan = await self._admit(slot, slot.tool)
        except ToolError as error:
            self._env.token.raise_if_cancelled()
            await self._tell_started(slot, ToolMetadata())
            await self._conclude(slot, failed(error))
            return
        while len(self._running) >= self._env.max_parallel:
            await self._tick()
        await self._tell_started(slot, slot.plan.metadata)
        await self._env.sink.emit(ToolDetached(ToolCallId(slot.call.id)))
        self._launch(slot, slot.plan)

    async def _admit(self, slot: CallSlot, tool: Tool) -> PreparedToolInvocation:
        """Prepare, check and authorize a call. Raises `ToolError` (D48, D49)."""
        env, call = self._env, slot.call
        preparation = ToolPreparationContext(env.workspace, env.token)
        plan = await self._watch(prepare_call(tool, call, InvocationSource.MODEL, preparation))
        if not isinstance(plan, PreparedToolInvocation) or not plan.is_shared_only:
            raise ToolError.execution(
                f"async tool '{call.name}' must declare a resource-aware plan "
                "with shared access only"
            )
        call_id = ToolCallId(call.id)
        await self._watch(
            authorize_plan(plan, lambda request: env.authorize(request, call_id, env.token)),
            observes_token=True,
        )
        return plan

    async def _watch(self, work: Any, *, observes_token: bool = False) -> Any:
        """Await a child's result while running jobs are forwarded (D50)."""
        task = self._env.spawn(work, "detach")
        try:
            while not task.done():
                await self._tick(lambda: task.done())
            outcome = outcome_of(task)
        except Cancelled:
            if observes_token:
                await let_end((task,))
            raise
        finally:
            await end_tasks((task,))
        if isinstance(outcome, ToolError):
            raise outcome
        return outcome

    async def _tell_started(self, slot: CallSlot, metadata: ToolMetadata) -> None:
        call = slot.call
        await self._env.sink.emit(ToolStarted(ToolCallId(call.id), call.name, metadata))
        slot.started = True
        self._running.append(slot)  # from here on it is owed a ToolFinished

    def _launch(self, slot: CallSlot, plan: PreparedToolInvocation) -> None:
        slot.progress = Channel(self._env.event_capacity)
        slot.progress.on_item(self._env.signal.notify)
        slot.token = self._env.token.child()
        slot.stage = CallStage.RUNNING
        work = self._run_executor(slot, plan, slot.token)
        slot.task = self._env.spawn(work, f"detached tool {slot.call.name}")
        slot.task.add_done_callback(lambda _task: self._ended.append(slot))

    async def _run_executor(
        self, slot: CallSlot, plan: PreparedToolInvocation, token: CancellationToken
    ) -> ToolOutput:
        started_at = self._env.clock.monotonic()
        context = ToolContext(
            workspace=self._env.workspace,
            cancellation=token,
            progress=ProgressSender(slot.progress),
            host_input=_no_questions,
        )
        try:
            return await execute_plan(plan, context)
        finally:
            slot.duration = self._env.clock.monotonic() - started_at

    # -- forwarding -----------------------------------------------------------------------

    async def forward(self) -> bool:
        """Emit one progress or completion of a job; False when there is nothing to tell."""
        for slot in self._running:
            progress = slot.progress.try_receive() if slot.progress is not None else None
            if progress is not None:
                event = ToolUpdated(ToolCallId(slot.call.id), progress)
                await self._env.sink.emit(event, self._env.serve)
                return True
        if not self._ended:
            return False
        slot = self._ended.popleft()
        if slot.task is not None:
            await self._conclude(slot, completion_of(slot.task))
        return True

    async def wait_all(self) -> None:
        """Return once no job runs any more; their results are parked (D52)."""
        while self._running:
            await self._tick()

    async def wait_any(self, interrupted: Callable[[], bool]) -> None:
        """Return once a result is parked, or `interrupted` says so (D55)."""
        while self._running and not self._parked and not interrupted():
            await self._tick(interrupted)

    async def _tick(self, enough: Callable[[], bool] = lambda: False) -> None:
        """Forward one thing, or wait for something to happen."""
        if await self.forward():
            return
        self._env.serve()
        if enough():
            return
        self._env.token.raise_if_cancelled()
        await self._env.signal.wait()

    async def _conclude(self, slot: CallSlot, completion: ToolCompletion) -> None:
        """Park the result, then publish it: a cancelled delivery cannot lose it (D54)."""
        slot.resolve(completion)
        self._running.remove(slot)
        self._parked.append(slot)
        await self._env.sink.emit(ToolFinished(ToolCallId(slot.call.id), completion))
        slot.reported = True
        self._env.after_tool_use(slot.call, completion, slot.duration)

    # -- ending ---------------------------------------------------------------------------

    async def settle(self) -> None:
        """End every job, keep what finished, tell the end of each, park the results (D57)."""
        patient: dict[asyncio.Task[Any], float] = {}
        impatient: list[asyncio.Task[Any]] = []
        for slot in self._running:
            if slot.progress is not None:
                slot.progress.drop_receiver()
            if slot.token is not None:
                slot.token.cancel()
            if slot.task is None or slot.task.done():
                continue
            if slot.plan is not None and slot.plan.cleanup_timeout is not None:
                patient[slot.task] = slot.plan.cleanup_timeout
            else:
                impatient.append(slot.task)
        await end_tasks(impatient)
        await end_tasks_gently(patient, self._env.clock)
        for slot in [*self._ended, *(s for s in self._running if s not in self._ended)]:
            slot.settle()
            self._parked.append(slot)
        self._running.clear()
        self._ended.clear()
        for slot in self._parked:
            if slot.reported or slot.completion is None:
                continue
            event = ToolFinished(ToolCallId(slot.call.id), slot.completion)
            await self._env.sink.emit_even_if_cancelled(event)
            slot.reported = True
            self._env.after_tool_use(slot.call, slot.completion, slot.duration)

    async def abort(self) -> None:
        """Drop what still runs: the run itself was dropped (C5)."""
        for slot in self._running:
            if slot.progress is not None:
                slot.progress.drop_receiver()
            if slot.token is not None:
                slot.token.cancel()
        await end_tasks(slot.task for slot in self._running)
