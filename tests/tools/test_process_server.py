"""A real development server under `process`, and hosts that die in every way (17.13, A6, A17)."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rho_core.tools.process.manager import ProcessManager
from rho_core.tools.process.tool import ProcessTool
from rho_core.tools.shell.processes import ShellSupervisor
from tests.tools.shell_harness import is_alive, unique_sleep, wait_until
from tests.tools.tool_calls import ToolCalls


@pytest.fixture
async def manager() -> AsyncIterator[ProcessManager]:
    supervisor = ShellSupervisor()
    owner = ProcessManager(supervisor)
    yield owner
    await owner.aclose()
    await supervisor.aclose()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=5) as reply:
        data: bytes = reply.read()
        return data


def fields_of(text: str) -> dict[str, str]:
    head = text.split("\n\n", 1)[0]
    return dict(line.partition(": ")[::2] for line in head.split("\n"))


@pytest.mark.clause("T17.1", "T17.6", "T17.8", "T17.11", "T17.14")
async def test_a_dev_server_is_started_followed_used_and_stopped(
    manager: ProcessManager, tmp_path: Path
) -> None:
    (tmp_path / "page.txt").write_text("served by a real server")
    port = free_port()
    tool = ProcessTool(manager)
    calls = ToolCalls(tool, tmp_path)
    text = (
        await calls.run(
            action="start",
            command=f"{sys.executable} -u -m http.server {port} --bind 127.0.0.1",
        )
    ).content
    id, cursor, seen = fields_of(text)["process_id"], int(fields_of(text)["next"]), text
    deadline = time.monotonic() + 20
    while f"port {port}" not in seen and time.monotonic() < deadline:
        text = (
            await calls.run(action="poll", process_id=id, cursor=cursor, wait_seconds=5)
        ).content
        cursor, seen = int(fields_of(text)["next"]), seen + text
    url = f"http://127.0.0.1:{port}/page.txt"
    assert await asyncio.to_thread(fetch, url) == b"served by a real server"
    text = (await calls.run(action="poll", process_id=id, cursor=cursor, wait_seconds=5)).content
    assert "GET /page.txt" in text
    assert f"port {port}" not in text  # nothing is repeated
    assert [one.id for one in manager.live()] == [id]
    assert "GET /page.txt" in manager.live()[0].tail
    await calls.run(action="stop", process_id=id)
    await manager.wait_for_news(manager.find(id), 10**9, 10)
    with pytest.raises(urllib.error.URLError):
        await asyncio.to_thread(fetch, url)
    notice = tool.take_notice()
    assert notice is not None
    assert f"{id} terminated" in notice.text


_HOST = """
import asyncio, os
from pathlib import Path
from rho_core.authority.capabilities import ProcessEnvironment
from rho_core.tools.process.manager import ProcessManager
from rho_core.tools.shell.processes import ShellSupervisor
from rho_core.tools.shell.run import shell_execution

async def main():
    supervisor = ShellSupervisor()
    manager = ProcessManager(supervisor)
    execution = shell_execution(
        os.environ["COMMAND"],
        cwd=Path.cwd(),
        environment=ProcessEnvironment(),
        max_output_bytes=10_000,
    )
    process = await manager.start(execution)
    await manager.wait_for_news(process, 0, 10)
    print("up", flush=True)
    END

asyncio.run(main())
"""


@pytest.mark.clause("T17.13", "case:A6", "case:A17")
@pytest.mark.parametrize(
    ("end", "number"),
    [
        ("await asyncio.sleep(60)", signal.SIGKILL),
        ("await asyncio.sleep(60)", signal.SIGHUP),
        ("manager.kill_all(); await asyncio.sleep(60)", None),
        ("await supervisor.aclose()", None),
        ("await manager.aclose()", None),
        ("return", None),
    ],
    ids=["kill -9", "hangup", "kill_all", "supervisor closed", "closed", "dropped"],
)
def test_however_the_host_ends_nothing_is_left(
    tmp_path: Path, end: str, number: signal.Signals | None
) -> None:
    sleep = unique_sleep(294)
    host = subprocess.Popen(
        [sys.executable, "-c", _HOST.replace("END", end)],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            # not among the arguments, where it would look like the process itself
            "COMMAND": f"echo up; setsid {sleep} & {sleep}",
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert host.stdout is not None
        assert host.stdout.readline() == "up\n"
        if number is not None:
            assert is_alive(sleep)
            host.send_signal(number)
        assert wait_until(lambda: not is_alive(sleep))
    finally:
        host.kill()
        host.wait()
        if host.stdout is not None:
            host.stdout.close()
