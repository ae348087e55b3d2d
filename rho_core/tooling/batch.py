"""Runs the calls of one response: prepared together, overlapped where plans allow (D19–D33).

One coroutine, the run's worker, moves every call; tools, preparations and authorizations are
child tasks that wake it. In each turn it looks at its sources in the order of D26: authorization
results and starts, host commands, progress and questions, one finished call, cancellation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from rho_core.channels import Channel
from rho_core.errors import Cancelled, RhoError, ToolError, ToolErrorKind
from rho_core.events import (
    ToolFinished,
    ToolHostInputRequested,
    ToolProposed,
    ToolStarted,
    ToolUpdated,
)
from rho_core.history.messages import ToolCall
from rho_core.ids import ToolCallId
from rho_core.tooling.calls import CallSlot, CallStage, completion_of, failed, outcome_of
from rho_core.tooling.contract import (
    InvocationSource,
    PreparedToolInvocation,
    ProgressSender,
    ToolContext,
    ToolPreparationContext,
)
from rho_core.tooling.environment import ToolEnvironment, end_tasks, end_tasks_gently, let_end
from rho_core.tooling.execution import authorize_plan, execute_plan, prepare_call
from rho_core.tooling.host_inputs import HostInputBoard
from rho_core.tooling.planner import plan_dependencies
from rho_core.tooling.registry import stand_in
from rho_core.tooling.values import (
    ToolCompletion,
    ToolFailed,
    ToolMetadata,
    ToolOutput,
    ToolProgress,
    ToolUnavailable,
)


class ToolBatch:
    """The calls of one response, in model order. `run` once, then read `completions`."""

    def __init__(
        self,
        environment: ToolEnvironment,
        calls: Sequence[ToolCall],
        source: InvocationSource = InvocationSource.MODEL,
    ) -> None:
        self._env = environment
        self._source = source
        self._slots = [CallSlot(call, environment.tools.get(call.name)) for call in calls]
        self._signal = environment.signal
        self.inputs = HostInputBoard(
            environment.max_parallel,
            environment.token,
            self._signal.notify,
            environment.on_waiting,
        )

    def completions(self) -> list[tuple[ToolCall, ToolCompletion]]:
        """Every call with its outcome, in model order; complete once `run` has ended (D28)."""
        return [(slot.call, slot.completion) for slot in self._slots if slot.completion is not None]

    async def run(self) -> None:
        """Resolve every call. On `Cancelled` and other errors the calls are settled first (D29)."""
        try:
            for slot in self._slots:
                await self._env.sink.emit(ToolProposed(slot.call))
            await self._env.proposed()
            await self._prepare()
            await self._execute()
        except RhoError:
            await self._settle()
            raise
        finally:
            self._stop_listening()
            await end_tasks(slot.task for slot in self._slots)

    # -- preparation ----------------------------------------------------------------------

    async def _prepare(self) -> None:
        """Prepare all calls at once and plan which waits for which (D20, D21)."""
        context = ToolPreparationContext(self._env.workspace, self._env.token)
        preparing: list[CallSlot] = []
        for slot in self._slots:
            if slot.tool is not None:
                work = prepare_call(slot.tool, slot.call, self._source, context)
                slot.task = self._env.spawn(work, f"prepare {slot.call.name}")
                preparing.append(slot)
        while not all(slot.task is None or slot.task.done() for slot in preparing):
            self._env.token.raise_if_cancelled()
            self._env.serve()
            await self._signal.wait()
        self._env.token.raise_if_cancelled()
        for slot in preparing:
            self._take_plan(slot)
        dependencies = plan_dependencies([slot.plan for slot in self._slots])
        for slot, depends_on in zip(self._slots, dependencies, strict=True):
            slot.depends_on = depends_on

    def _take_plan(self, slot: CallSlot) -> None:
        task, slot.task = slot.task, None
        plan = None if task is None else outcome_of(task)
        if isinstance(plan, PreparedToolInvocation):
            slot.plan = plan
        elif isinstance(plan, ToolError):
            slot.failure = plan

    # -- execution ------------------------------------------------------------------------

    async def _execute(self) -> None:
        while any(slot.stage is not CallStage.RESOLVED for slot in self._slots):
            if await self._advance():
                continue
            self._env.token.raise_if_cancelled()
            await self._signal.wait()

    async def _advance(self) -> bool:
        """Do the one most urgent thing; False when nothing can move (D26)."""
        for slot in self._slots:
            stage = slot.stage  # most calls run or are done: they cost no coroutine
            if stage is CallStage.RUNNING or stage is CallStage.RESOLVED:
                continue
            if await self._move(slot):
                return True
        self._env.serve()
        for slot in self._slots:
            if slot.progress is not None and len(slot.progress):
                await self._forward_progress(slot, slot.progress)
                return True
        ask = self.inputs.take()
        if ask is not None:
            request = ToolHostInputRequested(ToolCallId(ask.call_id), ask.request)
            await self._env.sink.emit(request)
            return True
        for slot in self._slots:
            if slot.is_running and slot.task is not None and slot.task.done():
                await self._finish(slot, completion_of(slot.task))
                return True
        return False

    async def _move(self, slot: CallSlot) -> bool:
        """Start, authorize or execute a call if it is its turn (D22–D25)."""
        match slot.stage:
            case CallStage.WAITING if slot.tool is None:
                instead = stand_in(self._env.tools, slot.call.name)
                await self._finish(slot, ToolUnavailable(instead))
            case CallStage.WAITING if slot.failure is not None:
                await self._start(slot, ToolMetadata())
                await self._finish(slot, failed(slot.failure))
            case CallStage.WAITING if slot.plan is not None and self._is_eligible(slot):
                await self._start(slot, slot.plan.metadata)
                self._authorize(slot, slot.plan)
            case CallStage.AUTHORIZING if slot.task is not None and slot.task.done():
                await self._take_authorization(slot)
            case CallStage.READY if slot.plan is not None and self._has_free_slot():
                self._launch(slot, slot.plan)
            case _:
                return False
        return True

    def _is_eligible(self, slot: CallSlot) -> bool:
        if self._env.token.is_cancelled:
            return False
        return all(self._slots[i].stage is CallStage.RESOLVED for i in slot.depends_on)

    def _has_free_slot(self) -> bool:
        if self._env.token.is_cancelled:
            return False
        return sum(slot.is_running for slot in self._slots) < self._env.max_parallel

    async def _start(self, slot: CallSlot, metadata: ToolMetadata) -> None:
        call = slot.call
        await self._env.sink.emit(ToolStarted(ToolCallId(call.id), call.name, metadata))
        slot.started = True

    def _authorize(self, slot: CallSlot, plan: PreparedToolInvocation) -> None:
        if not plan.capabilities:
            slot.stage = CallStage.READY
            return
        call_id = ToolCallId(slot.call.id)
        work = authorize_plan(
            plan, lambda request: self._env.authorize(request, call_id, self._env.token)
        )
        slot.task = self._env.spawn(work, f"authorize {slot.call.name}")
        slot.stage = CallStage.AUTHORIZING

    async def _take_authorization(self, slot: CallSlot) -> None:
        task, slot.task = slot.task, None
        denial = None if task is None else outcome_of(task)
        if isinstance(denial, ToolError):
            await self._finish(slot, failed(denial))
        else:
            slot.stage = CallStage.READY

    def _launch(self, slot: CallSlot, plan: PreparedToolInvocation) -> None:
        slot.progress = Channel(self._env.max_parallel)
        slot.progress.on_item(self._signal.notify)
        slot.task = self._env.spawn(self._run_executor(slot, plan), f"tool {slot.call.name}")
        slot.stage = CallStage.RUNNING

    async def _run_executor(self, slot: CallSlot, plan: PreparedToolInvocation) -> ToolOutput:
        started_at = self._env.clock.monotonic()
        try:
            return await execute_plan(plan, self._context(slot))
        finally:
            slot.duration = self._env.clock.monotonic() - started_at

    def _context(self, slot: CallSlot) -> ToolContext:
        call_id = ToolCallId(slot.call.id)
        env = self._env
        return ToolContext(
            workspace=env.workspace,
            cancellation=env.token,
            progress=ProgressSender(slot.progress),
            host_input=self.inputs.port(slot.call.id),
            authorization=lambda request: env.authorize(request, call_id, env.token),
            child_approval_session=env.approvals,
        )

    async def _forward_progress(self, slot: CallSlot, queued: Channel[ToolProgress]) -> None:
        progress = queued.try_receive()
        if progress is not None:
            event = ToolUpdated(ToolCallId(slot.call.id), progress)
            await self._env.sink.emit(event, self._env.serve)

    async def _finish(self, slot: CallSlot, completion: ToolCompletion) -> None:
        """Record an outcome, then tell: the record survives a delivery that is cancelled."""
        if (
            isinstance(completion, ToolFailed)
            and completion.kind is ToolErrorKind.CANCELLED
            and self._env.token.is_cancelled
        ):
            raise Cancelled  # the call was interrupted, it did not fail (D27)
        self.inputs.close_call(slot.call.id)
        slot.resolve(completion)
        await self._env.sink.emit(ToolFinished(ToolCallId(slot.call.id), completion))
        slot.reported = True
        self._env.after_tool_use(slot.call, completion, slot.duration)

    # -- interruption ---------------------------------------------------------------------

    def _stop_listening(self) -> None:
        """A call that ends must not wait for us to take its progress or its questions."""
        self.inputs.close()
        for slot in self._slots:
            if slot.progress is not None:
                slot.progress.drop_receiver()

    async def _settle(self) -> None:
        """End what runs, keep what finished, and tell the end of every started call (X4)."""
        self._env.token.cancel()
        self._stop_listening()
        patient: dict[asyncio.Task[Any], float] = {}
        impatient: list[asyncio.Task[Any]] = []
        authorizing: list[asyncio.Task[Any]] = []
        for slot in self._slots:
            if slot.task is None or slot.task.done():
                continue
            if slot.is_running and slot.plan is not None and slot.plan.cleanup_timeout is not None:
                patient[slot.task] = slot.plan.cleanup_timeout
            elif slot.stage is CallStage.AUTHORIZING:
                authorizing.append(slot.task)
            else:
                impatient.append(slot.task)
        await let_end(authorizing)
        await end_tasks(impatient)
        await end_tasks_gently(patient, self._env.clock)
        for slot in self._slots:
            slot.settle()
            if slot.started and not slot.reported and slot.completion is not None:
                event = ToolFinished(ToolCallId(slot.call.id), slot.completion)
                await self._env.sink.emit_even_if_cancelled(event)
                slot.reported = True
                self._env.after_tool_use(slot.call, slot.completion, slot.duration)
