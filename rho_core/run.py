"""The host's handle on one run: events, outcome, cancellation, commands (section C.1)."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from types import TracebackType

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import Interrupted, InvalidHostResponse, RhoError
from rho_core.event_stream import EventIteration, EventStream
from rho_core.events import RunEvent, RunOutcome
from rho_core.ids import HostInputId, RunId, SteeringId
from rho_core.inputs import UserInput
from rho_core.questions import HostInputResponse
from rho_core.running.commands import Command, Receipt, RetractionOutcome, SteeringHandle

WorkerTask = asyncio.Task[RunOutcome | RhoError]


class Run:
    """One turn in progress. `Session.start` makes it; the work is already scheduled.

    Use it as the owner of the work::

        async with session.start("hello") as run:
            async for event in run:
                ...
            outcome = await run.outcome()

    Leaving the block, or `aclose`, drops a run that has not finished: nothing is promised about
    what is committed then (C5). `cancel` is the orderly way to stop.
    """

    def __init__(
        self,
        id: RunId,
        task: WorkerTask,
        events: Channel[RunEvent],
        commands: Channel[Command],
        token: CancellationToken,
    ) -> None:
        self.id = id
        self._task = task
        self._events = EventStream(events)
        self._commands = SteeringHandle(commands)
        self._token = token
        self._outcome_taken = False
        loop = asyncio.get_running_loop()
        weakref.finalize(self, _abandon, loop, task, events, token).atexit = False

    async def __aenter__(self) -> Run:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Drop the run if it has not finished, and wait until its work has unwound (C5)."""
        self._events.drop()
        if self._task.done():
            return
        self._token.cancel()
        self._task.cancel()
        await asyncio.wait((self._task,))

    # -- results --------------------------------------------------------------------------

    def __aiter__(self) -> EventIteration[RunEvent]:
        return self._events.iterate()

    async def next_event(self) -> RunEvent | None:
        """The next event; None at the end of the stream."""
        return await self._events.next()

    def take_event(self) -> RunEvent | None:
        """The next event if one is queued, without waiting; for a host that watches many sources.

        Pair it with `on_event`, and stop once `events_ended`.
        """
        return self._events.take()

    def on_event(self, callback: Callable[[], None] | None) -> None:
        """Call `callback` whenever an event is queued or the stream ends; it only takes note."""
        self._events.on_event(callback)

    @property
    def events_ended(self) -> bool:
        """Whether no event is queued and none will come."""
        return self._events.has_ended

    async def outcome(self) -> RunOutcome:
        """Wait for the end and return the authoritative result, once (C3).

        Raises the typed error the run ended with. Never blocks on unread events: when the channel
        is full, they are discarded, or set aside if the run is being iterated elsewhere.
        """
        if self._outcome_taken:
            raise InvalidHostResponse("run outcome was already consumed")
        self._outcome_taken = True
        await self._events.relieve_while(self._task)
        return _outcome_of(self._task)

    # -- control --------------------------------------------------------------------------

    @property
    def is_finished(self) -> bool:
        """Whether the work has ended."""
        return self._task.done()

    def cancel(self) -> None:
        """Ask the run to stop; what it had done is committed (C63). A no-op after the end."""
        self._token.cancel()

    @property
    def cancellation_handle(self) -> CancellationToken:
        """The run's token, to be cancelled from elsewhere, any thread included."""
        return self._token

    def steering_handle(self) -> SteeringHandle:
        """The commanding end alone, for a task that does not hold the run."""
        return self._commands

    async def steer(self, input: str | UserInput) -> None:
        """Stage further user input for the next boundary (C55)."""
        await self._commands.steer(input)

    async def steer_retractable(self, input: str | UserInput) -> SteeringId:
        """Stage input and return the id by which it can be taken back."""
        return await self._commands.steer_retractable(input)

    async def retract_steering(self, id: SteeringId) -> RetractionOutcome:
        """Take staged input back, if it has not been applied (C58)."""
        return await self._commands.retract_steering(id)

    async def respond(self, request_id: HostInputId, response: HostInputResponse) -> None:
        """Answer a tool's question (C61)."""
        await self._commands.respond(request_id, response)

    def request_steer_retractable(self, input: str | UserInput) -> Receipt[SteeringId]:
        """`steer_retractable` that never waits for room (C53)."""
        return self._commands.request_steer_retractable(input)

    def request_steering_retraction(self, id: SteeringId) -> Receipt[RetractionOutcome]:
        """`retract_steering` that never waits for room (C53)."""
        return self._commands.request_steering_retraction(id)

    def request_respond(
        self, request_id: HostInputId, response: HostInputResponse
    ) -> Receipt[None]:
        """`respond` that never waits for room (C53)."""
        return self._commands.request_respond(request_id, response)

    def __repr__(self) -> str:
        return f"Run(id={str(self.id)!r}, is_finished={self.is_finished})"


def _outcome_of(task: WorkerTask) -> RunOutcome:
    if task.cancelled():
        raise Interrupted("run was dropped before it finished")
    crash = task.exception()
    if crash is not None:
        raise Interrupted(f"run task failed: {crash}") from crash
    result = task.result()
    if isinstance(result, RhoError):
        raise result
    return result


def _abandon(
    loop: asyncio.AbstractEventLoop,
    task: WorkerTask,
    events: Channel[RunEvent],
    token: CancellationToken,
) -> None:
    """The handle was let go of. The collector may run in any thread: hand over to the loop."""
    if task.done() or loop.is_closed():
        return

    def drop() -> None:
        events.drop_receiver()
        token.cancel()
        task.cancel()

    loop.call_soon_threadsafe(drop)
