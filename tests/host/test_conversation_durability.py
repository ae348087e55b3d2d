"""What is shown is on disk, whatever happens to the disk, the reader or the process."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rho_core import events as run
from rho_core.errors import SessionBusy
from rho_core.history.messages import (
    History,
    ToolCall,
    ToolResult,
    UserMessage,
    completed_assistant_content,
    text_of,
    tool_calls_of,
)
from rho_core.providers.contract import ModelRequest, ModelResponse, OutputDelta, ProviderEvents
from rho_core.testing import PlannedTool, ScriptedProvider, ScriptedTool, ScriptedTurn
from rho_core.tooling.values import ToolOutput
from rho_tui.host import facts
from rho_tui.host.conversation import Conversation, SessionReadOnly
from rho_tui.host.facts import INTERRUPTED_RESULT, Severity, TurnEndKind
from rho_tui.host.replay import replay
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.file import SessionFile, read_lines
from rho_tui.host.sessions.lease import SessionLease
from rho_tui.host.sessions.recovery import load
from tests.host.conversation_kit import Stage, session_path, until_true

DONE = ScriptedTurn.completed("done")


def calling(*ids: str, tool: str = "look") -> ScriptedTurn:
    return ScriptedTurn.completed("let me", *(ToolCall.of(id, tool, {"id": id}) for id in ids))


def on_disk(folder: Path, kind: type[Any]) -> list[Any]:
    lines = read_lines(session_path(folder))
    return [x.record for x in lines if isinstance(x, r.Line) and isinstance(x.record, kind)]


def calls_on_disk(folder: Path) -> set[str]:
    return {
        call.id
        for record in on_disk(folder, r.MessageAppended)
        for call in tool_calls_of(completed_assistant_content(record.message) or ())
    }


def assert_pairs(history: History) -> None:
    waiting: Counter[str] = Counter()
    for message in history:
        if isinstance(message, ToolResult):
            waiting[message.id] -= 1
            assert waiting[message.id] == 0
        for call in tool_calls_of(completed_assistant_content(message) or ()):
            waiting[call.id] += 1
    assert not any(waiting.values())


@pytest.mark.clause("APP7.5")
async def test_every_promise_of_an_event_is_on_disk_when_it_is_shown(tmp_path: Path) -> None:
    checked: Counter[str] = Counter()

    def react(_conversation: Conversation, event: facts.ConversationEvent) -> None:
        match event:
            case facts.PromptAccepted(text=text):
                prompts = [
                    text_of(record.message.content)
                    for record in on_disk(tmp_path, r.MessageAppended)
                    if record.origin is r.MessageOrigin.PROMPT
                ]
                assert prompts[-1] == text
            case run.ToolProposed(call=call):
                assert call.id in calls_on_disk(tmp_path)
            case run.ToolFinished(call_id=call_id):
                assert call_id in [f.call_id for f in on_disk(tmp_path, r.ToolCallFinished)]
            case facts.TurnEnded(kind=kind):
                assert on_disk(tmp_path, r.TurnCommitted)[-1].kind is kind
            case _:
                return
        checked[type(event).__name__] += 1

    turns = [calling("1", "2"), calling("3"), DONE, DONE]
    stage = Stage(tmp_path, turns, [ScriptedTool("look")])
    async with await stage.new() as conversation:
        await stage.play(conversation, "one", "two", react=react)
    assert checked == {"PromptAccepted": 2, "ToolProposed": 3, "ToolFinished": 3, "TurnEnded": 2}


class WatchingProvider(ScriptedProvider):
    """Looks at the disk whenever it is asked."""

    folder: Path
    prompts: list[int]

    async def send_turn_stream(
        self, request: ModelRequest, events: ProviderEvents
    ) -> ModelResponse:
        written = on_disk(self.folder, r.MessageAppended)
        self.prompts.append(sum(record.origin is r.MessageOrigin.PROMPT for record in written))
        return await super().send_turn_stream(request, events)


async def test_the_prompt_is_on_disk_before_the_provider_is_asked(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    provider = stage.provider = WatchingProvider([DONE, DONE])
    provider.folder, provider.prompts = tmp_path, []
    async with await stage.new() as conversation:
        await stage.play(conversation, "one", "two")
    assert provider.prompts == [1, 2]


async def test_what_the_model_wanted_is_on_disk_before_a_tool_acts(tmp_path: Path) -> None:
    acted: list[bool] = []

    async def execute(invocation: Any, _context: Any) -> ToolOutput:
        acted.append(invocation.id in calls_on_disk(tmp_path))
        return ToolOutput.text("ok")

    stage = Stage(tmp_path, [calling("1", "2"), calling("3"), DONE], [PlannedTool("look", execute)])
    async with await stage.new() as conversation:
        await conversation.send("go")
        await until_true(lambda: not conversation.is_running)  # nobody reads: it goes on alone
    assert acted == [True, True, True]


async def test_a_disk_that_is_full_is_loud_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: SessionFile) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    stage = Stage(tmp_path, [calling("1"), DONE, DONE], [ScriptedTool("look")])
    async with await stage.new() as conversation:
        with monkeypatch.context() as patch:
            patch.setattr(SessionFile, "flush", full)
            ended = await stage.play(conversation, "one")
        assert ended.kind is TurnEndKind.COMPLETED
        assert conversation.unwritten > 0
        [trouble] = [e for e in stage.seen if isinstance(e, facts.Notice)]
        assert trouble.severity is Severity.ERROR
        assert "No space left on device" in trouble.text
        await stage.play(conversation, "two")
        assert conversation.unwritten == 0
        assert any("saved again" in e.text for e in stage.seen if isinstance(e, facts.Notice))
        live = conversation.session.history
    assert load(session_path(tmp_path)).snapshot.history == live


@pytest.mark.skipif(os.name != "posix", reason="a file where the folder should be")
async def test_a_folder_that_cannot_be_made_is_trouble_not_a_crash(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    stage = Stage(blocked / "sessions", [DONE])
    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "one")
        assert ended.kind is TurnEndKind.COMPLETED
    assert any(isinstance(e, facts.Notice) and "cannot be saved" in e.text for e in stage.seen)


@pytest.mark.clause("APP8.10")
async def test_without_a_folder_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stage = Stage(None, [DONE])
    async with await stage.new() as conversation:
        assert (await stage.play(conversation, "one")).text == "done"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.clause("APP7.7")
async def test_a_session_without_a_prompt_leaves_no_file(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "sessions", [])
    async with await stage.new() as conversation:
        conversation.notice("hello")
        conversation.set_title("x")
        await stage.until(conversation, facts.TitleChanged)
    assert not (tmp_path / "sessions").exists()


@pytest.mark.clause("case:G4", "APP7.8")
async def test_a_second_opener_may_only_read(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [DONE, DONE])
    other = Stage(tmp_path, [DONE])
    async with await stage.new() as conversation:
        await stage.play(conversation, "one")
        before = session_path(tmp_path).read_bytes()
        async with await other.resume() as second:
            assert second.read_only
            [opened, *_] = list(second.replay())
            assert isinstance(opened, facts.SessionOpened)
            assert (opened.read_only, opened.holder_pid) == (True, os.getpid())
            with pytest.raises(SessionReadOnly):
                await second.send("mine")
            second.set_title("mine")
        assert session_path(tmp_path).read_bytes() == before
        await stage.play(conversation, "two")
    async with await other.resume() as third:
        assert not third.read_only
        await other.play(third, "three")
    texts = [e.text for e in other.replayed() if isinstance(e, facts.PromptAccepted)]
    assert texts == ["one", "two", "three"]


async def test_a_file_system_without_locks_is_trouble_not_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlockable(_session: Path) -> SessionLease:
        raise OSError(errno.ENOLCK, "No locks available")

    stage = Stage(tmp_path, [DONE, DONE])
    async with await stage.new() as conversation:
        await stage.play(conversation, "one")
    before = session_path(tmp_path).read_bytes()
    monkeypatch.setattr(SessionLease, "acquire", unlockable)
    async with await stage.resume() as again:
        assert not again.read_only
        assert (await stage.play(again, "two")).kind is TurnEndKind.COMPLETED
    assert any(isinstance(e, facts.Notice) and "No locks" in e.text for e in stage.seen)
    assert session_path(tmp_path).read_bytes() == before


async def test_one_turn_at_a_time_and_one_reader(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [ScriptedTurn.hanging()])
    async with await stage.new() as conversation:
        await conversation.send("one")
        with pytest.raises(SessionBusy):
            await conversation.send("two")
        with pytest.raises(SessionBusy):
            conversation.reset()
        await stage.until(conversation, facts.PromptAccepted)
        with pytest.raises(RuntimeError, match="one reader"):
            await anext(aiter(conversation.events()))
        conversation.cancel()
        await stage.until(conversation, facts.TurnEnded)


@pytest.mark.clause("C36", "C63")
async def test_a_reader_that_leaves_cancels_the_run_and_the_turn_is_committed(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, [ScriptedTurn.hanging(OutputDelta("half"))])
    conversation = await stage.new()
    await conversation.send("one")
    await stage.until(conversation, run.AssistantTextDelta)
    await stage.reader.aclose()
    await until_true(lambda: not conversation.is_running)
    await conversation.aclose()
    [commit] = on_disk(tmp_path, r.TurnCommitted)
    assert commit.kind is TurnEndKind.CANCELLED


async def test_a_slow_reader_slows_the_run_and_loses_nothing(tmp_path: Path) -> None:
    deltas = [OutputDelta(f"{n} ") for n in range(3000)]
    stage = Stage(tmp_path, [ScriptedTurn.streaming(deltas)])
    async with await stage.new() as conversation:
        await conversation.send("count")
        for _ in range(300):
            await asyncio.sleep(0)  # ample time to stream it all, if nothing held it back
        assert conversation.is_running
        await stage.until(conversation, facts.TurnEnded)
    text = "".join(e.text for e in stage.seen if isinstance(e, run.AssistantTextDelta))
    assert text == "".join(delta.text for delta in deltas)


async def test_closing_in_the_middle_of_a_turn_commits_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calling("1", tool="slow")], [ScriptedTool("slow", None)])
    conversation = await stage.new()
    await conversation.send("go")
    await stage.until(conversation, run.ToolStarted)
    began = time.monotonic()
    await conversation.aclose()
    await conversation.aclose()
    assert time.monotonic() - began < 2
    stored = load(session_path(tmp_path))
    assert not stored.interrupted
    assert_pairs(stored.snapshot.history)
    assert on_disk(tmp_path, r.TurnCommitted)[-1].kind is TurnEndKind.CANCELLED


async def test_closing_does_not_wait_for_a_tool_that_will_not_stop(tmp_path: Path) -> None:
    async def execute(_invocation: Any, _context: Any) -> ToolOutput:
        await asyncio.sleep(60)
        return ToolOutput.text("late")

    stubborn = PlannedTool("slow", execute, cleanup_timeout=60.0)
    stage = Stage(tmp_path, [calling("1", tool="slow"), DONE], [stubborn])
    conversation = await stage.new()
    await conversation.send("go")
    await stage.until(conversation, run.ToolStarted)
    began = time.monotonic()
    await conversation.aclose()
    assert time.monotonic() - began < 2.5
    assert load(session_path(tmp_path)).interrupted
    async with await stage.resume() as again:
        assert_pairs(again.session.history)
        await stage.play(again, "go on")
        assert [
            str(m) for m in stage.provider.requests[-1].messages if INTERRUPTED_RESULT in str(m)
        ]


CHILD = """
import asyncio, sys
from pathlib import Path
from rho_core.testing import ScriptedTool, ScriptedTurn
from rho_core.history.messages import ToolCall
from tests.host.conversation_kit import Stage

