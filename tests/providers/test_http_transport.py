"""Both adapters against a network and servers that misbehave."""

from __future__ import annotations

import asyncio
import gzip
import socket
import subprocess
import sys
from typing import Any

import pytest

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import Cancelled, ProviderError, ProviderErrorKind
from rho_core.providers.contract import ObservedEvent, OutputDelta, ProviderEvents
from rho_core.providers.http_transport import HttpTransport
from rho_core.providers.openai_chat import OpenAIChatProvider
from rho_core.providers.wire_json import encode_body
from tests.providers.harness import KEY, anthropic, chat, request_of, run_turn
from tests.servers import AnthropicServer, ChatServer, Turn

WIRES = [(ChatServer, chat), (AnthropicServer, anthropic)]
both = pytest.mark.parametrize(("server_type", "connect"), WIRES, ids=["chat", "anthropic"])
K = ProviderErrorKind


async def failure(server_type: Any, connect: Any, turn: Turn, **options: Any) -> ProviderError:
    async with server_type(turn) as server, connect(server, **options) as provider:
        outcome = await run_turn(provider, request_of())
    assert outcome.error is not None, outcome.response
    error = outcome.error
    assert KEY not in f"{error} {error!r} {error.diagnostic}"
    assert "\n" not in error.message
    return error


@both
@pytest.mark.clause("C98", "case:H14")
async def test_a_refusal_carries_message_wait_and_body(server_type: Any, connect: Any) -> None:
    turn = Turn(status=429, retry_after="7", error=f"slow down, {KEY}")
    error = await failure(server_type, connect, turn)
    assert error.provider_kind is K.RATE_LIMIT
    assert error.retryable
    assert error.retry_after == 7.0
    assert "slow down, [redacted]" in error.message
    assert "127.0.0.1" in error.message
    assert error.diagnostic is not None
    assert "slow down" in error.diagnostic


@both
async def test_a_wrong_key_is_permanent(server_type: Any, connect: Any) -> None:
    error = await failure(server_type, connect, Turn(status=401, error="invalid x-api-key"))
    assert (error.provider_kind, error.retryable) == (K.AUTHENTICATION, False)


@both
async def test_the_key_goes_out_in_the_vendors_header(server_type: Any, connect: Any) -> None:
    async with server_type(Turn(text="x")) as server, connect(server) as provider:
        await run_turn(provider, request_of())
        headers = server.requests[0].headers
    assert KEY in (headers.get("authorization", "") + headers.get("x-api-key", ""))


@both
@pytest.mark.clause("case:H9", "case:H21")
async def test_a_reset_in_the_middle_keeps_what_was_shown(server_type: Any, connect: Any) -> None:
    turn = Turn(text="one two three", disconnect_after=6)
    async with server_type(turn) as server, connect(server) as provider:
        outcome = await run_turn(provider, request_of())
    assert outcome.error is not None
    assert outcome.error.provider_kind is K.UNAVAILABLE
    assert outcome.error.retryable
    assert "127.0.0.1" in outcome.error.message
    assert outcome.text
    assert "one two three".startswith(outcome.text)


@both
@pytest.mark.clause("case:H9")
async def test_a_clean_end_without_end_mark_is_interrupted(server_type: Any, connect: Any) -> None:
    error = await failure(server_type, connect, Turn(text="half", end=False))
    assert error.provider_kind is K.INTERRUPTED
    assert error.retryable


@both
@pytest.mark.clause("APP2.39", "case:H21")
async def test_silence_ends_in_a_retryable_timeout(server_type: Any, connect: Any) -> None:
    turn = Turn(text="then nothing", hold=30)
    error = await failure(server_type, connect, turn, idle_timeout=0.2)
    assert error.provider_kind is K.TIMEOUT
    assert error.retryable
    assert "0.2 seconds" in error.message


