"""A bounded, closable, single-consumer channel (L2).

`asyncio.Queue` knows neither a closed end nor a receiver that has gone; every queue of the core
needs both. All methods belong to one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class ChannelClosed(Exception):
    """The other end of the channel has gone."""


class Channel(Generic[T]):
    """A FIFO of at most `capacity` items. Senders wait when it is full; nothing is ever dropped."""

    __slots__ = (
        "_capacity",
        "_getter",
        "_granted",
        "_items",
        "_putters",
        "_receiver_gone",
        "_sender_gone",
    )

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError("channel capacity must be at least 1")
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._granted = 0  # room promised to woken senders that have not run yet
        self._putters: deque[asyncio.Future[None]] = deque()
        self._getter: asyncio.Future[None] | None = None
        self._sender_gone = False
        self._receiver_gone = False

    def __len__(self) -> int:
        return len(self._items)

    @property
    def receiver_gone(self) -> bool:
        """Whether the consumer has left; sending can only fail from now on."""
        return self._receiver_gone

    def try_send(self, item: T) -> bool:
        """Queue `item` if there is room and nobody waits before us. Raises `ChannelClosed`."""
        if self._receiver_gone or self._sender_gone:
            raise ChannelClosed
        if self._putters or not self._has_room:
            return False
        self._items.append(item)
        self._wake_getter()
        return True

    async def send(self, item: T) -> None:
        """Queue `item`, waiting for room in FIFO order. Raises `ChannelClosed`."""
        if self.try_send(item):
            return
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._putters.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if slot in self._putters:
                self._putters.remove(slot)
            elif slot.done() and not slot.cancelled():
                self._granted -= 1
                self._wake_putter()  # the room given to us goes to the next in line
            raise
        self._granted -= 1
        if self._receiver_gone or self._sender_gone:
            raise ChannelClosed
        self._items.append(item)
        self._wake_getter()

    def try_receive(self) -> T | None:
        """The next item if one is queued."""
        if not self._items:
            return None
        item = self._items.popleft()
        self._wake_putter()
        return item

    async def receive(self) -> T:
        """The next item. Raises `ChannelClosed` once the sender has closed and all is read."""
        while not self._items:
            if self._sender_gone or self._receiver_gone:
                raise ChannelClosed
            if self._getter is None or self._getter.done():
                self._getter = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._getter)
        item = self._items.popleft()
        self._wake_putter()
        return item

    async def ready(self) -> None:
        """Return once an item is queued or the channel is closed; takes nothing."""
        while not self._items and not self._sender_gone and not self._receiver_gone:
            if self._getter is None or self._getter.done():
                self._getter = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._getter)

    def close(self) -> None:
        """The sender is done: what is queued can still be read."""
        self._sender_gone = True
        self._wake_getter()
        self._wake_all_putters()

    def drop_receiver(self) -> None:
        """The consumer is gone: what is queued is lost and senders fail."""
        self._receiver_gone = True
        self._items.clear()
        self._wake_getter()
        self._wake_all_putters()

    def _wake_getter(self) -> None:
        if self._getter is not None and not self._getter.done():
            self._getter.set_result(None)
            self._getter = None

    @property
    def _has_room(self) -> bool:
        return len(self._items) + self._granted < self._capacity

    def _wake_putter(self) -> None:
        if self._has_room:
            self._grant_next()

    def _wake_all_putters(self) -> None:
        while self._grant_next():
            pass

    def _grant_next(self) -> bool:
        while self._putters:
            slot = self._putters.popleft()
            if not slot.done():
                self._granted += 1
                slot.set_result(None)
                return True
        return False
