"""Where a run puts its events: bounded, ordered, cancellable (C7–C11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel, ChannelClosed
from rho_core.errors import Interrupted
from rho_core.signals import Signal

E = TypeVar("E")


class ConsumerDropped(Interrupted):
    """The reader of the events has gone: nothing may be committed any more (C9)."""

    def __init__(self) -> None:
        super().__init__("run event consumer was dropped")


class EventSink(Generic[E]):
    """The sending end of a run's events. Only the run's worker sends.

    `signal` is the worker's: whoever may change what the worker waits for notifies it.
    """

    __slots__ = ("_channel", "_signal", "_token", "try_send")

    def __init__(self, channel: Channel[E], token: CancellationToken, signal: Signal) -> None:
        self._channel = channel
        #: The channel's own `try_send`, for the one hot loop; raises `ChannelClosed`.
        self.try_send = channel.try_send
        self._token = token
        self._signal = signal

    def try_emit(self, event: E) -> bool:
        """Deliver `event` if there is room, without waiting. Raises `ConsumerDropped`."""
        try:
            return self._channel.try_send(event)
        except ChannelClosed:
            raise ConsumerDropped from None

    async def emit(self, event: E, serve: Callable[[], object] | None = None) -> None:
        """Deliver `event`, waiting for room; `serve` is called whenever something else stirs.

        Sending is tried before cancellation is looked at (C8). Raises `Cancelled`, in which case
        the event was not sent, and `ConsumerDropped`.
        """
        try:
            while not self._channel.try_send(event):
                self._token.raise_if_cancelled()
                if serve is not None:
                    serve()
                await self._room()
        except ChannelClosed:
            raise ConsumerDropped from None

    async def emit_even_if_cancelled(self, event: E) -> None:
        """Deliver `event` of an ending run; a reader that has gone is no error (C10)."""
        try:
            while not self._channel.try_send(event):
                await self._room()
        except ChannelClosed:
            return

    def ensure_reader(self) -> None:
        """Raise `ConsumerDropped` if the reader has gone: nothing may be committed then (X6)."""
        if self._channel.receiver_gone:
            raise ConsumerDropped

    async def taken(self) -> None:
        """Wait until the reader has handled every event and asks for the next.

        Raises `Cancelled` and `ConsumerDropped`.
        """
        while not self._channel.is_idle:
            self._token.raise_if_cancelled()
            if self._channel.is_closed:
                raise ConsumerDropped
            await self._room()

    async def _room(self) -> None:
        self._channel.once_room(self._signal.notify)
        await self._signal.wait()