@both
@pytest.mark.clause("APP2.39")
async def test_keep_alives_do_not_count_as_life(server_type: Any, connect: Any) -> None:
    turn = Turn(text="then pings", hold=30, keep_alive=0.02)
    error = await failure(server_type, connect, turn, idle_timeout=0.3)
    assert error.provider_kind is K.TIMEOUT


@both
async def test_a_slow_but_living_stream_is_left_alone(server_type: Any, connect: Any) -> None:
    turn = Turn(text="slowly does it", delay=0.05)
    async with server_type(turn) as server, connect(server, idle_timeout=0.4) as provider:
        outcome = await run_turn(provider, request_of())
    assert outcome.text == "slowly does it", outcome.error


async def test_a_slow_consumer_is_not_taken_for_a_silent_server() -> None:
    async with ChatServer(Turn(text="x" * 400)) as server:
        async with chat(server, idle_timeout=0.15) as provider:
            channel: Channel[ObservedEvent] = Channel(1)
            turn = asyncio.create_task(
                provider.send_turn_stream(request_of(), ProviderEvents(channel))
            )
            await channel.receive()
            await asyncio.sleep(0.5)  # the consumer is stuck for longer than the limit
            while not turn.done():
                receiving = asyncio.create_task(channel.receive())
                await asyncio.wait((turn, receiving), return_when=asyncio.FIRST_COMPLETED)
                receiving.cancel()
            response = await turn
    assert response.content[0].text == "x" * 400  # type: ignore[union-attr]


@both
@pytest.mark.clause("C62", "C71")
async def test_cancelling_mid_stream_closes_the_connection_at_once(
    server_type: Any, connect: Any
) -> None:
    token = CancellationToken()
    turn = Turn(text="begin", hold=60)
    async with server_type(turn) as server, connect(server) as provider:
        channel: Channel[ObservedEvent] = Channel(16)
        running = asyncio.create_task(
            provider.send_turn_stream(request_of(cancellation=token), ProviderEvents(channel))
        )
        while not isinstance((await channel.receive()).event, OutputDelta):
            pass
        token.cancel()
        with pytest.raises(Cancelled):
            await asyncio.wait_for(running, 2)
        await asyncio.wait_for(server.requests[0].disconnected.wait(), 2)


@both
@pytest.mark.clause("C71")
async def test_dropping_the_task_closes_the_connection(server_type: Any, connect: Any) -> None:
    async with server_type(Turn(text="begin", hold=60)) as server, connect(server) as provider:
        channel: Channel[ObservedEvent] = Channel(16)
        running = asyncio.create_task(
            provider.send_turn_stream(request_of(), ProviderEvents(channel))
        )
        await channel.receive()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.wait_for(server.requests[0].disconnected.wait(), 2)


@both
async def test_a_consumer_that_is_gone_interrupts(server_type: Any, connect: Any) -> None:
    async with server_type(Turn(text="x" * 400)) as server, connect(server) as provider:
        channel: Channel[ObservedEvent] = Channel(1)
        channel.drop_receiver()
        with pytest.raises(ProviderError, match="consumer was dropped"):
            await provider.send_turn_stream(request_of(), ProviderEvents(channel))


@both
async def test_connections_are_reused_between_turns(server_type: Any, connect: Any) -> None:
    async with server_type(Turn(text="x")) as server, connect(server) as provider:
        for _ in range(3):
            assert (await run_turn(provider, request_of())).text == "x"
        assert server.connections == 1


async def test_a_refused_connection_names_the_host_and_what_to_check() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    provider = OpenAIChatProvider(f"http://127.0.0.1:{port}/v1", KEY, "m")
    outcome = await run_turn(provider, request_of())
    await provider.aclose()
    assert outcome.error is not None
    assert outcome.error.provider_kind is K.UNAVAILABLE
    assert outcome.error.retryable
    assert f"127.0.0.1:{port}" in outcome.error.message
    assert "check that the server is running" in outcome.error.message


