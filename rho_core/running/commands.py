"""Commands from the host to a running worker: steer, retract, respond (C53–C61).

They travel through one bounded queue and are decided by the worker alone, so an answer such as
`RETRACTED` can never race with the input being applied.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

from rho_core.channels import Channel, ChannelClosed
from rho_core.errors import InvalidHostResponse, RhoError
from rho_core.ids import HostInputId, SteeringId
from rho_core.inputs import UserInput
from rho_core.questions import HostInputResponse

T = TypeVar("T")


class RetractionOutcome(StrEnum):
    """What became of a retraction (C58)."""

    RETRACTED = "retracted"
    ALREADY_APPLIED = "already_applied"
    NOT_FOUND = "not_found"


class Receipt(Generic[T]):
    """The acknowledgement of a queued command: await it, any number of times.

    Giving up on the wait does not withdraw the command.
    """

    __slots__ = ("_future",)

    def __init__(self) -> None:
        self._future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    @property
    def done(self) -> bool:
        """Whether the run has decided."""
        return self._future.done()

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.shield(self._future).__await__()

    def accept(self, value: T) -> None:
        """Decide for the host; only the worker calls this."""
        if not self._future.done():
            self._future.set_result(value)

    def refuse(self, error: RhoError) -> None:
        """Decide against; nobody has to look at it."""
        if not self._future.done():
            self._future.set_exception(error)
            self._future.exception()  # an unread refusal is not a lost error


@dataclass(frozen=True, slots=True)
class SteerCommand:
    """Stage a further user input."""

    input: UserInput
    receipt: Receipt[SteeringId]


@dataclass(frozen=True, slots=True)
class RetractCommand:
    """Take back a staged input."""

    id: SteeringId
    receipt: Receipt[RetractionOutcome]


@dataclass(frozen=True, slots=True)
class RespondCommand:
    """Answer a question of a tool."""

    request_id: HostInputId
    response: HostInputResponse
    receipt: Receipt[None]


Command: TypeAlias = SteerCommand | RetractCommand | RespondCommand

#: per command: what a closed run no longer accepts, and what it ended before
_WORDS: dict[type, tuple[str, str]] = {
    SteerCommand: ("steering input", "accepting steering input"),
    RetractCommand: ("steering retractions", "processing steering retraction"),
    RespondCommand: ("host input", "accepting host input"),
}


class SteeringHandle:
    """The commanding end of a run; it outlives the `Run` and may be passed around (C1)."""

    __slots__ = ("_channel",)

    def __init__(self, channel: Channel[Command]) -> None:
        self._channel = channel

    async def steer(self, input: str | UserInput) -> None:
        """Stage an input; waits until the run has accepted it."""
        await self.steer_retractable(input)

    async def steer_retractable(self, input: str | UserInput) -> SteeringId:
        """Stage an input and return the id by which it can be taken back (C55)."""
        command = SteerCommand(UserInput.of(input), Receipt())
        await self._submit(command)
        return await command.receipt

    async def retract_steering(self, id: SteeringId) -> RetractionOutcome:
        """Take a staged input back; the worker decides which came first (C58)."""
        command = RetractCommand(id, Receipt())
        await self._submit(command)
        return await command.receipt

    async def respond(self, request_id: HostInputId, response: HostInputResponse) -> None:
        """Answer a tool's question. Raises `InvalidHostResponse` if it does not fit (C61)."""
        command = RespondCommand(request_id, response, Receipt())
        await self._submit(command)
        await command.receipt

    def request_steer_retractable(self, input: str | UserInput) -> Receipt[SteeringId]:
        """Like `steer_retractable` without waiting for room (C53)."""
        command = SteerCommand(UserInput.of(input), Receipt())
        self._enqueue(command)
        return command.receipt

    def request_steering_retraction(self, id: SteeringId) -> Receipt[RetractionOutcome]:
        """Like `retract_steering` without waiting for room (C53)."""
        command = RetractCommand(id, Receipt())
        self._enqueue(command)
        return command.receipt

    def request_respond(
        self, request_id: HostInputId, response: HostInputResponse
    ) -> Receipt[None]:
        """Like `respond` without waiting for room (C53)."""
        command = RespondCommand(request_id, response, Receipt())
        self._enqueue(command)
        return command.receipt

    async def _submit(self, command: Command) -> None:
        try:
            await self._channel.send(command)
        except ChannelClosed:
            raise InvalidHostResponse(f"run no longer accepts {_WORDS[type(command)][0]}") from None

    def _enqueue(self, command: Command) -> None:
        try:
            queued = self._channel.try_send(command)
        except ChannelClosed:
            queued = False
        if not queued:
            raise InvalidHostResponse(f"run cannot queue {_WORDS[type(command)][0]}")


class HostCommands:
    """The worker's end: decides commands and holds the staged steering."""

    def __init__(self, channel: Channel[Command]) -> None:
        self._channel = channel
        self._staged: dict[SteeringId, UserInput] = {}
        self._applied: set[SteeringId] = set()
        #: How a response reaches the tool batch in progress, None outside of one.
        self.responder: Callable[[HostInputId, HostInputResponse], None] | None = None

    @property
    def has_staged(self) -> bool:
        """Whether an accepted input waits to be applied."""
        return bool(self._staged)

    @property
    def staged_ids(self) -> tuple[SteeringId, ...]:
        """The ids of the staged inputs, first come first."""
        return tuple(self._staged)

    def serve(self) -> None:
        """Decide every queued command. Never suspends."""
        while (command := self._channel.try_receive()) is not None:
            self._decide(command)

    def take_staged(self) -> tuple[UserInput, ...]:
        """Remove the staged inputs for good: they enter history now (C57)."""
        inputs = tuple(self._staged.values())
        self._applied.update(self._staged)
        self._staged.clear()
        return inputs

    def close(self) -> None:
        """The run is over: refuse what is queued and what comes (C59)."""
        while (command := self._channel.try_receive()) is not None:
            words = _WORDS[type(command)][1]
            command.receipt.refuse(InvalidHostResponse(f"run completed before {words}"))
        self._channel.drop_receiver()

    def _decide(self, command: Command) -> None:
        match command:
            case SteerCommand(input=input, receipt=receipt):
                id = SteeringId()
                self._staged[id] = input
                receipt.accept(id)
            case RetractCommand(id=id, receipt=retraction):
                retraction.accept(self._retract(id))
            case RespondCommand(request_id=request_id, response=response, receipt=reply):
                try:
                    if self.responder is None:
                        raise InvalidHostResponse("no host input request is awaiting a response")
                    self.responder(request_id, response)
                except RhoError as error:
                    reply.refuse(error)
                else:
                    reply.accept(None)

    def _retract(self, id: SteeringId) -> RetractionOutcome:
        if self._staged.pop(id, None) is not None:
            return RetractionOutcome.RETRACTED
        if id in self._applied:
            return RetractionOutcome.ALREADY_APPLIED
        return RetractionOutcome.NOT_FOUND
