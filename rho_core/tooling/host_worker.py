"""Runs one call of a tool host from preparation to its hook (H4, H9, H10)."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from rho_core.authority.approvals import AuthorizationOutcome
from rho_core.authority.capabilities import CapabilityRequest
from rho_core.authority.pipeline import Authorizer
from rho_core.authority.workspace import Workspace
from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel, ChannelClosed
from rho_core.clock import Clock
from rho_core.errors import Cancelled, Interrupted, RhoError, ToolError, ToolErrorKind
from rho_core.event_sink import ConsumerDropped, EventSink
from rho_core.history.messages import ToolCall
from rho_core.hooks.dispatch import RunHooks
from rho_core.ids import HostInputId, SessionId, ToolCallId
from rho_core.json_values import FrozenObject
from rho_core.questions import HostInputRequest, HostInputResponse
from rho_core.signals import Signal
from rho_core.tooling.calls import failed, outcome_of
from rho_core.tooling.contract import (
    InvocationSource,
    PreparedToolInvocation,
    ProgressSender,
    Tool,
    ToolContext,
    ToolPreparationContext,
)
from rho_core.tooling.environment import end_tasks, look_at
from rho_core.tooling.execution import authorize_plan, execute_plan, prepare_call
from rho_core.tooling.host_run import (
    HostToolInputRequested,
    HostToolProgress,
    PendingHostInput,
    ToolHostEvent,
)
from rho_core.tooling.values import ToolCompletion, ToolOutput, ToolProgress, ToolSucceeded

Ask = tuple[HostInputRequest, asyncio.Future[HostInputResponse]]


class HostCallWorker:
    """One call: its child task, its channels and its event stream. `work` once."""

    def __init__(
        self,
        tool: Tool,
        call_id: ToolCallId,
        arguments: FrozenObject,
        *,
        token: CancellationToken,
        events: Channel[ToolHostEvent],
        capacity: int,
        authorizer: Authorizer,
        session_id: SessionId,
        hooks: RunHooks,
        workspace: Workspace | None,
        clock: Clock,
    ) -> None:
        self._tool = tool
        self._call_id = call_id
        self._arguments = arguments
        self._token = token
        self._events = events
        self._authorizer = authorizer
        self._session_id = session_id
        self._hooks = hooks
        self._workspace = workspace
        self._clock = clock
        self._signal = Signal()
        self._sink = EventSink(events, token, self._signal)
        self._progress: Channel[ToolProgress] = Channel(capacity)
        self._progress.on_item(self._signal.notify)
        self._asks: Channel[Ask] = Channel(capacity)
        self._asks.on_item(self._signal.notify)
        self._open: list[asyncio.Future[HostInputResponse]] = []
        #: Questions that somebody still holds, for answers by id.
        self.questions: weakref.WeakValueDictionary[HostInputId, PendingHostInput]
        self.questions = weakref.WeakValueDictionary()

    async def work(self) -> ToolOutput | ToolError:
        """Run the call; the hook fires exactly once, whatever happens (H12)."""
        loop = asyncio.get_running_loop()
        forget = self._token.on_cancel(lambda: loop.call_soon_threadsafe(self._signal.notify))
        started_at = self._clock.monotonic()
        completion: ToolCompletion = failed(ToolError.cancelled())
        try:
            output = await self._run()
            completion = ToolSucceeded(output)
            return output
        except ToolError as error:
            completion = failed(error)
            return error
        finally:
            forget()
            self._close_channels()
            self._events.close()
            seconds = self._clock.monotonic() - started_at
            self._hooks.after_tool_use(self._tool.name, self._call_id, completion, seconds)

    async def _run(self) -> ToolOutput:
        context = ToolPreparationContext(self._workspace, self._token)
        call = ToolCall(self._call_id, self._tool.name, self._arguments)
        plan: PreparedToolInvocation = await self._attend(
            prepare_call(self._tool, call, InvocationSource.HOST, context)
        )
        await self._attend(authorize_plan(plan, self._authorize), observes_token=True)
        output: ToolOutput = await self._attend(
            execute_plan(plan, self._context()), cleanup=plan.cleanup_timeout
        )
        return output

    async def _authorize(self, request: CapabilityRequest) -> AuthorizationOutcome:
        return await self._authorizer.authorize(
            request,
            tool_call_id=self._call_id,
            session_id=self._session_id,
            cancellation=self._token,
        )

    def _context(self) -> ToolContext:
        return ToolContext(
            workspace=self._workspace,
            cancellation=self._token,
            progress=ProgressSender(self._progress),
            host_input=self._ask,
            authorization=self._authorize,
            child_approval_session=self._authorizer.approvals,
        )

    async def _ask(self, request: HostInputRequest) -> HostInputResponse:
        answer: asyncio.Future[HostInputResponse] = asyncio.get_running_loop().create_future()
        try:
            await self._asks.send((request, answer))
        except ChannelClosed:
            raise self._gone() from None
        return await answer

    def _gone(self) -> RhoError:
        if self._token.is_cancelled:
            return Cancelled()
        return Interrupted("run stopped accepting host input requests")

    # -- waiting --------------------------------------------------------------------------

    async def _attend(
        self, work: Any, *, cleanup: float | None = None, observes_token: bool = False
    ) -> Any:
        """Await one stage, forwarding its events. Raises `ToolError` (H9, H10).

        After cancellation the stage gets `cleanup` seconds to finish, None ends it at once;
        one that observes the token ends by itself.
        """
        task = self._spawn(work)
        deadline: asyncio.Task[Any] | None = None
        try:
            while True:
                if not self._token.is_cancelled and await self._forward():
                    continue
                if task.done():
                    self._flush()
                    return _result_of(task)
                if self._token.is_cancelled and not observes_token:
                    if cleanup is None:
                        raise ToolError.cancelled()
                    if deadline is None:
                        self._flush()
                        self._close_channels()
                        deadline = self._spawn(self._clock.sleep(cleanup))
                    elif deadline.done():
                        raise ToolError(
                            ToolErrorKind.CANCELLED,
                            f"tool cancellation cleanup exceeded {cleanup:g}s",
                        )
                await self._signal.wait()
        finally:
            if not task.done():
                self._close_channels()  # what is ended must not wait for us to listen
            await end_tasks((task, deadline))

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(look_at)
        task.add_done_callback(lambda _task: self._signal.notify())
        return task

    async def _forward(self) -> bool:
        """Emit one progress or question. A consumer that has gone cancels the call."""
        try:
            progress = self._progress.try_receive()
            if progress is not None:
                await self._sink.emit(HostToolProgress(progress))
                return True
            ask = self._asks.try_receive()
            if ask is None:
                return False
            request, answer = ask
            self._open.append(answer)
            pending = PendingHostInput(request, answer)
            self.questions[request.id] = pending
            await self._sink.emit(HostToolInputRequested(pending))
        except Cancelled:
            pass  # not sent; the caller sees the token
        except ConsumerDropped:
            self._token.cancel()
        return True

    def _flush(self) -> None:
        """Deliver queued progress as far as there is room."""
        try:
            while (progress := self._progress.try_receive()) is not None:
                if not self._sink.try_emit(HostToolProgress(progress)):
                    return
        except ConsumerDropped:
            return

    def _close_channels(self) -> None:
        """Nothing is reported or asked any more: senders and askers must not hang."""
        self._progress.drop_receiver()
        while (ask := self._asks.try_receive()) is not None:
            self._open.append(ask[1])
        self._asks.drop_receiver()
        for answer in self._open:
            if not answer.done():
                answer.set_exception(self._gone())
                answer.exception()  # the asker may have gone
        self._open.clear()


def _result_of(task: asyncio.Task[Any]) -> Any:
    outcome = outcome_of(task)
    if isinstance(outcome, ToolError):
        raise outcome
    return outcome
