"""The handle on one call of a tool host: events, questions, outcome (H5–H7)."""

from __future__ import annotations

import asyncio
import weakref
from dataclasses import dataclass
from typing import TypeAlias

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import Interrupted, InvalidHostResponse, ToolError
from rho_core.ids import HostInputId, ToolCallId
from rho_core.questions import HostInputRequest, HostInputResponse
from rho_core.tooling.values import ToolOutput, ToolProgress
from rho_core.work_handle import WorkHandle


class PendingHostInput:
    """A question that waits for its one answer. Letting go of it unanswered fails the asker."""

    __slots__ = ("__weakref__", "_answer", "_answered", "request")

    def __init__(
        self, request: HostInputRequest, answer: asyncio.Future[HostInputResponse]
    ) -> None:
        self.request = request
        self._answer = answer
        self._answered = False
        loop = asyncio.get_running_loop()
        weakref.finalize(self, _drop_from_finalizer, loop, answer).atexit = False

    def respond(self, response: HostInputResponse) -> None:
        """Deliver a valid answer, once; an invalid one leaves the question open (H6)."""
        self.request.validate(response)
        if self._answered:
            raise InvalidHostResponse("host input request was already answered")
        if self._answer.done():
            raise InvalidHostResponse("tool call stopped before accepting host input")
        self._answered = True
        self._answer.set_result(response)

    def drop(self) -> None:
        """Give up without an answer: the asker gets `Interrupted`."""
        _drop(self._answer)

    def __repr__(self) -> str:
        return f"PendingHostInput(id={str(self.request.id)!r}, answered={self._answered})"


@dataclass(frozen=True, slots=True)
class HostToolProgress:
    """The call reports progress."""

    progress: ToolProgress


@dataclass(frozen=True, slots=True)
class HostToolInputRequested:
    """The call asks the host: answer `pending`, or the run by the request's id.

    Keep the event (or `pending`) until then: letting go of it counts as giving up (H6).
    """

    pending: PendingHostInput

    @property
    def request(self) -> HostInputRequest:
        """What is asked."""
        return self.pending.request


ToolHostEvent: TypeAlias = HostToolProgress | HostToolInputRequested
HostCallTask: TypeAlias = asyncio.Task[ToolOutput | ToolError]


class ToolHostRun(WorkHandle[ToolHostEvent, ToolOutput | ToolError]):
    """One call in progress. `async with` owns it; leaving unfinished cancels the call (H11).

    Its hook fires all the same.
    """

    def __init__(
        self,
        call_id: ToolCallId,
        task: HostCallTask,
        events: Channel[ToolHostEvent],
        questions: weakref.WeakValueDictionary[HostInputId, PendingHostInput],
        token: CancellationToken,
    ) -> None:
        def drop() -> None:  # the worker ends by itself
            token.cancel()
            events.drop_receiver()

        super().__init__(task, events, token, drop)
        self.call_id = call_id
        self._questions = questions

    async def outcome(self) -> ToolOutput:
        """Wait for the end and return the output, once. Raises `ToolError` or `Interrupted`.

        Unread progress is discarded and an unanswered question fails its asker, so that nothing
        hangs (H7); while the run is iterated elsewhere, that iteration gets all events.
        """
        self._take_outcome("tool host")
        if self._events.is_iterated:
            await self._events.relieve_while(self._task)
        else:
            await self._events.discard_while(self._task, _dispose)
        return _output_of(self._task)

    def respond(self, request_id: HostInputId, response: HostInputResponse) -> None:
        """Answer the question of that id (X2). Raises `InvalidHostResponse` as `respond` there."""
        pending = self._questions.get(request_id)
        if pending is None:
            raise InvalidHostResponse("host input request is not pending")
        pending.respond(response)


def _output_of(task: HostCallTask) -> ToolOutput:
    crash = None if task.cancelled() else task.exception()
    if task.cancelled() or crash is not None:
        raise Interrupted(f"tool host task failed: {crash or 'cancelled'}") from crash
    result = task.result()
    if isinstance(result, ToolError):
        raise result
    return result


def _dispose(event: ToolHostEvent) -> None:
    if isinstance(event, HostToolInputRequested):
        event.pending.drop()


def _drop(answer: asyncio.Future[HostInputResponse]) -> None:
    if not answer.done():
        answer.set_exception(Interrupted("host input request was dropped without a response"))
        answer.exception()  # the asker may have gone as well


def _drop_from_finalizer(
    loop: asyncio.AbstractEventLoop, answer: asyncio.Future[HostInputResponse]
) -> None:
    """The collector may run in any thread: hand over to the loop."""
    if not answer.done() and not loop.is_closed():
        loop.call_soon_threadsafe(_drop, answer)
