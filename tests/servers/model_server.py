"""A small HTTP/1.1 server for scripted model answers, on asyncio alone.

Fast enough that a benchmark measures the client: events without delays go out in a few writes,
each still its own HTTP chunk, as vendors send them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from tests.servers.scenario import Facts, Scenario, Turn

_WRITE_BATCH = 64 * 1024
_CACHED_ANSWERS = 16


@dataclass
class RecordedRequest:
    """A request as it came in. `disconnected` is set once the client hung up on the answer."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


class ModelServer(ABC):
    """Base of the scripted servers; a subclass knows one vendor's wire.

    With `strict`, a conversation that the real vendor would refuse gets a 400.
    `known_fields`, if given, refuses requests with any other top-level field, as some local
    servers do.
    """

    base_path = ""
    turn_path = ""

    def __init__(
        self,
        scenario: Scenario | list[Turn] | Turn,
        *,
        strict: bool = True,
        known_fields: set[str] | None = None,
        port: int = 0,
    ) -> None:
        self.scenario = Scenario.of(scenario)
        self.strict = strict
        self.known_fields = known_fields
        self.requests: list[RecordedRequest] = []
        self.connections = 0
        self._port = port
        self._server: asyncio.Server | None = None
        self._arrival = asyncio.Condition()
        self._writers: set[asyncio.StreamWriter] = set()
        self._cache: dict[str, tuple[list[bytes], list[bytes]]] = {}

    # -- what a vendor's wire looks like ---------------------------------------------------

    @abstractmethod
    def facts(self, number: int, body: dict[str, Any]) -> Facts:
        """What the rules may look at."""

    @abstractmethod
    def complaint(self, body: dict[str, Any]) -> str | None:
        """Why the vendor would refuse this request."""

    @abstractmethod
    def events(self, turn: Turn, body: dict[str, Any]) -> tuple[list[bytes], list[bytes]]:
        """The server-sent events of an answer: its content, and its end marks."""

    @abstractmethod
    def error_body(self, turn: Turn) -> dict[str, Any]:
        """The JSON body of a refusal."""

    @abstractmethod
    def keep_alive(self) -> bytes:
        """What is sent during a silence."""

    @abstractmethod
    def models(self) -> dict[str, Any]:
        """The answer to a question for models."""

    # -- running ---------------------------------------------------------------------------

    @property
    def port(self) -> int:
        assert self._server is not None, "the server is not running"
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def base_url(self) -> str:
        """What a provider is configured with."""
        return f"http://127.0.0.1:{self.port}{self.base_path}"

    @property
    def turns(self) -> list[RecordedRequest]:
        """The recorded requests for an answer."""
        return [r for r in self.requests if r.path.endswith(self.turn_path)]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._server.wait_closed(), 2)

    @contextlib.contextmanager
    def in_thread(self) -> Iterator[Self]:
        """Run in a thread of its own, for tests that are not asynchronous."""
        ready = threading.Event()
        loop = asyncio.new_event_loop()
        stop = asyncio.Event()

        async def serve() -> None:
            async with self:
                ready.set()
                await stop.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
        thread.start()
        assert ready.wait(5), "the server did not start"
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(5)
            loop.close()

    async def request(self, number: int = 0, timeout: float = 5.0) -> RecordedRequest:
        """The recorded request of that number, once it is there."""
        async with asyncio.timeout(timeout), self._arrival:
            await self._arrival.wait_for(lambda: len(self.requests) > number)
        return self.requests[number]

    # -- serving ---------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while (request := await _read_request(reader)) is not None:
                async with self._arrival:
                    self.requests.append(request)
                    self._arrival.notify_all()
                if not await self._respond(request, reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _respond(
        self, request: RecordedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer; tells whether the connection may be used again."""
        if request.method == "GET" and request.path.endswith("/models"):
            _write_json(writer, 200, self.models())
            return True
        if not request.path.endswith(self.turn_path):
            _write_json(writer, 404, self.error_body(Turn(error=f"no route {request.path}")))
            return True
        number = len(self.turns) - 1
        try:
            body = request.body
            turn = self._refusal(body) or self.scenario.answer(self.facts(number, body))
        except (KeyError, TypeError, ValueError) as error:
            body = {}
            turn = Turn(status=400, error=f"malformed request: {error!r}")
        if turn.status != 200:
            headers = f"retry-after: {turn.retry_after}\r\n" if turn.retry_after else ""
            _write_json(writer, turn.status, self.error_body(turn), headers)
            return True
        answering = asyncio.ensure_future(self._stream(turn, body, writer))
        hanging_up = asyncio.ensure_future(reader.read(1))
        await asyncio.wait((answering, hanging_up), return_when=asyncio.FIRST_COMPLETED)
        gone = hanging_up.done() and not answering.done()
        for task in (answering, hanging_up):
            task.cancel()
        results = await asyncio.gather(answering, hanging_up, return_exceptions=True)
        if gone or isinstance(results[0], ConnectionError):
            request.disconnected.set()
        request.answered.set()
        return results[0] is True

    def _refusal(self, body: dict[str, Any]) -> Turn | None:
        if self.known_fields is not None and (extra := set(body) - self.known_fields):
            name = sorted(extra)[0]
            return Turn(status=400, error=f"Unrecognized request argument supplied: {name}")
        complaint = self.complaint(body) if self.strict else None
        if complaint is None:
            return None
        return Turn(status=400, error=complaint, error_code="invalid_request_error")

    async def _stream(self, turn: Turn, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {turn.content_type}\r\n"
        if turn.raw is not None:
            return await _send_raw(writer, head, turn)
        writer.write((head + "transfer-encoding: chunked\r\n\r\n").encode())
        content, ending = self._encoded(turn, body)
        if turn.first_delay:
            await self._silence(writer, turn.first_delay, turn.keep_alive)
        if turn.disconnect_after is not None:
            await _send_events(writer, content[: turn.disconnect_after], turn.delay)
            _reset(writer)
            return False
        await _send_events(writer, content, turn.delay)
        if turn.hold:
            await self._silence(writer, turn.hold, turn.keep_alive)
        await _send_events(writer, ending if turn.end else [], 0)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _encoded(self, turn: Turn, body: dict[str, Any]) -> tuple[list[bytes], list[bytes]]:
        """The events, encoded once for equal answers: a benchmark repeats one of them."""
        key = f"{turn!r} {body.get('model')} {body.get('stream_options')}"
        if key not in self._cache:
            if len(self._cache) >= _CACHED_ANSWERS:
                self._cache.clear()
            self._cache[key] = self.events(turn, body)
        return self._cache[key]

    async def _silence(
        self, writer: asyncio.StreamWriter, seconds: float, keep_alive: float
    ) -> None:
        end = asyncio.get_running_loop().time() + seconds
        while (left := end - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(min(left, keep_alive) if keep_alive else left)
            if keep_alive:
                writer.write(_chunk(self.keep_alive()))


async def _read_request(reader: asyncio.StreamReader) -> RecordedRequest | None:
    line = await reader.readline()
    if not line.strip():
        return None
    method, path, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return RecordedRequest(method, path.partition("?")[0], headers, raw)


def _write_json(
    writer: asyncio.StreamWriter, status: int, body: dict[str, Any], headers: str = ""
) -> None:
    raw = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} x\r\ncontent-type: application/json\r\n{headers}"
    writer.write(f"{head}content-length: {len(raw)}\r\n\r\n".encode() + raw)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def _send_events(writer: asyncio.StreamWriter, events: list[bytes], delay: float) -> None:
    batch = bytearray()
    for event in events:
        if delay:
            await asyncio.sleep(delay)
        batch += _chunk(event)
        if delay or len(batch) >= _WRITE_BATCH:
            writer.write(bytes(batch))
            batch.clear()
            await writer.drain()
    if batch:
        writer.write(bytes(batch))
        await writer.drain()


async def _send_raw(writer: asyncio.StreamWriter, head: str, turn: Turn) -> bool:
    assert turn.raw is not None
    writer.write((head + "connection: close\r\n\r\n").encode())
    size = turn.raw_chunk or max(1, len(turn.raw))
    for start in range(0, len(turn.raw), size):
        writer.write(turn.raw[start : start + size])
        await writer.drain()
        if turn.raw_chunk:
            await asyncio.sleep(turn.delay)
    if turn.hold:
        await asyncio.sleep(turn.hold)
    return False


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN, as a crashed server or a dead proxy does."""
    sock = writer.get_extra_info("socket")
    linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()
