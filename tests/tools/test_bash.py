"""`bash`: arguments, declared authority, output, exit codes and limits (section 16)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rho_core.authority.capabilities import (
    CapabilityKind,
    ExecuteProcess,
    ProcessEnvironment,
    ShellInvocation,
)
from rho_core.channels import Channel
from rho_core.errors import ToolErrorKind
from rho_core.tooling.contract import ToolExecutionPolicy
from rho_core.tools.shell.processes import ShellSupervisor
from rho_core.tools.shell.tool import BashTool
from tests.tools.shell_harness import is_alive, unique_sleep
from tests.tools.tool_calls import ToolCalls


@pytest.fixture(scope="module")
def supervisor() -> Iterator[ShellSupervisor]:
    owner = ShellSupervisor()
    yield owner
    asyncio.run(owner.aclose())


@pytest.fixture
def bash(supervisor: ShellSupervisor, tmp_path: Path) -> ToolCalls:
    root = tmp_path / "root"
    root.mkdir()
    return ToolCalls(BashTool(supervisor=supervisor, spill_folder=tmp_path / "spill"), root)


@pytest.fixture
def repository(bash: ToolCalls) -> Path:
    assert bash.workspace is not None
    root = bash.workspace.root
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / "f").write_text("x")
    return root


def stdout_of(text: str) -> str:
    head, _, rest = text.partition("stdout:\n")
    assert not head
    return rest.rpartition("\n\ntime: ")[0]


@pytest.mark.clause("T16.1", "T16.3", "T16.4", "T16.2")
async def test_the_declared_process_is_the_whole_request(bash: ToolCalls) -> None:
    plan = await bash.prepare(command="echo 'a b'; ls", timeout_seconds=7)
    assert plan.policy is ToolExecutionPolicy.EXCLUSIVE
    (request,) = plan.capabilities
    assert isinstance(request.operation, ExecuteProcess)
    execution = request.operation.execution
    assert execution.working_directory == bash.workspace.root
    assert isinstance(execution.invocation, ShellInvocation)
    assert execution.invocation.arguments == ("-c",)
    assert execution.shell_command == "echo 'a b'; ls"
    assert execution.limits.timeout_seconds == 7
    assert "echo" not in repr(request)
    assert bash.tool.security().classes == (CapabilityKind.PROCESS,)


@pytest.mark.clause("T16.1", "T2.3", "T30.9")
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"command": 3},
        {"command": "ls", "timeout_seconds": 0},
        {"command": "ls", "timeout_seconds": -1},
        {"command": "ls", "timeout_seconds": True},
        {"command": "ls", "timeout_seconds": 1.5},
        {"command": "ls", "timeout_seconds": "3"},
        {"command": "ls", "timeout_seconds": 10**30},
        {"command": "ls", "cwd": "/"},
        {"command": "a\0b"},
        {"command": "a\ud800b"},
    ],
)
async def test_bad_arguments_start_nothing(bash: ToolCalls, arguments: dict[str, object]) -> None:
    error = await bash.fail(**arguments)
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS


@pytest.mark.clause("T16.1")
async def test_a_zero_timeout_is_refused_in_words(bash: ToolCalls) -> None:
    error = await bash.fail(command="ls", timeout_seconds=0)
    assert "greater than zero" in error.message


@pytest.mark.clause("T2.9", "T2.10")
async def test_without_workspace_or_when_cancelled_nothing_is_prepared(bash: ToolCalls) -> None:
    homeless = ToolCalls(bash.tool, None)
    assert "workspace is required" in (await homeless.fail(command="ls")).message
    bash.cancellation.cancel()
    assert (await bash.fail(command="ls")).tool_kind is ToolErrorKind.CANCELLED


@pytest.mark.clause("T16.8")
async def test_success_has_labelled_streams_and_a_footer(bash: ToolCalls) -> None:
    output = await bash.run(command="echo out; echo err >&2")
    assert output.content.startswith("stdout:\nout\n\nstderr:\nerr\n\ntime: ")
    assert "exit code" not in output.content
    assert output.metadata.details["exit_code"] == 0
    assert output.metadata.details["timed_out"] is False
    assert output.metadata.details["duration_seconds"] < 5
    silent = await bash.run(command="")
    assert silent.content.startswith("time: ")


@pytest.mark.clause("T16.9")
async def test_failure_is_an_error_with_the_same_text_and_the_code(bash: ToolCalls) -> None:
    error = await bash.fail(command="echo before; exit 3")
    assert error.tool_kind is ToolErrorKind.EXECUTION
    assert error.message.startswith("stdout:\nbefore\n\ntime: ")
    assert error.message.endswith("  exit code: 3")
    assert error.details["exit_code"] == 3
    killed = await bash.fail(command="kill -9 $$")
    assert "exit code: signal" in killed.message


@pytest.mark.clause("case:A1", "T16.5")
async def test_stdin_is_at_its_end(bash: ToolCalls) -> None:
    started = time.monotonic()
    await bash.run(command="cat", timeout_seconds=20)
    output = await bash.run(command="read -p 'name? ' x; echo got:$x")
    assert "got:" in output.content
    assert time.monotonic() - started < 3


@pytest.mark.clause("case:A2")
async def test_there_is_no_terminal_to_open_and_no_editor_to_wait_for(
    bash: ToolCalls, repository: Path
) -> None:
    output = await bash.run(command="(: </dev/tty) 2>/dev/null; echo rc=$?")
    assert "rc=1" in output.content
    started = time.monotonic()
    error = await bash.fail(
        command="git add f && export EDITOR=vi && "
        "git -c user.name=n -c user.email=e@example.org commit"
    )
    assert time.monotonic() - started < 3
    assert "empty commit message" in error.message


@pytest.mark.clause("case:A3")
async def test_a_configured_pager_is_not_run(bash: ToolCalls, repository: Path) -> None:
    with (repository / ".git" / "config").open("a") as config:
        config.write("[core]\n\tpager = sh -c 'cat; read x </dev/tty; sleep 30'\n")
    started = time.monotonic()
    output = await bash.run(
        command="git add f; git -c user.name=n -c user.email=e@example.org commit -qm subject; "
        "git --paginate log --format=%s; echo pager=$PAGER,$GIT_PAGER"
    )
    assert "subject" in output.content
    assert "pager=cat,cat" in output.content
    assert time.monotonic() - started < 5


@pytest.mark.clause("case:A4", "T16.11")
@pytest.mark.parametrize("prefix", ["", "setsid ", "nohup "])
async def test_a_background_child_neither_delays_the_result_nor_survives(
    bash: ToolCalls, prefix: str
) -> None:
    sleep = unique_sleep()
    started = time.monotonic()
    output = await bash.run(command=f"{prefix}{sleep} & echo hi")
    assert time.monotonic() - started < 2
    assert stdout_of(output.content).startswith("hi")
    assert "background processes were stopped" in output.content
    assert output.metadata.details["exit_code"] == 0
    assert not is_alive(sleep)


@pytest.mark.clause("case:A4")
async def test_a_process_that_ends_by_itself_just_after_the_shell_is_heard(bash: ToolCalls) -> None:
    output = await bash.run(command="echo hi > >(sleep 0.05; cat)")
    assert stdout_of(output.content) == "hi"
    assert "stopped" not in output.content


@pytest.mark.clause("case:A6", "T16.12")
async def test_a_timeout_kills_grandchildren_and_keeps_the_output(bash: ToolCalls) -> None:
    sleep = unique_sleep(297)
    started = time.monotonic()
    error = await bash.fail(
        command=f"echo partial; bash -c '{sleep} & setsid {sleep} & {sleep}'; echo x",
        timeout_seconds=1,
    )
    assert time.monotonic() - started < 3
    assert error.message == "command timed out after 1s\n\nstdout:\npartial"
    assert error.details["timed_out"] is True
    assert not is_alive(sleep)


@pytest.mark.clause("case:A6")
async def test_processes_that_ignore_sigterm_die_too(bash: ToolCalls) -> None:
    sleep = unique_sleep()
    error = await bash.fail(
        command=f"trap '' TERM; setsid bash -c \"trap '' TERM; {sleep}; {sleep}\" & "
        f"{sleep}; {sleep}",
        timeout_seconds=1,
    )
    assert error.details["timed_out"] is True
    assert not is_alive(sleep)


@pytest.mark.clause("case:A10", "T16.7")
async def test_bad_bytes_are_replaced_and_torn_characters_are_whole(bash: ToolCalls) -> None:
    output = await bash.run(command=r"printf '\xf0ok\xe9\n'; echo after")
    assert stdout_of(output.content) == "\ufffdok\ufffd\nafter"
    bash.progress = Channel(64)
    torn = await bash.run(command=r"printf '\xe6\xbc'; sleep 0.3; printf '\xa2\n'")
    assert stdout_of(torn.content) == "漢"
    live = ""
    while (progress := bash.progress.try_receive()) is not None:
        live += progress.output_delta or ""
    assert live == "漢\n"


@pytest.mark.clause("case:A11", "case:A12")
async def test_control_sequences_do_not_reach_the_model(bash: ToolCalls) -> None:
    output = await bash.run(
        command=r"printf '\033[2J\033[H\033[31mred\033[0m\033[?1003h\033]0;x\007 done\n'"
    )
    assert stdout_of(output.content) == "red done"
    drawn = await bash.run(command=r"printf 'a\0b\r1%%\r50%%\r100%%\nok\b\bOK\n'")
    assert stdout_of(drawn.content) == "100%\nOK"


@pytest.mark.clause("case:A13")
async def test_every_command_starts_in_the_root(bash: ToolCalls) -> None:
    await bash.run(command="mkdir d && cd d")
    await bash.run(command="rmdir d")
    output = await bash.run(command="pwd")
    assert stdout_of(output.content) == str(bash.workspace.root)


@pytest.mark.clause("T16.4")
async def test_a_root_that_vanished_is_denied_before_anything_starts(bash: ToolCalls) -> None:
    plan = await bash.prepare(command="touch /tmp/should-not-exist-$$")
    bash.workspace.root.rmdir()
    with pytest.raises(Exception, match="working directory") as caught:
        await bash.execute(plan)
    assert caught.value.tool_kind is ToolErrorKind.POLICY_DENIED


@pytest.mark.clause("case:A14", "case:A15", "T16.3")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat <<'EOF'\nit's $HOME `x`\nEOF", "it's $HOME `x`"),
        ("cat <<'EOF' && echo ok\nbody\nEOF", "body\nok"),
        ("date >/dev/null | cat; { echo in; false; }; echo rc=$?", "in\nrc=1"),
        ("sh <<'END-1'\nprintf ok | tr o O\nEND-1", "Ok"),
        ("printf '%s' '-n' \"$0\"", "-nbash"),
    ],
)
async def test_the_text_reaches_the_shell_unchanged(
    bash: ToolCalls, command: str, expected: str
) -> None:
    assert stdout_of((await bash.run(command=command)).content) == expected


@pytest.mark.clause("case:A16", "T16.6")
async def test_stripped_variables_reach_neither_the_command_nor_its_parents(
    supervisor: ShellSupervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_API_KEY", "sk-test-123")
    monkeypatch.setenv("OTHER_SETTING", "kept-456")
    stripped = BashTool(
        supervisor=supervisor, environment=ProcessEnvironment.inherit_except(["FAKE_API_KEY"])
    )
    calls = ToolCalls(stripped, tmp_path)
    output = await calls.run(
        command="env | grep -c sk-test; env | grep -c kept-456; "
        "tr '\\0' '\\n' </proc/$PPID/environ | grep -c sk-test; true"
    )
    assert stdout_of(output.content) == "0\n1\n0"


@pytest.mark.clause("T16.6")
async def test_an_empty_environment_still_runs(supervisor: ShellSupervisor, tmp_path: Path) -> None:
    from rho_core.authority.capabilities import EnvironmentMode

    tool = BashTool(
        supervisor=supervisor, environment=ProcessEnvironment(EnvironmentMode.EMPTY, ())
    )
    output = await ToolCalls(tool, tmp_path).run(command="echo home=$HOME")
    assert stdout_of(output.content) == "home="


@pytest.mark.clause("T16.14")
async def test_output_is_live_before_the_command_ends(bash: ToolCalls) -> None:
    bash.progress = Channel(64)
    plan = await bash.prepare(command="echo first; read -t 20 x <>go; echo last")
    go = bash.workspace.root / "go"
    os.mkfifo(go)
    running = asyncio.create_task(bash.execute(plan))
    first = await asyncio.wait_for(bash.progress.receive(), 10)
    assert first.output_delta == "first\n"
    assert not running.done()
    await asyncio.to_thread(go.write_text, "x\n")
    output = await running
    assert stdout_of(output.content) == "first\nlast"
    last = bash.progress.try_receive()
    assert last is not None
    assert last.output_delta == "last\n"


@pytest.mark.clause("T16.7", "T16.10", "T30.4", "T2.20")
async def test_long_output_keeps_both_ends_the_footer_and_a_file(
    supervisor: ShellSupervisor, tmp_path: Path
) -> None:
    tool = BashTool(supervisor=supervisor, max_output_bytes=2_000, spill_folder=tmp_path / "spill")
    error = await ToolCalls(tool, tmp_path).fail(
        command="seq 1 20000; echo problem >&2; seq 1 20000 >&2; echo cause >&2; exit 2"
    )
    assert len(error.message.encode()) <= 2_000
    assert error.message.startswith("stdout:\n1\n2\n")
    assert "\n20000\n\nstderr:\nproblem\n1\n" in error.message
    assert "bytes left out" in error.message
    assert "\ncause\n" in error.message
    assert error.message.endswith("exit code: 2")
    spill = Path(str(error.details["spill_path"]))
    assert str(spill) in error.message
    numbers = "".join(f"{n}\n" for n in range(1, 20_001))
    kept = spill.read_text()
    assert len(kept) == 2 * len(numbers) + len("problem\ncause\n")
    assert sorted(kept.split()) == sorted((numbers * 2 + "problem cause").split())
    assert spill.stat().st_mode & 0o777 == 0o600


@pytest.mark.clause("T16.10")
async def test_short_output_makes_no_file(bash: ToolCalls, tmp_path: Path) -> None:
    output = await bash.run(command="echo hi")
    assert "spill_path" not in output.metadata.details
    assert not (tmp_path / "spill").exists()


@pytest.mark.clause("T16.16")
async def test_a_command_too_long_for_the_system_is_refused_in_words(bash: ToolCalls) -> None:
    error = await bash.fail(command="echo " + "x" * 200_000)
    assert "longer than" in error.message
    assert "file" in error.message


@pytest.mark.clause("T16.13", "case:A17")
async def test_cancellation_ends_everything_within_a_second(bash: ToolCalls) -> None:
    sleep = unique_sleep(295)
    plan = await bash.prepare(command=f"{sleep} & setsid {sleep} & echo up; {sleep}")
    bash.progress = Channel(8)
    running = asyncio.create_task(bash.execute(plan))
    await asyncio.wait_for(bash.progress.receive(), 10)
    started = time.monotonic()
    bash.cancellation.cancel()
    with pytest.raises(Exception, match="tool call cancelled") as caught:
        await running
    assert time.monotonic() - started < 1
    assert caught.value.tool_kind is ToolErrorKind.CANCELLED
    assert not is_alive(sleep)


@pytest.mark.clause("case:A17")
async def test_a_dropped_call_leaves_nothing_and_stays_cancelled(bash: ToolCalls) -> None:
    sleep = unique_sleep(295)
    plan = await bash.prepare(command=f"echo up; {sleep} & {sleep}")
    bash.progress = Channel(8)
    running = asyncio.create_task(bash.execute(plan))
    await asyncio.wait_for(bash.progress.receive(), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_alive(sleep)


@pytest.mark.clause("case:A17")
async def test_a_call_dropped_before_it_started_leaves_nothing(bash: ToolCalls) -> None:
    sleep = unique_sleep(295)
    plan = await bash.prepare(command=sleep)
    for yields in range(6):
        running = asyncio.create_task(bash.execute(plan))
        for _ in range(yields):
            await asyncio.sleep(0.001)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not is_alive(sleep)
