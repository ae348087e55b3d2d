"""Run a scripted server as a process: `python -m tests.servers chat --scenario FILE`.

Prints one JSON line with `base_url` and `port` once it listens, and serves until it is killed or
its standard input closes (with `--until-stdin-closes`). `--record FILE` appends every request
body as a JSON line.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
from pathlib import Path

from tests.servers.anthropic_server import AnthropicServer
from tests.servers.chat_server import ChatServer
from tests.servers.model_server import ModelServer
from tests.servers.scenario import Scenario, Turn

_KINDS: dict[str, type[ModelServer]] = {"chat": ChatServer, "anthropic": AnthropicServer}


def main() -> None:
    """Parse the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers")
    parser.add_argument("kind", choices=sorted(_KINDS))
    parser.add_argument("--scenario", type=Path, help="a JSON file, see tests/servers/scenario.py")
    parser.add_argument("--text", default="Hello from the scripted server.", help="without one")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--until-stdin-closes", action="store_true")
    options = parser.parse_args()
    scenario = (
        Scenario.load(options.scenario)
        if options.scenario
        else Scenario.of(Turn(text=options.text))
    )
    server = _KINDS[options.kind](scenario, port=options.port)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(server, options.record, options.until_stdin_closes))


async def _serve(server: ModelServer, record: Path | None, until_stdin_closes: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    if until_stdin_closes:
        loop.add_reader(sys.stdin, lambda: sys.stdin.buffer.raw.read(4096) or stop.set())
    async with server:
        sys.stdout.write(json.dumps({"base_url": server.base_url, "port": server.port}) + "\n")
        sys.stdout.flush()
        recording = asyncio.create_task(_record(server, record)) if record else None
        await stop.wait()
        if recording is not None:
            recording.cancel()


async def _record(server: ModelServer, path: Path) -> None:
    number = 0
    while True:
        request = await server.request(number, timeout=1e9)
        with path.open("ab") as file:
            file.write(request.raw + b"\n")
        number += 1


if __name__ == "__main__":
    main()