async def test_an_unknown_host_is_an_error_of_the_same_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    provider = OpenAIChatProvider("http://nowhere.invalid/v1", KEY, "m")
    outcome = await run_turn(provider, request_of())
    await provider.aclose()
    assert outcome.error is not None
    assert outcome.error.provider_kind is K.UNAVAILABLE
    assert "nowhere.invalid" in outcome.error.message


@both
@pytest.mark.clause("case:H15")
async def test_a_web_page_with_200_is_no_answer(server_type: Any, connect: Any) -> None:
    page = b"<html><title>Welcome to the proxy</title></html>"
    turn = Turn(raw=page, content_type="text/html; charset=utf-8")
    error = await failure(server_type, connect, turn)
    assert error.provider_kind is K.INVALID_RESPONSE
    assert "check the base URL" in error.message


@both
@pytest.mark.parametrize(
    "raw",
    [
        b"data: {nonsense\n\n",
        b"data: \xff\xfe\x00\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
    ],
)
@pytest.mark.clause("case:H21")
async def test_garbage_in_the_stream_is_an_invalid_response(
    server_type: Any, connect: Any, raw: bytes
) -> None:
    error = await failure(server_type, connect, Turn(raw=raw))
    assert error.provider_kind is K.INVALID_RESPONSE
    assert error.retryable


@both
async def test_an_endless_line_is_stopped(
    server_type: Any, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rho_core.providers.sse.SSEParser.__init__.__defaults__", (10_000,))
    error = await failure(server_type, connect, Turn(raw=b"data: " + b"x" * 200_000))
    assert error.provider_kind is K.INVALID_RESPONSE
    assert "larger than 10000 bytes" in error.message


async def test_bytes_one_at_a_time_and_one_character_in_pieces() -> None:
    raw = 'data: {"choices":[{"delta":{"content":"你好😀"}}]}\n\ndata: [DONE]\n\n'.encode()
    async with ChatServer(Turn(raw=raw, raw_chunk=1)) as server, chat(server) as provider:
        outcome = await run_turn(provider, request_of())
    assert outcome.text == "你好😀"


async def _one_answer(head: bytes, body: bytes) -> ProviderError | str:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    provider = OpenAIChatProvider(f"http://127.0.0.1:{port}/v1", KEY, "m")
    outcome = await run_turn(provider, request_of())
    await provider.aclose()
    server.close()
    return outcome.error or outcome.text


@pytest.mark.clause("case:H21")
@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n", b"not gzip"),
        (b"garbage\r\n\r\n", b""),
        (b"", b""),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"zz\r\n"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", b"data: "),
    ],
)
async def test_broken_http_is_a_retryable_failure(head: bytes, body: bytes) -> None:
    error = await _one_answer(head, body)
    assert isinstance(error, ProviderError)
    assert error.provider_kind is K.UNAVAILABLE
    assert error.retryable


async def test_a_compressed_stream_is_read_although_none_was_asked_for() -> None:
    stream = b'data: {"choices":[{"delta":{"content":"ok"}}]}\n\ndata: [DONE]\n\n'
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n"
    assert await _one_answer(head, gzip.compress(stream)) == "ok"


async def test_an_answer_that_ended_is_kept_when_the_line_stays_open() -> None:
    raw = b'data: {"choices":[{"delta":{"content":"all"},"finish_reason":"stop"}]}\n\n'
    async with ChatServer(Turn(raw=raw, hold=30)) as server:
        async with chat(server, idle_timeout=0.2) as provider:
            outcome = await run_turn(provider, request_of())
    assert outcome.error is None
    assert outcome.text == "all"


async def test_a_transport_can_be_closed_and_used_again() -> None:
    async with ChatServer(Turn(text="x")) as server, chat(server) as provider:
        await provider.warm_up()
        await run_turn(provider, request_of())
        await provider.aclose()
        await provider.aclose()
        assert (await run_turn(provider, request_of())).text == "x"


