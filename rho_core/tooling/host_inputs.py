"""Questions of tools to the host during one batch: pending, answered once, never lost (D59–D63)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel, ChannelClosed
from rho_core.errors import Cancelled, Interrupted, InvalidHostResponse, RhoError
from rho_core.ids import HostInputId
from rho_core.questions import (
    HostInputDismissed,
    HostInputRequest,
    HostInputResponse,
    HostInputSource,
)
from rho_core.tooling.contract import HostInputPort


@dataclass(frozen=True, slots=True)
class Ask:
    """One question of one call, and where its answer goes."""

    call_id: str
    request: HostInputRequest
    answer: asyncio.Future[HostInputResponse]


class HostInputBoard:
    """The questions of one batch. `on_waiting` is told whether any question is pending (B5)."""

    def __init__(
        self,
        capacity: int,
        token: CancellationToken,
        notify: Callable[[], None],
        on_waiting: Callable[[bool], None],
    ) -> None:
        self._queue: Channel[Ask] = Channel(capacity)
        self._queue.on_item(notify)
        self._token = token
        self._on_waiting = on_waiting
        self._pending: dict[HostInputId, Ask] = {}
        self._askers: dict[HostInputId, str] = {}  # every id ever used in this batch

    def port(self, call_id: str) -> HostInputPort:
        """The asking end for one call's context."""

        async def ask(request: HostInputRequest) -> HostInputResponse:
            answer: asyncio.Future[HostInputResponse]
            answer = asyncio.get_running_loop().create_future()
            try:
                await self._queue.send(Ask(call_id, request, answer))
            except ChannelClosed:
                raise self._gone("run stopped accepting host input requests") from None
            return await answer

        return ask

    def take(self) -> Ask | None:
        """Record the next question as pending and return it for its event (D59).

        Raises `InvalidHostResponse` when its id was used before in this batch (D62).
        """
        ask = self._queue.try_receive()
        while ask is not None and ask.answer.done():  # the asker gave up before we looked
            ask = self._queue.try_receive()
        if ask is None:
            return None
        id = ask.request.id
        first = self._askers.get(id)
        if first is not None:
            error = InvalidHostResponse(
                f"host input id '{id}' of tool call '{ask.call_id}' "
                f"was already used by tool call '{first}'"
            )
            _refuse(ask, error)
            raise error
        self._askers[id] = ask.call_id
        self._pending[id] = ask
        self._on_waiting(True)
        return ask

    def respond(self, id: HostInputId, response: HostInputResponse) -> None:
        """Deliver a valid answer exactly once; an invalid one leaves the question open (C61).

        A dismissal reaches the asker as `HostInputDismissed`.
        """
        ask = self._pending.get(id)
        if ask is None:
            raise InvalidHostResponse("host input request is not pending")
        ask.request.validate(response)
        del self._pending[id]
        self._tell()
        if ask.answer.done():
            raise InvalidHostResponse("host input requester was dropped")
        if response.source is HostInputSource.DISMISSED:
            _refuse(ask, HostInputDismissed())
        else:
            ask.answer.set_result(response)

    def close_call(self, call_id: str) -> None:
        """The call has finished: what it still asks is moot (D60)."""
        for id in [id for id, ask in self._pending.items() if ask.call_id == call_id]:
            _refuse(
                self._pending.pop(id),
                InvalidHostResponse("tool completed before answering its host input request"),
            )
        self._tell()

    def close(self) -> None:
        """The batch is over: nothing more is asked or answered (D63)."""
        while (ask := self._queue.try_receive()) is not None:
            _refuse(ask, self._gone("run stopped accepting host input requests"))
        self._queue.drop_receiver()
        for ask in self._pending.values():
            _refuse(ask, self._gone("host input request was dropped without a response"))
        self._pending.clear()
        self._tell()

    def _gone(self, message: str) -> RhoError:
        return Cancelled() if self._token.is_cancelled else Interrupted(message)

    def _tell(self) -> None:
        if not self._pending:
            self._on_waiting(False)


def _refuse(ask: Ask, error: RhoError) -> None:
    if not ask.answer.done():
        ask.answer.set_exception(error)
        ask.answer.exception()  # a requester that has gone is no lost error
