"""A compaction that is stopped or fails changes nothing, and is shown again as it was seen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rho_core import events as run
from rho_core.errors import Cancelled, SessionBusy
from rho_core.history.compaction import CompactionOutput, CompactionPolicy, CompactionRequest
from rho_core.history.messages import UserMessage
from rho_core.providers.contract import OutputDelta
from rho_core.testing import ScriptedCompactor, ScriptedTurn
from rho_tui.host import facts
from rho_tui.host.facts import TurnEndKind
from rho_tui.host.sessions.recovery import load
from rho_tui.transcript.blocks import CardStatus, ToolCard
from tests.host.conversation_kit import GatedProvider, Stage, blocks, session_path, until_true

DONE = ScriptedTurn.completed("done")
SUMMARY = (UserMessage.of_text("summary"),)


class Waiting(ScriptedCompactor):
    """Works until it is cancelled, as a compactor that asks a slow model does."""

    async def compact(self, request: CompactionRequest) -> CompactionOutput:
        self.requests.append(request)
        await request.cancellation.cancelled()
        raise Cancelled


def cards(events: Any) -> list[ToolCard]:
    return [b for b in blocks(events) if isinstance(b, ToolCard) and b.header.verb == "compact"]


@pytest.mark.clause("APP2.40", "B28", "B29")
async def test_a_cancelled_compaction_leaves_history_alone_and_its_card_interrupted(
    tmp_path: Path,
) -> None:
    compactor = Waiting()
    stage = Stage(tmp_path, [DONE, DONE], options={"compactor": compactor})
    async with await stage.new() as conversation:
        await stage.play(conversation, "one")
        before = conversation.session.snapshot()
        compacting = asyncio.ensure_future(conversation.compact())
        await until_true(lambda: bool(compactor.requests))
        assert (conversation.is_running, conversation.is_compacting) == (True, True)
        with pytest.raises(SessionBusy):
            await conversation.send("too early")
        with pytest.raises(SessionBusy):
            await conversation.compact()
        conversation.cancel()
        assert await compacting is None
        assert not conversation.is_running
        stopped = await stage.until(conversation, facts.CompactionStopped)
        assert stopped == facts.CompactionStopped(run.CompactionTrigger.MANUAL, "")
        assert load(session_path(tmp_path)).snapshot == before
        assert conversation.session.snapshot() == before
        await stage.play(conversation, "two")
        conversation.cancel()  # nothing is there to be cancelled
    [card] = cards(stage.seen)
    assert card.status is CardStatus.INTERRUPTED
    stage.assert_replay_equals_live()


@pytest.mark.clause("APP2.40", "B29")
async def test_a_failed_compaction_says_why_on_its_card(tmp_path: Path) -> None:
    compactor = ScriptedCompactor.failing("no room")
    stage = Stage(tmp_path, [DONE], options={"compactor": compactor})
    async with await stage.new() as conversation:
        await stage.play(conversation, "one")
        before = conversation.session.snapshot()
        assert await conversation.compact() is None
        await stage.until(conversation, facts.CompactionStopped)
        assert conversation.session.snapshot() == before
    [card] = cards(stage.seen)
    assert card.status is CardStatus.ERROR
    assert ["no room" in fact.text for fact in card.facts] == [True]
    stage.assert_replay_equals_live()


async def test_closing_ends_a_compaction(tmp_path: Path) -> None:
    compactor = Waiting()
    stage = Stage(tmp_path, [DONE], options={"compactor": compactor})
    conversation = await stage.new()
    await stage.play(conversation, "one")
    compacting = asyncio.ensure_future(conversation.compact())
    await until_true(lambda: bool(compactor.requests))
    await conversation.aclose()
    assert await asyncio.wait_for(compacting, 5) is None
    assert not conversation.session.is_running


@pytest.mark.clause("APP2.40", "J10")
@pytest.mark.parametrize("failing", [False, True])
async def test_a_compaction_within_a_turn_is_shown_again_when_it_came_to_nothing(
    tmp_path: Path, failing: bool
) -> None:
    compactor = ScriptedCompactor.failing("no room") if failing else Waiting()
    policy = CompactionPolicy.after_messages(3)
    stage = Stage(
        tmp_path, [DONE, DONE], options={"compactor": compactor, "compaction_policy": policy}
    )

    def react(conversation: Any, event: Any) -> None:
        if isinstance(event, run.CompactionStarted) and not failing:
            conversation.cancel()

    async with await stage.new() as conversation:
        ended = await stage.play(conversation, "one", "two", react=react)
    assert ended.kind is (TurnEndKind.FAILED if failing else TurnEndKind.CANCELLED)
    [card] = cards(stage.seen)
    assert card.status is (CardStatus.ERROR if failing else CardStatus.INTERRUPTED)
    stage.assert_replay_equals_live()


@pytest.mark.clause("APP2.40", "X5")
@pytest.mark.parametrize("cancelled", [False, True])
async def test_an_answer_stands_before_the_compaction_that_follows_it(
    tmp_path: Path, cancelled: bool
) -> None:
    compactor = Waiting() if cancelled else ScriptedCompactor([SUMMARY])
    stage = Stage(
        tmp_path,
        [ScriptedTurn.streaming([OutputDelta("nearly done")]), DONE],
        options={"compactor": compactor, "compaction_policy": CompactionPolicy.after_messages(2)},
        gated=True,
    )

    async def react(conversation: Any, event: Any) -> None:
        assert isinstance(stage.provider, GatedProvider)
        match event:
            case run.StepStarted(step=1):
                await conversation.steer("and better")
                stage.provider.proceed()
            case run.StepStarted():
                stage.provider.proceed()
            case run.CompactionStarted() if cancelled:
                conversation.cancel()
            case _:
                pass

    async with await stage.new() as conversation:
        await stage.play(conversation, "go", react=react)
    assert len(cards(stage.seen)) == 1
    stage.assert_replay_equals_live()
