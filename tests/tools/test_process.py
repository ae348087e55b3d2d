"""`process`: actions, states, cursors and limits of background processes (section 17)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rho_core.authority.capabilities import CapabilityKind, ExecuteProcess, ProcessEnvironment
from rho_core.errors import ToolErrorKind
from rho_core.tooling.contract import ToolExecutionPolicy
from rho_core.tooling.resources import AccessMode, ManagedProcess
from rho_core.tools.process.manager import ProcessManager
from rho_core.tools.process.tool import ProcessTool
from rho_core.tools.shell.processes import ShellSupervisor
from rho_core.tools.shell.tool import BashTool
from tests.tools.shell_harness import is_alive, unique_sleep, wait_until
from tests.tools.tool_calls import ToolCalls


@pytest.fixture
async def supervisor() -> AsyncIterator[ShellSupervisor]:
    owner = ShellSupervisor()
    yield owner
    await owner.aclose()


@pytest.fixture
async def manager(supervisor: ShellSupervisor) -> AsyncIterator[ProcessManager]:
    owner = ProcessManager(supervisor)
    yield owner
    await owner.aclose()


@pytest.fixture
def process(manager: ProcessManager, tmp_path: Path) -> ToolCalls:
    return ToolCalls(ProcessTool(manager), tmp_path)


def fields_of(text: str) -> dict[str, str]:
    head = text.split("\n\n", 1)[0]
    return dict(line.partition(": ")[::2] for line in head.split("\n"))


async def started(process: ToolCalls, command: str, **options: Any) -> str:
    return fields_of((await process.run(action="start", command=command, **options)).content)[
        "process_id"
    ]


async def end_of(process: ToolCalls, id: str, seconds: float = 8.0) -> str:
    """The text of the first poll that sees the end."""
    deadline = time.monotonic() + seconds
    cursor = 0
    while time.monotonic() < deadline:
        text = (
            await process.run(action="poll", process_id=id, cursor=cursor, wait_seconds=1)
        ).content
        if fields_of(text)["state"] not in ("running", "starting"):
            return (await process.run(action="poll", process_id=id)).content
        cursor = int(fields_of(text)["next"])
    raise AssertionError("the process did not end")


@pytest.mark.clause("T17.2", "T2.13")
async def test_actions_declare_their_authority_and_resources(process: ToolCalls) -> None:
    start = await process.prepare(action="start", command="echo 'a b'", timeout_seconds=9)
    assert start.policy is ToolExecutionPolicy.EXCLUSIVE
    (request,) = start.capabilities
    assert isinstance(request.operation, ExecuteProcess)
    assert request.source_name == "process"
    assert request.operation.execution.shell_command == "echo 'a b'"
    assert request.operation.execution.limits.timeout_seconds == 9
    assert process.workspace is not None
    assert request.operation.execution.working_directory == process.workspace.root
    for action, mode in (("poll", AccessMode.SHARED), ("stop", AccessMode.EXCLUSIVE)):
        plan = await process.prepare(action=action, process_id="x")
        assert plan.policy is ToolExecutionPolicy.RESOURCE_AWARE
        assert plan.capabilities == ()
        (access,) = plan.accesses
        assert (access.resource, access.mode) == (ManagedProcess("x"), mode)
    assert process.tool.security().classes == (CapabilityKind.PROCESS,)


@pytest.mark.clause("T17.1", "T2.3", "T30.9")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "missing key 'action'"),
        ({"action": "write", "process_id": "x"}, "start, poll, stop"),
        ({"action": "start"}, "start needs 'command'"),
        ({"action": "start", "command": "ls", "timeout_seconds": 0}, "greater than zero"),
        ({"action": "start", "command": "a\0b"}, "NUL"),
        ({"action": "start", "command": "ls", "process_id": "x"}, "does not take 'process_id'"),
        ({"action": "poll"}, "poll needs 'process_id'"),
        ({"action": "poll", "process_id": "x", "wait_seconds": 31}, "between 0 and 30"),
        ({"action": "poll", "process_id": "x", "wait_seconds": True}, "wait_seconds"),
        ({"action": "poll", "process_id": "x", "cursor": -1}, "cursor"),
        ({"action": "stop"}, "stop needs 'process_id'"),
        ({"action": "stop", "process_id": "x", "cursor": 2}, "does not take 'cursor'"),
        ({"action": "poll", "process_id": "x", "cwd": "/"}, "unknown key 'cwd'"),
    ],
)
async def test_bad_arguments_start_nothing(
    process: ToolCalls, manager: ProcessManager, arguments: dict[str, object], said: str
) -> None:
    error = await process.fail(**arguments)
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert said in error.message
    assert manager.live() == []


@pytest.mark.clause("T2.9", "T2.10", "T17.3")
async def test_without_workspace_or_when_cancelled_nothing_starts(
    process: ToolCalls, manager: ProcessManager
) -> None:
    homeless = ToolCalls(process.tool, None)
    assert "workspace is required" in (await homeless.fail(action="start", command="ls")).message
    plan = await process.prepare(action="start", command="sleep 30")
    process.cancellation.cancel()
    with pytest.raises(Exception, match="cancelled"):
        await process.execute(plan)
    assert manager.live() == []


@pytest.mark.clause("T17.6", "T17.7", "T17.5")
async def test_texts_of_an_end_with_and_without_a_code(process: ToolCalls) -> None:
    id = await started(process, "echo out; echo err >&2")
    text = await end_of(process, id)
    cursor = fields_of(text)["next"]
    assert text == (
        f"process_id: {id}\nstate: exited\nnext: {cursor}\n\nstdout:\nout\nstderr:\nerr"
    )
    again = await process.run(action="poll", process_id=id, cursor=int(cursor))
    assert again.content == f"process_id: {id}\nstate: exited\nnext: {cursor}"
    bad = await process.run(action="start", command="exit 3")
    assert "\nstate: exited\nnext: 0\nexit: 3" in bad.content  # ended at once: start says so
    assert bad.metadata.details["exit_code"] == 3
    over = await process.fail(action="stop", process_id=id)
    assert over.message == "process has exited"
    unknown = await process.fail(action="poll", process_id="nobody")
    assert (unknown.tool_kind, unknown.message) == (ToolErrorKind.EXECUTION, "unknown process_id")


@pytest.mark.clause("T17.5")
async def test_a_process_that_cannot_start_is_a_result_with_the_reason(
    supervisor: ShellSupervisor, manager: ProcessManager, tmp_path: Path
) -> None:
    from rho_core.authority.capabilities import (
        ExecutableSelection,
        ProcessExecution,
        ProcessLimits,
        ShellInvocation,
    )

    invocation = ShellInvocation("/no/such/shell", ExecutableSelection.EXACT_PATH, ("-c",), "x")
    execution = ProcessExecution(
        tmp_path, invocation, ProcessEnvironment(), ProcessLimits(1000, None)
    )
    process = await manager.start(execution)
    assert process.status.state == "failed_to_start"
    assert "/no/such/shell: No such file" in process.status.detail


@pytest.mark.clause("T17.4", "case:A1", "case:A2")
async def test_stdin_is_at_its_end_and_there_is_no_terminal(process: ToolCalls) -> None:
    id = await started(process, "cat; (: </dev/tty) 2>/dev/null; echo rc=$?")
    assert "rc=1" in await end_of(process, id)


@pytest.mark.clause("case:A16", "T16.6")
async def test_credentials_do_not_reach_the_process(
    manager: ProcessManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_API_KEY", "sk-test-123")
    monkeypatch.setenv("OTHER_VALUE", "stays")
    environment = ProcessEnvironment.inherit_except(["FAKE_API_KEY"])
    process = ToolCalls(ProcessTool(manager, environment=environment), tmp_path)
    text = await end_of(process, await started(process, "env"))
    assert "sk-test" not in text
    assert "OTHER_VALUE=stays" in text


@pytest.mark.clause("T17.8")
async def test_a_waiting_poll_returns_with_the_first_output_and_goes_on_from_its_cursor(
    process: ToolCalls, tmp_path: Path
) -> None:
    id = await started(
        process, "until [ -e go ]; do sleep 0.02; done; echo first; until [ -e on ]; do sleep 0.02;"
        " done; echo second"
    )  # fmt: skip
    waiting = asyncio.create_task(process.run(action="poll", process_id=id, wait_seconds=30))
    await asyncio.sleep(0)
    (tmp_path / "go").touch()
    text = (await asyncio.wait_for(waiting, 5)).content
    assert "stdout:\nfirst" in text
    assert fields_of(text)["state"] == "running"
    cursor = int(fields_of(text)["next"])
    now = (await process.run(action="poll", process_id=id, cursor=cursor)).content
    assert "stdout" not in now
    (tmp_path / "on").touch()
    rest = await process.run(action="poll", process_id=id, cursor=cursor, wait_seconds=30)
    assert "stdout:\nsecond" in rest.content
    assert "first" not in rest.content


@pytest.mark.clause("T17.3")
async def test_a_cancelled_poll_leaves_the_process_alone(process: ToolCalls) -> None:
    sleep = unique_sleep()
    id = await started(process, sleep)
    waiting = asyncio.create_task(process.fail(action="poll", process_id=id, wait_seconds=30))
    await asyncio.sleep(0)
    process.cancellation.cancel()
    error = await asyncio.wait_for(waiting, 2)
    assert error.tool_kind is ToolErrorKind.CANCELLED
    assert is_alive(sleep)


@pytest.mark.clause("T17.11", "T17.7", "case:A6")
async def test_stop_is_graceful_first_and_takes_the_descendants(process: ToolCalls) -> None:
    sleep = unique_sleep()
    id = await started(
        process,
        f"trap 'sleep 0.6; echo bye; exit 0' TERM; {sleep} & setsid {sleep} & echo up; wait",
    )
    await process.run(action="poll", process_id=id, wait_seconds=10)
    receipt = await process.run(action="stop", process_id=id)
    assert receipt.content == f"process_id: {id}\nstop requested"
    text = await end_of(process, id)
    assert fields_of(text)["state"] == "terminated"
    assert "exit" not in fields_of(text)
    assert "bye" in text  # it had its moment
    assert wait_until(lambda: not is_alive(sleep))


@pytest.mark.clause("T17.3", "T17.11")
async def test_a_stop_whose_caller_goes_away_is_carried_out_all_the_same(
    process: ToolCalls,
) -> None:
    sleep = unique_sleep()
    id = await started(process, f"trap '' TERM; echo up; {sleep}; {sleep}")
    await process.run(action="poll", process_id=id, wait_seconds=10)
    plan = await process.prepare(action="stop", process_id=id)
    stopping = asyncio.create_task(process.execute(plan))
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.wait([stopping], timeout=2)
    assert fields_of(await end_of(process, id))["state"] == "terminated"
    assert not is_alive(sleep)


@pytest.mark.clause("T17.11")
async def test_stop_kills_what_ignores_it(process: ToolCalls) -> None:
    sleep = unique_sleep()
    id = await started(process, f"trap '' TERM; echo up; {sleep}; {sleep}")
    await process.run(action="poll", process_id=id, wait_seconds=10)
    began = time.monotonic()
    await process.run(action="stop", process_id=id)
    assert time.monotonic() - began < 1  # the receipt does not wait for it
    assert fields_of(await end_of(process, id))["state"] == "terminated"
    assert 1.5 < time.monotonic() - began < 5
    assert not is_alive(sleep)


@pytest.mark.clause("T17.5", "T17.11", "case:A6")
async def test_a_timeout_is_a_state_of_its_own(process: ToolCalls) -> None:
    sleep = unique_sleep()
    id = await started(process, f"echo partial; bash -c '{sleep} & {sleep}'", timeout_seconds=1)
    text = await end_of(process, id)
    assert fields_of(text)["state"] == "timed_out"
    assert "partial" in text
    assert wait_until(lambda: not is_alive(sleep))


@pytest.mark.clause("T17.12")
async def test_what_the_leader_leaves_ends_with_it_and_all_output_is_there(
    process: ToolCalls,
) -> None:
    sleep = unique_sleep()
    id = await started(process, f"setsid {sleep} & head -c 1000000 /dev/zero | tr '\\0' x")
    await end_of(process, id)
    assert not is_alive(sleep)
    cursor, total = 0, 0
    while True:
        text = (await process.run(action="poll", process_id=id, cursor=cursor)).content
        fields = fields_of(text)
        total += text.partition("stdout:\n")[2].count("x")
        cursor = int(fields["next"])
        if "pending" not in fields:
            break
    assert total == 1_000_000
    assert "background were stopped" in fields["detail"]


@pytest.mark.clause("case:A10", "case:A11", "case:A12")
async def test_torn_characters_and_control_sequences_come_as_plain_text(
    process: ToolCalls,
) -> None:
    id = await started(
        process,
        r"printf '\xe6\xbc'; sleep 0.1; printf '\xa2\n\033[2J\033[31mred\033[0m a\0b\n\xf0ok\n'",
    )
    text = await end_of(process, id)
    assert "漢\nred ab\n�ok" in text
    assert "\x1b" not in text


@pytest.mark.clause("case:A8", "T17.9", "T30.9")
async def test_a_flood_is_bounded_and_says_what_is_gone(
    supervisor: ShellSupervisor, tmp_path: Path
) -> None:
    manager = ProcessManager(supervisor, retained_bytes=40_000)
    process = ToolCalls(ProcessTool(manager), tmp_path)
    id = await started(process, "seq 1 200000; echo the end")
    record = manager.find(id)
    assert await asyncio.to_thread(record.join, 10)
    text = await end_of(process, id)
    first = int(fields_of(text)["truncated"].removeprefix("first="))
    assert first > 0
    assert text.endswith("the end")
    assert len(text) < 60_000
    assert record.output.end - first <= 8_192
    await manager.aclose()


@pytest.mark.clause("T17.10")
async def test_the_limit_of_live_processes_holds_under_concurrent_starts(
    supervisor: ShellSupervisor, tmp_path: Path
) -> None:
    manager = ProcessManager(supervisor, max_live=3)
    process = ToolCalls(ProcessTool(manager), tmp_path)
    sleep = unique_sleep()
    plans = [await process.prepare(action="start", command=sleep) for _ in range(8)]
    results = await asyncio.gather(
        *(process.execute(plan) for plan in plans), return_exceptions=True
    )
    failures = [str(result) for result in results if isinstance(result, Exception)]
    assert len(failures) == 5
    assert all("live process limit reached" in failure for failure in failures)
    live = manager.live()
    assert [one.command for one in live] == [sleep] * 3
    running = live[0].id
    assert live == sorted(live, key=lambda one: -one.seconds)  # oldest first
    await manager.aclose()
    assert manager.live() == []
    assert not is_alive(sleep)
    ended = (await process.run(action="poll", process_id=running)).content
    assert fields_of(ended)["state"] == "terminated"
    error = await process.fail(action="start", command="ls")
    assert "shut down" in error.message


@pytest.mark.clause("T17.10")
async def test_old_records_are_dropped_at_the_next_start(
    supervisor: ShellSupervisor, tmp_path: Path
) -> None:
    now = [0.0]
    manager = ProcessManager(supervisor, max_records=3, clock=lambda: now[0])
    process = ToolCalls(ProcessTool(manager), tmp_path)
    ids = [await started(process, "true") for _ in range(4)]
    assert (await process.fail(action="poll", process_id=ids[0])).message == "unknown process_id"
    for id in ids[1:]:
        await process.run(action="poll", process_id=id)
    now[0] = 31 * 60.0
    await started(process, "true")
    for id in ids:
        assert "unknown" in (await process.fail(action="poll", process_id=id)).message


@pytest.mark.clause("T17.3")
async def test_polls_and_a_stop_at_the_same_time_all_return(process: ToolCalls) -> None:
    id = await started(process, unique_sleep())
    polls = [
        asyncio.create_task(process.run(action="poll", process_id=id, wait_seconds=20))
        for _ in range(20)
    ]
    await asyncio.sleep(0)
    await process.run(action="stop", process_id=id)
    texts = [output.content for output in await asyncio.wait_for(asyncio.gather(*polls), 6)]
    assert {fields_of(text)["state"] for text in texts} == {"terminated"}


@pytest.mark.clause("T16.11", "case:A4")
async def test_bash_names_the_process_tool_when_it_stopped_what_was_left(
    supervisor: ShellSupervisor, tmp_path: Path
) -> None:
    bash = BashTool(supervisor=supervisor, has_process_tool=True)
    assert "process tool" in bash.spec().description
    assert "left in the background" not in bash.spec().description
    output = await ToolCalls(bash, tmp_path).run(command=f"{unique_sleep()} & echo hi")
    assert "stopped when the command ended; use the process tool" in output.content
    alone = BashTool(supervisor=supervisor)
    assert "process tool" not in alone.spec().description
