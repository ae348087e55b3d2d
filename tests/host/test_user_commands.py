"""What the user runs with `!` stays with the session and reaches the model once (APP5.54)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rho_core import events as run
from rho_core.authority.capabilities import ProcessEnvironment
from rho_core.history.messages import Image, ToolCall, UserMessage, text_of
from rho_core.inputs import UserInput
from rho_core.providers.contract import OutputDelta, ReasoningSummaryDelta, ToolCallDelta
from rho_core.testing import PlannedTool, ScriptedCompactor, ScriptedTurn
from rho_core.tooling.values import ToolOutput
from rho_core.tools.shell.processes import ShellSupervisor
from rho_tui.host import facts
from rho_tui.host.command_news import COMMAND_NEWS_HEAD
from rho_tui.host.conversation import Conversation
from rho_tui.host.sessions.index import list_sessions
from rho_tui.host.sessions.recovery import load
from rho_tui.host.user_shell import ShellSettings
from rho_tui.transcript.blocks import (
    AssistantBlock,
    CardStatus,
    ReasoningBlock,
    ShellBody,
    ToolCard,
    UserBlock,
)
from tests.host.conversation_kit import Stage, blocks, session_path, until_true

DONE = ScriptedTurn.completed("done")


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[ShellSettings]:
    supervisor = ShellSupervisor()
    yield ShellSettings(supervisor, ProcessEnvironment.inherit_except([]), 64_000)
    await supervisor.aclose()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def stage_of(tmp_path: Path, shell: ShellSettings, *turns: ScriptedTurn, **more: Any) -> Stage:
    return Stage(tmp_path / "sessions", turns, cwd=str(tmp_path / "work"), shell=shell, **more)


async def ran(conversation: Conversation, command: str, *, included: bool = True) -> None:
    assert conversation.shell is not None
    await asyncio.wait_for(conversation.shell.run(command, included=included), 10)


def cards(events: Any) -> list[ToolCard]:
    return [block for block in blocks(events) if isinstance(block, ToolCard)]


def prompts(stage: Stage) -> list[str]:
    """The content of the last message of each request, a piece of text a line."""
    last = [request.messages[-1] for request in stage.provider.requests]
    return [text_of(m.content) for m in last if isinstance(m, UserMessage)]


@pytest.mark.clause("APP5.54", "T28.1", "T28.3")
async def test_commands_are_shown_again_and_told_once_with_the_next_prompt(
    tmp_path: Path, work: Path, shell: ShellSettings
) -> None:
    stage = stage_of(tmp_path, shell, DONE, DONE)
    async with await stage.new() as conversation:
        await ran(conversation, "pwd; echo one; exit 3")
        await ran(conversation, "echo hid''den", included=False)
        picture = UserInput.text_and_images("look", [Image("aGk=", "image/png")])
        await stage.play(conversation, picture, "go on")
        await ran(conversation, "echo t''wo")
        await stage.until(conversation, facts.UserCommandEnded)
    first, second = prompts(stage)
    assert first.startswith(f"{COMMAND_NEWS_HEAD}\n$ pwd; echo one; exit 3\n\nstdout:\n{work}\n")
    assert first.endswith("\n\nlook")
    assert "exit code: 3" in first
    assert "hidden" not in first
    assert second == "go on"
    shown = [block.text for block in blocks(stage.seen) if isinstance(block, UserBlock)]
    assert shown == ["look", "go on"]
    assert [card.status for card in cards(stage.seen)] == [
        CardStatus.ERROR,
        CardStatus.OK,
        CardStatus.OK,
    ]
    assert ["hidden" in str(card.bodies) for card in cards(stage.seen)] == [False, True, False]
    stage.assert_replay_equals_live()
    [summary] = list_sessions(tmp_path / "sessions")
    assert summary.prompt == "look"


@pytest.mark.clause("APP5.54", "APP7.7")
async def test_what_was_not_sent_yet_is_sent_after_a_resume(
    tmp_path: Path, work: Path, shell: ShellSettings
) -> None:
    stage = stage_of(tmp_path, shell, DONE)
    async with await stage.new() as conversation:
        await ran(conversation, "echo ea''rly")
        assert not (tmp_path / "sessions").exists()  # a session begins with a prompt
        await stage.play(conversation, "one")
        await ran(conversation, "echo unse''nt")
        await ran(conversation, "echo hid''den", included=False)
    again = stage_of(tmp_path, shell, DONE, DONE)
    async with await again.resume() as conversation:
        assert len(cards(conversation.replay())) == 3
        await again.play(conversation, "two")
    third = stage_of(tmp_path, shell, DONE)
    async with await third.resume() as conversation:
        await third.play(conversation, "three")
    assert [("early" in p, "unsent" in p, "hidden" in p) for p in prompts(stage)] == [
        (True, False, False)
    ]
    assert [("early" in p, "unsent" in p, "hidden" in p) for p in prompts(again)] == [
        (False, True, False)
    ]
    assert prompts(third) == ["three"]


@pytest.mark.clause("APP5.54", "T28.3")
async def test_a_cancelled_command_keeps_what_it_printed(
    tmp_path: Path, work: Path, shell: ShellSettings
) -> None:
    stage = stage_of(tmp_path, shell, DONE, DONE)
    async with await stage.new() as conversation:
        await stage.play(conversation, "one")
        running = asyncio.create_task(ran(conversation, "echo pr''inted; sleep 300"))
        await stage.until(conversation, facts.UserCommandPrinted)
        assert conversation.shell is not None
        with pytest.raises(RuntimeError):
            await conversation.shell.run("true", included=True)
        conversation.shell.cancel()
        await running
        await stage.play(conversation, "two")
    [card] = cards(stage.seen)
    assert card.status is CardStatus.INTERRUPTED
    assert card.bodies == (ShellBody("printed\n"),)
    assert prompts(stage)[-1].endswith("sleep 300\n\ncancelled\n\ntwo")
    stage.assert_replay_equals_live()


@pytest.mark.clause("APP5.54", "case:G1")
async def test_a_command_that_died_with_rho_is_shown_and_told_as_interrupted(
    tmp_path: Path, work: Path, shell: ShellSettings
) -> None:
    stage = stage_of(tmp_path, shell, DONE)
    conversation = await stage.new()
    await stage.play(conversation, "one")
    running = asyncio.create_task(ran(conversation, "echo pr''inted; sleep 300"))
    await stage.until(conversation, facts.UserCommandPrinted)
    path = session_path(tmp_path / "sessions")
    as_it_was = path.read_bytes()
    await conversation.aclose()
    await running
    path.write_bytes(as_it_was)  # as if nothing had been done any more
    again = stage_of(tmp_path, shell, DONE)
    async with await again.resume() as conversation:
        again.seen += conversation.replay()
        [card] = cards(again.seen)
        assert card.status is CardStatus.INTERRUPTED
        await again.play(conversation, "two")
    assert prompts(again) == [
        f"{COMMAND_NEWS_HEAD}\n$ echo pr''inted; sleep 300\n\ninterrupted\n\ntwo"
    ]
    assert blocks(again.replayed()) == blocks(again.seen)
    third = stage_of(tmp_path, shell, DONE)
    async with await third.resume() as conversation:
        await third.play(conversation, "three")
    assert prompts(third) == ["three"]


@pytest.mark.clause("APP5.54")
async def test_closing_ends_the_command_and_keeps_its_end(
    tmp_path: Path, work: Path, shell: ShellSettings
) -> None:
    stage = stage_of(tmp_path, shell, DONE)
    conversation = await stage.new()
    await stage.play(conversation, "one")
    running = asyncio.create_task(ran(conversation, "sleep 300"))
    await stage.until(conversation, facts.UserCommandStarted)
    await conversation.aclose()
    await asyncio.wait_for(running, 5)
    ended = [e for e in stage.replayed() if isinstance(e, facts.UserCommandEnded)]
    assert len(ended) == 1
    assert load(session_path(tmp_path / "sessions")).lines[-1].record.id == ended[0].id  # type: ignore[union-attr] # else it fails


async def test_a_prompt_that_cannot_be_sent_leaves_the_output_for_the_next(
    tmp_path: Path, work: Path, shell: ShellSettings
) -> None:
    stage = stage_of(tmp_path, shell, DONE)
    async with await stage.new() as conversation:
        await ran(conversation, "echo ke''pt")

        def broken() -> None:
            raise OSError("no schema")

        conversation._load = broken  # a fault of ours between the prompt and the run
        with pytest.raises(OSError, match="no schema"):
            await conversation.send("one")
        conversation._load = None
        await stage.play(conversation, "two")
    assert "kept" in prompts(stage)[-1]


STREAMED = [
    ReasoningSummaryDelta("because"),
    OutputDelta("half an "),
    OutputDelta("answer"),
    ToolCallDelta(0, "7", "look", "{}"),
]


@pytest.mark.clause("APP5.54", "APP1.15")
@pytest.mark.parametrize("at", [run.ReasoningSummaryDelta, run.AssistantTextDelta])
async def test_a_command_beside_an_answer_stands_before_it_both_times(
    tmp_path: Path, work: Path, shell: ShellSettings, at: type[Any]
) -> None:
    stage = stage_of(tmp_path, shell, ScriptedTurn.hanging(*STREAMED))
    beside: list[asyncio.Task[None]] = []

    def react(conversation: Conversation, event: Any) -> None:
        if isinstance(event, at) and not beside:
            beside.append(asyncio.create_task(ran(conversation, "echo be''side")))
        if isinstance(event, facts.UserCommandEnded):
            conversation.cancel()

    async with await stage.new() as conversation:
        await stage.play(conversation, "go", react=react)
    await beside[0]
    kinds = [type(block) for block in blocks(stage.seen)]
    assert kinds[:4] == [UserBlock, ToolCard, ReasoningBlock, AssistantBlock]
    assert blocks(stage.replayed()) == blocks(stage.seen)


@pytest.mark.clause("APP5.54", "APP1.15")
@pytest.mark.parametrize("over", [True, False])
async def test_a_command_beside_a_tool_stands_behind_it_and_outlives_the_turn(
    tmp_path: Path, work: Path, shell: ShellSettings, over: bool
) -> None:
    gate = asyncio.Event()

    async def execute(_invocation: Any, _context: Any) -> ToolOutput:
        await gate.wait()
        return ToolOutput.text("looked")

    call = ToolCall.of("1", "look", {})
    turns = [ScriptedTurn.completed("let me", call), DONE]
    stage = stage_of(tmp_path, shell, *turns, tools=[PlannedTool("look", execute)])
    command = "echo be''side" if over else "echo be''side; while [ ! -e go ]; do sleep 0.02; done"
    beside: list[asyncio.Task[None]] = []

    def react(conversation: Conversation, event: Any) -> None:
        if isinstance(event, run.ToolStarted):
            beside.append(asyncio.create_task(ran(conversation, command)))
        if isinstance(event, facts.UserCommandEnded if over else facts.UserCommandPrinted):
            gate.set()

    async with await stage.new() as conversation:
        await stage.play(conversation, "go", react=react)
        (work / "go").touch()
        await beside[0]
        if not over:
            await stage.until(conversation, facts.UserCommandEnded)
    first, second = cards(stage.seen)
    assert (first.header.verb, second.header.verb) == ("look", "$")
    assert (first.status, second.status) == (CardStatus.OK, CardStatus.OK)
    stage.assert_replay_equals_live()


@pytest.mark.clause("APP5.54", "APP1.15")
async def test_a_command_beside_a_compaction_stands_before_its_card_both_times(
    tmp_path: Path, work: Path, shell: ShellSettings
) -> None:
    gate = asyncio.Event()

    class Slow(ScriptedCompactor):
        async def compact(self, request: Any) -> Any:
            await gate.wait()
            return await super().compact(request)

    compactor = Slow([[UserMessage.of_text("summary")]])
    stage = stage_of(tmp_path, shell, DONE, options={"compactor": compactor})
    async with await stage.new() as conversation:
        await stage.play(conversation, "one")
        compacting = asyncio.create_task(conversation.compact())
        await stage.until(conversation, run.CompactionStarted)
        await ran(conversation, "echo be''side")
        gate.set()
        await compacting
        await stage.until(conversation, run.CompactionCompleted)
    assert [card.header.verb for card in cards(stage.seen)] == ["$", "compact"]
    assert blocks(stage.replayed()) == blocks(stage.seen)


async def test_without_a_shell_there_are_no_commands(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [DONE])
    async with await stage.new() as conversation:
        assert conversation.shell is None
        await until_true(lambda: not conversation.is_running)
