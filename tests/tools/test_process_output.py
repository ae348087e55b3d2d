"""What is kept and told of background processes: cursors, bounds, notices (17.8, 17.9, 17.14)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.tools.process.manager import ProcessManager
from rho_core.tools.process.notice import MAX_NOTICE_BYTES
from rho_core.tools.process.output import ProcessOutput
from rho_core.tools.process.tool import ProcessTool
from rho_core.tools.shell.processes import ShellSupervisor
from tests.tools.shell_harness import unique_sleep
from tests.tools.tool_calls import ToolCalls

READS = st.lists(st.tuples(st.sampled_from([0, 1]), st.binary(max_size=40)), max_size=30)


@settings(max_examples=100)
@given(reads=READS, room=st.integers(0, 60), budget=st.integers(1, 400))
@pytest.mark.clause("T17.8", "T17.9", "case:A10")
def test_following_the_cursor_reads_everything_retained_once(
    reads: list[tuple[int, bytes]], room: int, budget: int
) -> None:
    output = ProcessOutput(max_bytes=budget, max_pieces=12)
    fed = (b"", b"")
    for stream, data in reads:
        output.feed(stream, data)
        fed = (fed[0] + data, fed[1]) if stream == 0 else (fed[0], fed[1] + data)
    output.close()
    whole = output.window(0, 1_000_000)
    assert whole.next == output.end
    assert not whole.pending
    expected = [data.decode("utf-8", "replace") for data in fed]
    # what is retained is the end of what was written, decoded as if it had come in one read
    assert expected[0].endswith(whole.stdout)
    assert expected[1].endswith(whole.stderr)
    if whole.first is None:
        assert [whole.stdout, whole.stderr] == expected
    cursor, polls = 0, 0
    while True:
        window = output.window(cursor, room)
        assert window.next > cursor or not window.pending
        cursor = window.next
        polls += 1
        if not window.pending:
            break
    assert cursor == output.end
    assert output.window(cursor, room).stdout == ""
    assert polls <= 13


@pytest.mark.clause("T17.8")
def test_a_piece_larger_than_the_room_is_cut_and_passed() -> None:
    output = ProcessOutput()
    output.feed(0, b"a" * 5_000)
    output.feed(0, b"rest")
    window = output.window(0, 100)
    assert window.stdout == "a" * 100 + "\n[truncated]"
    assert window.pending
    assert output.window(window.next, 100).stdout == "rest"
    assert output.window(99, 100).next == 2  # a cursor from nowhere waits for what comes next


@pytest.mark.clause("T17.9")
def test_retention_counts_raw_bytes_and_pieces() -> None:
    output = ProcessOutput(max_bytes=10, max_pieces=100)
    for _ in range(20):
        output.feed(0, b"\xff")  # one byte, three when it is shown
    assert output.window(0, 1000).stdout == "�" * 10
    few = ProcessOutput(max_bytes=1000, max_pieces=2)
    for letter in b"abcde":
        few.feed(1, bytes([letter]))
    window = few.window(0, 1000)
    assert (window.stderr, window.first) == ("de", 3)
    assert few.tail() == "de"


@pytest.fixture
async def manager() -> AsyncIterator[ProcessManager]:
    supervisor = ShellSupervisor()
    owner = ProcessManager(supervisor)
    yield owner
    await owner.aclose()
    await supervisor.aclose()


async def run_to_end(tool: ProcessTool, manager: ProcessManager, root: Path, command: str) -> str:
    """Start a process that outlasts the start, and wait for its end without looking at it."""
    text = (await ToolCalls(tool, root).run(action="start", command=command)).content
    id = text.split("\n")[0].removeprefix("process_id: ")
    assert "state: running" in text
    process = manager.find(id)
    await manager.wait_for_news(process, 10**9, 10)
    assert not process.is_live
    return id


@pytest.mark.clause("T17.14")
async def test_an_unseen_end_is_told_once_and_again_after_a_failed_delivery(
    manager: ProcessManager, tmp_path: Path
) -> None:
    tool, other = ProcessTool(manager), ProcessTool(manager)
    id = await run_to_end(tool, manager, tmp_path, "sleep 0.6; echo result; exit 4")
    assert other.take_notice() is None  # another conversation's process
    notice = tool.take_notice()
    assert notice is not None
    assert f"- {id} exited, exit code 4: sleep 0.6; echo result; exit 4" in notice.text
    assert f"output of {id}:\nresult" in notice.text
    assert tool.take_notice() is None
    notice.restore()
    again = tool.take_notice()
    assert again is not None
    assert again.text == notice.text


@pytest.mark.clause("T17.14")
async def test_a_poll_that_saw_the_end_and_a_running_process_need_no_notice(
    manager: ProcessManager, tmp_path: Path
) -> None:
    tool = ProcessTool(manager)
    calls = ToolCalls(tool, tmp_path)
    seen = await run_to_end(tool, manager, tmp_path, "sleep 0.6")
    await calls.run(action="poll", process_id=seen)
    await calls.run(action="start", command=unique_sleep())
    await calls.run(action="start", command="exit 9")  # start itself said how it ended
    assert tool.take_notice() is None


@pytest.mark.clause("T17.14")
async def test_a_notice_is_bounded_and_names_every_process(
    manager: ProcessManager, tmp_path: Path
) -> None:
    tool = ProcessTool(manager)
    commands = [f"sleep 0.6; head -c 6000 /dev/zero | tr '\\0' {letter}" for letter in "abcdef"]
    ids = await asyncio.gather(
        *(run_to_end(tool, manager, tmp_path, command) for command in commands)
    )
    notice = tool.take_notice()
    assert notice is not None
    assert len(notice.text.encode()) <= MAX_NOTICE_BYTES
    assert all(f"- {id} exited: sleep 0.6" in notice.text for id in ids)
    assert any(letter * 100 in notice.text for letter in "abcdef")
    assert "more can be read with process poll]" in notice.text
