"""Who owns shell processes: nothing survives the host, however it ends (16.11, A6, A8, A17)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from rho_core.authority.capabilities import ProcessEnvironment
from rho_core.cancellation import CancellationToken
from rho_core.tools.shell.processes import ShellSupervisor, ShellUnavailable
from rho_core.tools.shell.run import ShellResult, run_shell, shell_execution
from tests.tools.shell_harness import is_alive, runs, unique_sleep, wait_until


async def run(
    supervisor: ShellSupervisor, command: str, cwd: Path, **options: object
) -> ShellResult:
    execution = shell_execution(
        command, cwd=cwd, environment=ProcessEnvironment(), max_output_bytes=10_000
    )
    return await run_shell(execution, supervisor, **options)  # type: ignore[arg-type]


_HOST = """
import asyncio, sys
from pathlib import Path
from rho_core.authority.capabilities import ProcessEnvironment
from rho_core.tools.shell.processes import ShellSupervisor
from rho_core.tools.shell.run import run_shell, shell_execution

async def show(text):
    print(text, flush=True)

async def main():
    execution = shell_execution(
        sys.argv[1], cwd=Path.cwd(), environment=ProcessEnvironment(), max_output_bytes=10_000
    )
    SHUTDOWN
    await run_shell(execution, ShellSupervisor(), on_output=show)

