"""The host's handle on one run: events, outcome, cancellation, commands (section C.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import Interrupted, RhoError
from rho_core.events import RunEvent, RunOutcome
from rho_core.ids import HostInputId, RunId, SteeringId
from rho_core.inputs import UserInput
from rho_core.questions import HostInputResponse
from rho_core.running.commands import Command, Receipt, RetractionOutcome, SteeringHandle
from rho_core.work_handle import WorkHandle

WorkerTask = asyncio.Task[RunOutcome | RhoError]


class Run(WorkHandle[RunEvent, RunOutcome | RhoError]):
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
        def drop() -> None:
            events.drop_receiver()
            token.cancel()
            task.cancel()

        super().__init__(task, events, token, drop)
        self.id = id
        self._commands = SteeringHandle(commands)

    async def aclose(self) -> None:
        """Drop the run if it has not finished, and wait until its work has unwound (C5)."""
        self._events.drop()
        await super().aclose()

    # -- results --------------------------------------------------------------------------

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
        self._take_outcome("run")
        await self._events.relieve_while(self._task)
        return _outcome_of(self._task)

    # -- control --------------------------------------------------------------------------

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
