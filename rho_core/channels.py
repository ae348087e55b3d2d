"""A bounded, closable, single-consumer channel (L2).

`asyncio.Queue` knows neither a closed end nor a receiver that has gone; every queue of the core
needs both. All methods belong to one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ChannelClosed(Exception):
    """The other end of the channel has gone."""


class Channel(Generic[T]):
    """A FIFO of at most `capacity` items. Senders wait when it is full; nothing is ever dropped."""

    __slots__ = (
        "_blocked",
        "_capacity",
        "_closed",
        "_getters",
        "_granted",
        "_idle",
        "_items",
        "_on_item",
        "_on_room",
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
        self._getters: list[asyncio.Future[None]] = []
        self._sender_gone = False
        self._receiver_gone = False
        self._closed = False  # either of the two
        self._on_item: Callable[[], None] | None = None
        self._on_room: Callable[[], None] | None = None
        self._blocked: asyncio.Future[None] | None = None
        self._idle = False

    def __len__(self) -> int:
        return len(self._items)

    @property
    def receiver_gone(self) -> bool:
        """Whether the consumer has left; sending can only fail from now on."""
        return self._receiver_gone

    @property
    def is_closed(self) -> bool:
        """Whether either end has left."""
        return self._closed

    @property
    def is_idle(self) -> bool:
        """Whether the receiver has taken everything and come back for more."""
        return self._idle and not self._items

    def on_item(self, callback: Callable[[], None] | None) -> None:
        """Call `callback` when there is something to receive again, or an end leaves.

        For one who waits on many sources and takes all there is before waiting again. It runs
        inside `send` and must only take note.
        """
        self._on_item = callback

    def once_room(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, when an item is taken or an end leaves: `try_send` may work.

        Also when the receiver comes back and finds nothing: the channel `is_idle` then.
        """
        self._on_room = callback
        self._tell_blocked()

    async def blocked(self) -> None:
        """Return once a sender waits for room, or an end has left."""
        while not (self.is_closed or self._putters or self._on_room is not None):
            if self._blocked is None or self._blocked.done():
                self._blocked = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._blocked)

    def try_send(self, item: T) -> bool:
        """Queue `item` if there is room and nobody waits before us. Raises `ChannelClosed`."""
        if self._closed:
            raise ChannelClosed
        items = self._items
        if self._putters or len(items) + self._granted >= self._capacity:
            return False
        items.append(item)
        if len(items) == 1:  # whoever was told of the item before has not looked yet
            self._wake_getter()
        return True

    async def send(self, item: T, unless: Callable[[T], bool] | None = None) -> None:
        """Queue `item`, waiting for room in FIFO order. Raises `ChannelClosed`.

        After a wait, `unless` may take the item another way: then it is not queued.
        """
        if self.try_send(item):
            return
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._putters.append(slot)
        self._tell_blocked()
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
        if self._closed:
            raise ChannelClosed
        if unless is not None and unless(item):
            self._wake_putter()
            return
        self._items.append(item)
        self._wake_getter()

    def try_receive(self) -> T | None:
        """The next item if one is queued."""
        if not self._items:
            self._became_idle()
            return None
        item = self._items.popleft()
        if self._putters or self._on_room is not None:
            self._made_room()
        return item

    async def receive(self) -> T:
        """The next item. Raises `ChannelClosed` once the sender has closed and all is read."""
        while not self._items:
            if self._closed:
                raise ChannelClosed
            await self._arrival()
        item = self._items.popleft()
        self._made_room()
        return item

    async def ready(self) -> None:
        """Return once an item is queued or the channel is closed; takes nothing."""
        while not self._items and not self._closed:
            await self._arrival()

    async def _arrival(self) -> None:
        self._became_idle()
        getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            await getter
        except asyncio.CancelledError:
            if getter in self._getters:
                self._getters.remove(getter)
            raise

    def close(self) -> None:
        """The sender is done: what is queued can still be read."""
        self._sender_gone = self._closed = True
        self._tell_blocked()
        self._wake_getter()
        self._wake_all_putters()

    def drop_receiver(self) -> None:
        """The consumer is gone: what is queued is lost and senders fail."""
        self._receiver_gone = self._closed = True
        self._tell_blocked()
        self._items.clear()
        self._wake_getter()
        self._wake_all_putters()

    def _became_idle(self) -> None:
        self._idle = True
        if self._on_room is not None:
            callback, self._on_room = self._on_room, None
            callback()

    def _wake_getter(self) -> None:
        self._idle = False
        if self._getters:
            getters, self._getters = self._getters, []
            for getter in getters:
                if not getter.done():
                    getter.set_result(None)
        if self._on_item is not None:
            self._on_item()

    def _tell_blocked(self) -> None:
        if self._blocked is not None and not self._blocked.done():
            self._blocked.set_result(None)

    def _made_room(self) -> None:
        if self._putters:
            self._wake_putter()
        if self._on_room is not None:
            callback, self._on_room = self._on_room, None
            callback()

    @property
    def _has_room(self) -> bool:
        return len(self._items) + self._granted < self._capacity

    def _wake_putter(self) -> None:
        if self._has_room:
            self._grant_next()

    def _wake_all_putters(self) -> None:
        while self._grant_next():
            pass
        if self._on_room is not None:
            callback, self._on_room = self._on_room, None
            callback()

    def _grant_next(self) -> bool:
        while self._putters:
            slot = self._putters.popleft()
            if not slot.done():
                self._granted += 1
                slot.set_result(None)
                return True
        return False