asyncio.run(main())
"""


def start_host(command: str, cwd: Path, shutdown: str = "") -> subprocess.Popen[str]:
    """A separate Python that runs `command` as a host would; returns once output arrived."""
    host = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_HOST).replace("SHUTDOWN", shutdown), command],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert host.stdout is not None
    assert host.stdout.readline() == "up\n"
    return host


@pytest.mark.clause("T16.11")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_host_that_dies_takes_all_commands_with_it(
    number: signal.Signals, tmp_path: Path
) -> None:
    sleep = unique_sleep()
    host = start_host(f"{sleep} & setsid {sleep} & echo up; {sleep}", tmp_path)
    descendants = psutil.Process(host.pid).children(recursive=True)
    assert len(descendants) >= 4  # helper, supervisor, shell and what the shell started
    assert is_alive(sleep)
    host.send_signal(number)
    host.communicate(timeout=10)
    assert wait_until(lambda: not any(runs(process) for process in descendants))
    assert not is_alive(sleep)


@pytest.mark.clause("T16.11")
def test_a_loop_that_ends_early_takes_all_commands_with_it(tmp_path: Path) -> None:
    sleep = unique_sleep()
    shutdown = "asyncio.get_running_loop().call_later(1.0, asyncio.current_task().cancel)"
    host = start_host(f"echo up; {sleep} & {sleep}", tmp_path, shutdown)
    host.communicate(timeout=10)
    assert not is_alive(sleep)


@pytest.mark.clause("T16.11")
async def test_closing_the_owner_ends_what_runs_and_refuses_more(tmp_path: Path) -> None:
    supervisor = ShellSupervisor()
    sleep = unique_sleep()
    up = asyncio.Event()

    async def on_output(_text: str) -> None:
        up.set()

    running = asyncio.create_task(
        run(supervisor, f"{sleep} & echo up; {sleep}", tmp_path, on_output=on_output)
    )
    await asyncio.wait_for(up.wait(), 10)
    started = time.monotonic()
    await supervisor.aclose()
    assert time.monotonic() - started < 1.5
    assert not is_alive(sleep)
    result = await running
    assert result.exit.was_stopped
    assert not result.was_cancelled
    with pytest.raises(ShellUnavailable, match="shut down"):
        await run(supervisor, "echo hi", tmp_path)
    await supervisor.aclose()


@pytest.mark.clause("T16.11")
async def test_kill_all_returns_at_once_from_any_thread(tmp_path: Path) -> None:
    supervisor = ShellSupervisor()
    sleep = unique_sleep()
    runs = [asyncio.create_task(run(supervisor, f"{sleep} & {sleep}", tmp_path)) for _ in range(3)]
    assert await asyncio.to_thread(wait_until, lambda: is_alive(sleep))
    thread = threading.Thread(target=supervisor.kill_all)
    thread.start()
    thread.join(0.5)
    assert not thread.is_alive()
    results = await asyncio.wait_for(asyncio.gather(*runs), 5)
    assert all(result.exit.was_stopped for result in results)
    assert not is_alive(sleep)
    again = await run(supervisor, "echo again", tmp_path)
    assert again.output.stdout.head() == "again\n"
    await supervisor.aclose()


@pytest.mark.clause("T16.13")
async def test_commands_run_side_by_side_and_are_cancelled_one_by_one(tmp_path: Path) -> None:
    supervisor = ShellSupervisor()
    token = CancellationToken()
    sleep = unique_sleep()
    cancelled = asyncio.create_task(run(supervisor, sleep, tmp_path, cancellation=token))
    other = asyncio.create_task(run(supervisor, "sleep 0.4; echo done", tmp_path))
    assert await asyncio.to_thread(wait_until, lambda: is_alive(sleep))
    token.cancel()
    assert (await cancelled).was_cancelled
    assert (await other).output.stdout.head() == "done\n"
    await supervisor.aclose()


async def test_a_killed_helper_is_replaced(tmp_path: Path) -> None:
    def helpers() -> set[psutil.Process]:
        children = psutil.Process().children()
        return {c for c in children if any("supervisor_main" in part for part in c.cmdline())}

    others = helpers()  # supervisors of earlier tests that are not collected yet
    supervisor = ShellSupervisor()
    await run(supervisor, "true", tmp_path)
    (helper,) = helpers() - others
    helper.kill()
    psutil.wait_procs([helper], timeout=5)
    result = await run(supervisor, "echo still here", tmp_path)
    assert result.output.stdout.head() == "still here\n"
    await supervisor.aclose()


async def test_a_command_that_kills_its_supervisor_still_ends(tmp_path: Path) -> None:
    supervisor = ShellSupervisor()
    sleep = unique_sleep()
    started = time.monotonic()
    result = await run(supervisor, f"{sleep} & kill -9 $PPID; {sleep}", tmp_path)
    assert time.monotonic() - started < 5
    assert result.exit.exit_code is None
    assert wait_until(lambda: not is_alive(sleep))
    await supervisor.aclose()


@pytest.mark.clause("T16.16")
async def test_a_missing_shell_is_reported(tmp_path: Path) -> None:
    supervisor = ShellSupervisor()
    execution = shell_execution(
        "true",
        cwd=tmp_path,
        environment=ProcessEnvironment(),
        max_output_bytes=100,
        executable="no-such-shell",
    )
    with pytest.raises(ShellUnavailable, match="no-such-shell: No such file"):
        await run_shell(execution, supervisor)
    with pytest.raises(ShellUnavailable, match="working directory"):
        await run(supervisor, "true", tmp_path / "gone")
    await supervisor.aclose()


async def test_no_descriptor_of_the_host_leaks_into_a_command(tmp_path: Path) -> None:
    supervisor = ShellSupervisor()
    other = asyncio.create_task(run(supervisor, "sleep 0.3", tmp_path))
    result = await run(supervisor, "ls /proc/self/fd", tmp_path)
    # 0, 1, 2 and the folder that `ls` reads
    assert result.output.stdout.head().split() == ["0", "1", "2", "3"]
    await other
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(5):
        await run(supervisor, "echo x", tmp_path)
    assert len(os.listdir("/proc/self/fd")) <= descriptors  # noqa: PTH208
    await supervisor.aclose()


@pytest.mark.clause("case:A8", "T16.7")
async def test_a_flood_of_output_stays_in_bounded_memory(tmp_path: Path) -> None:
    supervisor = ShellSupervisor()
    spill = tmp_path / "spill"
    process = psutil.Process()
    received = 0

    async def on_output(text: str) -> None:
        nonlocal received
        received += len(text)

    await run(supervisor, "true", tmp_path)
    before = process.memory_info().rss
    peak = 0

    async def sample() -> None:
        nonlocal peak
        while True:
            peak = max(peak, process.memory_info().rss)
            await asyncio.sleep(0.01)

    sampling = asyncio.create_task(sample())
    result = await run(
        supervisor, "timeout 1 yes ab", tmp_path, on_output=on_output, spill_folder=spill
    )
    sampling.cancel()
    assert result.output.stdout.total > 20_000_000
    assert peak - before < 30_000_000
    assert received < 40 * 60_000
    assert result.output.stdout.head().startswith("ab\nab\n")
    assert result.output.stdout.tail().endswith("ab\n")
    assert result.output.spill is not None
    assert result.output.spill.is_truncated
    assert result.output.spill.path is not None
    assert result.output.spill.path.stat().st_size == result.output.spill.size <= 32 * 1024 * 1024
    await supervisor.aclose()