async def main() -> None:
    calls = [ToolCall.of("a", "look", {}), ToolCall.of("b", sys.argv[2], {})]
    turns = [ScriptedTurn.completed("first"), ScriptedTurn.completed("let me", *calls),
             ScriptedTurn.hanging()]
    stage = Stage(Path(sys.argv[1]), turns, [ScriptedTool("look"), ScriptedTool("slow", None)])
    conversation = await stage.new()
    await stage.play(conversation, "one")
    await conversation.send("two")
    async for event in stage.reader:
        sys.stdout.write(type(event).__name__ + "\\n")
        sys.stdout.flush()

asyncio.run(main())
"""


def run_and_kill(folder: Path, second_tool: str, kill_at: str, times: int) -> None:
    """Kill the child once it has shown `kill_at` that many times."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), second_tool],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None
        seen: Counter[str] = Counter()
        while seen[kill_at] < times:
            line = process.stdout.readline()
            assert line, "the child ended by itself"
            seen[line.strip()] += 1
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=10)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.clause("case:G1", "C72")
@pytest.mark.parametrize(
    ("second_tool", "kill_at", "finished"),
    [
        ("slow", ("PromptAccepted", 1), None),
        ("slow", ("ToolProposed", 2), None),
        ("slow", ("ToolFinished", 1), {"a"}),
        ("look", ("StepStarted", 2), {"a", "b"}),
    ],
)
async def test_a_killed_process_loses_nothing_that_it_had_shown(
    tmp_path: Path, second_tool: str, kill_at: tuple[str, int], finished: set[str] | None
) -> None:
    run_and_kill(tmp_path, second_tool, *kill_at)
    stored = load(session_path(tmp_path))
    history = stored.snapshot.history
    assert [text_of(m.content) for m in history if isinstance(m, UserMessage)] == ["one", "two"]
    assert any(text_of(completed_assistant_content(m) or ()) == "first" for m in history)
    assert_pairs(history)
    if finished is not None:
        results = {m.id: m.content for m in history if isinstance(m, ToolResult)}
        expected = {id: "ok" if id in finished else INTERRUPTED_RESULT for id in ("a", "b")}
        assert results == expected
    kinds = [event.kind for event in replay(stored) if isinstance(event, facts.TurnEnded)]
    assert kinds == [TurnEndKind.COMPLETED, TurnEndKind.INTERRUPTED]

    stage = Stage(tmp_path, [DONE], [ScriptedTool("look"), ScriptedTool("slow", None)])
    async with await stage.resume() as again:
        await stage.play(again, "go on")
    [request] = stage.provider.requests
    assert_pairs(request.messages)
    assert text_of(request.messages[-1].content) == "go on"  # type: ignore[union-attr, arg-type]
    kinds = [event.kind for event in stage.replayed() if isinstance(event, facts.TurnEnded)]
    assert kinds == [TurnEndKind.COMPLETED, TurnEndKind.INTERRUPTED, TurnEndKind.COMPLETED]
