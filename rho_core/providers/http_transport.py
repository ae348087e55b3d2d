"""One HTTP connection pool of a provider, and streams of events over it.

It is httpx's transport without its client: one server that is never redirected to another, no
cookies, and a request every few milliseconds while tools are quick. httpx is imported and the
pool is built at first use, in a thread: the TLS context alone takes tens of milliseconds. A pool
belongs to the event loop that built it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol
from urllib.parse import SplitResult, urlsplit

from rho_core.errors import InvalidConfiguration, ProviderError, ProviderErrorKind
from rho_core.providers.http_errors import (
    Redactor,
    error_from_status,
    one_line,
    parse_retry_after,
)
from rho_core.providers.idle_watch import IdleWatch
from rho_core.providers.sse import EventTooLarge, ServerSentEvent, SSEParser
from rho_core.providers.wire_json import encode_body
from rho_core.version import __version__

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT_SECONDS = 15.0
IDLE_TIMEOUT_SECONDS = 120.0


class SecretLike(Protocol):
    """A secret that is only shown on request (C101)."""

    def expose_secret(self) -> str:
        """The value."""
        ...


_MAX_ERROR_BODY_BYTES = 64 * 1024
_MAX_JSON_BODY_BYTES = 16 * 1024 * 1024
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class HttpTransport:
    """Posts JSON to one server and reads server-sent events from it.

    Args:
        base_url: `http(s)://host[:port][/path]`, without credentials, query or fragment.
        headers: Sent with every request; their values never appear in an error.
        connect_timeout: Seconds to reach the server.
        idle_timeout: Seconds without a meaningful payload; keep-alive comments do not count.

    Raises:
        InvalidConfiguration: The base URL cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        secrets: tuple[str, ...] = (),
        connect_timeout: float = CONNECT_TIMEOUT_SECONDS,
        idle_timeout: float = IDLE_TIMEOUT_SECONDS,
    ) -> None:
        self.base_url, self.host = _checked_base_url(base_url)
        self.redact = Redactor.of(secrets)
        self.idle_timeout = idle_timeout
        self._connect_timeout = connect_timeout
        self._headers = {
            "user-agent": f"rho/{__version__}",
            "accept": "text/event-stream",
            # a compressed stream gains little and is held back by some proxies
            "accept-encoding": "identity",
            "content-type": "application/json",
            **{name.lower(): value for name, value in headers.items()},
        }
        self._pool: httpx.AsyncHTTPTransport | None = None
        self._building: asyncio.Lock | None = None

    def __repr__(self) -> str:
        return f"HttpTransport({self.base_url!r})"

    async def warm_up(self) -> None:
        """Import httpx and build the pool now, so that the first request does not wait for it."""
        await self._ready_pool()

    async def aclose(self) -> None:
        """Close every connection. The transport can be used again afterwards."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.aclose()

    @asynccontextmanager
    async def open_stream(self, path: str, body: object) -> AsyncIterator[EventStream]:
        """POST `body` as JSON and give its stream of events.

        Leaving the block closes the connection at once. Raises `ProviderError` for everything
        that the network or the server does wrong, inside the block too.
        """
        pool = await self._ready_pool()
        import httpx

        request = httpx.Request(
            "POST",
            _parsed(self.base_url + path),
            headers=self._headers,
            content=encode_body(body),
            extensions={"timeout": {"connect": self._connect_timeout}},  # `IdleWatch` does the rest
        )
        watch = IdleWatch(self.idle_timeout)
        try:
            async with asyncio.timeout(None) as scope:
                watch.start(scope)
                response = await pool.handle_async_request(request)
                try:
                    if response.status_code >= 300:
                        raise await self._refusal(response)
                    yield EventStream(response, watch, self)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise self.timed_out() from None
        except httpx.HTTPError as error:
            raise self.unreachable(error) from error
        finally:
            watch.stop()

    def timed_out(self) -> ProviderError:
        """The error for a stream without a payload for too long (2.39)."""
        return ProviderError(
            ProviderErrorKind.TIMEOUT,
            f"{self.host} sent nothing for {self.idle_timeout:g} seconds",
            retryable=True,
        )

    def unreachable(self, error: httpx.HTTPError) -> ProviderError:
        """The error for a connection that could not be made or broke."""
        import httpx

        detail = self.redact(f"{type(error).__name__}: {error}")
        kind = ProviderErrorKind.UNAVAILABLE
        if isinstance(error, httpx.ConnectTimeout):
            kind = ProviderErrorKind.TIMEOUT
            message = (
                f"no connection to {self.host} within {self._connect_timeout:g} seconds; "
                "check the network and the base URL"
            )
        elif isinstance(error, httpx.ConnectError):
            said = one_line(self.redact(str(error)), 120)
            message = (
                f"cannot connect to {self.host} ({said}); "
                "check that the server is running and the base URL is right"
            )
        elif isinstance(error, httpx.TimeoutException):
            return self.timed_out()
        else:
            message = (
                f"the connection to {self.host} broke while it was answering; "
                "check the network and the server"
            )
        return ProviderError(kind, message, retryable=True, diagnostic=detail)

    async def _refusal(self, response: httpx.Response) -> ProviderError:
        raw = bytearray()
        async for chunk in response.aiter_bytes():
            raw += chunk
            if len(raw) >= _MAX_ERROR_BODY_BYTES:
                break
        text = bytes(raw[:_MAX_ERROR_BODY_BYTES]).decode("utf-8", "replace")
        return error_from_status(
            response.status_code,
            text,
            host=self.host,
            redact=self.redact,
            retry_after=parse_retry_after(response.headers.get("retry-after")),
        )

    async def _ready_pool(self) -> httpx.AsyncHTTPTransport:
        if self._pool is None:
            if self._building is None:
                self._building = asyncio.Lock()
            async with self._building:
                if self._pool is None:
                    self._pool = await asyncio.to_thread(self._build_pool)
        return self._pool

    def _build_pool(self) -> httpx.AsyncHTTPTransport:
        import httpx

        try:
            return self._new_pool()
        except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
            # the text of the error may hold the proxy's password
            raise ProviderError(
                ProviderErrorKind.OTHER,
                f"no connection to {self.host} can be set up ({type(error).__name__}); check the "
                "environment variables HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE",
            ) from None

    def _new_pool(self) -> httpx.AsyncHTTPTransport:
        import ssl

        import httpx
        import pydantic_core  # noqa: F401 - `encode_body` must not load it in the event loop

        url = urlsplit(self.base_url)
        if url.scheme == "http" and url.hostname in _LOOPBACK:
            # A plain local server needs no certificates and no proxy. The empty context trusts
            # nobody, so should TLS ever be spoken here it fails instead of going unchecked.
            return httpx.AsyncHTTPTransport(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        return httpx.AsyncHTTPTransport(verify=httpx.create_ssl_context(), proxy=_proxy_for(url))


class EventStream:
    """The events of one answer, read in batches as they come off the socket."""

    def __init__(
        self, response: httpx.Response, watch: IdleWatch, transport: HttpTransport
    ) -> None:
        self._watch = watch
        self._transport = transport
        encoded = "content-encoding" in response.headers
        # the raw stream spares two layers of generators for each chunk, which is each token
        self._chunks = response.aiter_bytes() if encoded else aiter(response.stream)  # type: ignore[arg-type]
        media = response.headers.get("content-type", "").split(";")[0].strip().lower()
        self._whole = media if media in ("application/json", "text/html") else ""
        self._parser = SSEParser()
        self._finished = False

    async def read(self) -> list[ServerSentEvent] | None:
        """The next events, at least one; None at the end of the stream."""
        if self._finished:
            return None
        if self._whole:
            self._finished = True
            return [await self._whole_body(self._whole)]
        try:
            while (chunk := await self._next_chunk()) is not None:
                if events := self._parser.feed(chunk):
                    if len(events) > 1 or events[0].event != "ping":
                        self._watch.payload_seen()
                    return events
            self._finished = True
            return self._parser.close() or None
        except EventTooLarge as error:
            raise ProviderError(
                ProviderErrorKind.INVALID_RESPONSE, f"{self._transport.host}: {error}"
            ) from error

    async def drain(self, seconds: float = 0.1) -> None:
        """Read the rest, for a moment: only an answer read to its end frees its connection."""
        try:
            async with asyncio.timeout(seconds):
                while await self._next_chunk() is not None:
                    pass
        except TimeoutError:
            return

    def answer_is_complete(self, grace_seconds: float = 10.0) -> None:
        """Only trailers may follow: a server that keeps the line open is not waited for long."""
        self._watch.shorten(grace_seconds)

    async def _next_chunk(self) -> bytes | None:
        self._watch.waiting()
        return await anext(self._chunks, None)

    async def _whole_body(self, media: str) -> ServerSentEvent:
        """An answer that is no stream: some servers ignore `stream` and send one JSON object."""
        raw = bytearray()
        while (chunk := await self._next_chunk()) is not None:
            raw += chunk
            if len(raw) > _MAX_JSON_BODY_BYTES:
                raise ProviderError(
                    ProviderErrorKind.INVALID_RESPONSE,
                    f"{self._transport.host} sent more than {_MAX_JSON_BODY_BYTES} bytes",
                )
        text = bytes(raw).decode("utf-8", "replace")
        if media == "text/html":
            raise ProviderError(
                ProviderErrorKind.INVALID_RESPONSE,
                f"{self._transport.host} answered with a web page; check the base URL",
                diagnostic=self._transport.redact(text),
            )
        return ServerSentEvent("message", text)


def _checked_base_url(base_url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError:
        raise InvalidConfiguration("the base URL of a provider is not a URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidConfiguration("the base URL of a provider must start with http:// or https://")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidConfiguration(
            "the base URL of a provider must hold no credentials, query or fragment"
        )
    host = parts.hostname if port is None else f"{parts.hostname}:{port}"
    return base_url.strip().rstrip("/"), host


@lru_cache(32)
def _parsed(url: str) -> httpx.URL:
    import httpx

    return httpx.URL(url)


def _proxy_for(url: SplitResult) -> str | None:
    """The proxy that the environment, or the system, names for this server."""
    from urllib.request import getproxies, proxy_bypass

    if proxy_bypass(url.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def secret_text(key: SecretLike | str | None) -> str | None:
    """The value of a key, without surrounding blanks; None when there is none.

    Raises `InvalidConfiguration` for what cannot be sent in a header, without showing it.
    """
    if key is None:
        return None
    text = (key if isinstance(key, str) else key.expose_secret()).strip()
    if not text:
        return None
    if not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidConfiguration("the API key holds characters that no API key has")
    return text