def test_a_remote_server_is_reached_with_checked_certificates() -> None:
    import ssl

    local = HttpTransport("http://127.0.0.1:1/v1", {})._build_pool()
    remote = HttpTransport("https://api.example.test/v1", {})._build_pool()
    for pool in (local, remote):
        context = pool._pool._ssl_context
        assert context is not None
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname
        assert bool(context.get_ca_certs()) is (pool is remote)


def test_importing_the_adapters_loads_no_http_library() -> None:
    code = (
        "import sys\n"
        "import rho_core.providers.anthropic, rho_core.providers.demo\n"
        "import rho_core.providers.openai_chat\n"
        "heavy = {'httpx', 'httpx_sse', 'pydantic', 'textual', 'rich', 'email'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("proxy", ["socks5://u:geheim@127.0.0.1:1", "nonsense://u:geheim@x"])
async def test_an_unusable_proxy_is_named_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    provider = OpenAIChatProvider("https://api.example.test/v1", KEY, "m")
    outcome = await run_turn(provider, request_of())
    await provider.aclose()
    assert outcome.error is not None
    assert not outcome.error.retryable
    assert "HTTPS_PROXY" in outcome.error.message
    assert "geheim" not in f"{outcome.error} {outcome.error.diagnostic}"


async def test_a_local_server_is_reached_without_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with ChatServer(Turn(text="direct")) as server, chat(server) as provider:
        assert (await run_turn(provider, request_of())).text == "direct"


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
async def test_a_remote_server_is_reached_through_the_proxy_of_the_environment(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).decode())
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nnope")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(proxy, "127.0.0.1") as server:
        address = "{}:{}".format(*server.sockets[0].getsockname())
        monkeypatch.setenv(variable, address)
        provider = OpenAIChatProvider("http://model.invalid/v1", KEY, "m")
        outcome = await run_turn(provider, request_of())
        await provider.aclose()
        assert asked == ["POST http://model.invalid/v1/chat/completions HTTP/1.1\r\n"]
        assert outcome.error is not None
        assert outcome.error.provider_kind is K.AUTHENTICATION

        monkeypatch.setenv("NO_PROXY", "localhost,model.invalid")
        direct = OpenAIChatProvider("http://model.invalid/v1", KEY, "m")
        outcome = await run_turn(direct, request_of())
        await direct.aclose()
        assert len(asked) == 1
        assert outcome.error is not None
        assert outcome.error.provider_kind is K.UNAVAILABLE


@both
async def test_a_request_says_who_sends_it_and_whom_it_is_for(
    server_type: Any, connect: Any
) -> None:
    async with server_type(Turn(text="x")) as server, connect(server) as provider:
        await run_turn(provider, request_of())
    headers = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert headers["user-agent"].startswith("rho/")
    assert headers["host"] == provider._transport.host
    assert headers["accept-encoding"] == "identity"


async def test_a_configured_header_takes_the_place_of_our_own() -> None:
    async with ChatServer(Turn(text="x")) as server:
        provider = OpenAIChatProvider(
            server.base_url, KEY, "m", headers={"User-Agent": "gateway/1", "X-Team": "a"}
        )
        await run_turn(provider, request_of())
        await provider.aclose()
    (request,) = server.requests
    assert request.headers["user-agent"] == "gateway/1"
    assert request.headers["x-team"] == "a"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (
            {"a": "\U0001f600\u2028", "b": [1, None, 0.5]},
            b'{"a":"\xf0\x9f\x98\x80\xe2\x80\xa8","b":[1,null,0.5]}',
        ),
        ({"a": "half \ud83d"}, b'{"a":"half ?"}'),
    ],
)
def test_a_body_is_compact_json_that_every_server_can_decode(value: Any, written: bytes) -> None:
    assert encode_body(value) == written


def test_a_deeply_nested_argument_is_no_reason_to_fail() -> None:
    nested: Any = "deep"
    for _ in range(400):
        nested = [nested]
    assert encode_body(nested) == b"[" * 400 + b'"deep"' + b"]" * 400
