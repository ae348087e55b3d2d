"""`/compact` in the app: it can be stopped, and what is typed meanwhile waits or comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.history.summarise import DEFAULT_KEEP_TOKENS
from rho_core.providers.scripted import ScriptedProvider, ScriptedTurn
from rho_tui.host.sessions.index import list_sessions
from rho_tui.transcript.blocks import CardStatus, ToolCard
from tests.host.conversation_kit import GatedProvider
from tests.tui.scene import Scene
from tests.tui.stage import Stage
from tests.tui.terminal import screen_text

ESC = "\x1b"
LONG = ScriptedTurn.completed("word " * DEFAULT_KEEP_TOKENS)
"""More than a compaction keeps, so that there is something to summarise."""


@asynccontextmanager
async def app_on(
    root: Path, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Scene]:
    stage = Stage(root, provider=provider)
    monkeypatch.setenv("HOME", str(stage.home))
    async with stage.app().run_test(size=(100, 40)) as pilot:
        scene = Scene(stage, pilot)
        await scene.open()
        yield scene
        await scene.chat.leave()


def compact_card(scene: Scene) -> ToolCard:
    transcript = scene.chat.presenter.surface.transcript
    [card] = [
        block
        for block in map(transcript.block, transcript.block_ids())
        if isinstance(block, ToolCard) and block.header.verb == "compact"
    ]
    return card


@pytest.mark.clause("APP2.40", "APP5.39", "APP2.6", "APP1.24")
async def test_esc_stops_a_compaction_and_gives_back_what_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = ScriptedTurn.completed("I still know all of it.")
    provider = ScriptedProvider([LONG, ScriptedTurn.hanging(), again])
    async with app_on(tmp_path, provider, monkeypatch) as scene:
        await scene.turn("write a lot")
        conversation = scene.chat.control.conversation
        assert conversation is not None
        before = conversation.session.snapshot()
        scene.ask("/compact")
        await scene.until(lambda: len(provider.requests) == 2)
        await scene.shows("compacting context")
        scene.ask("and then this")
        await scene.shows("NEXT  after compact  and then this")
        await scene.type("half a draft")
        # another command that is allowed meanwhile leaves it alone
        scene.chat.show_help()
        await scene.until(lambda: scene.app.screen is not scene.chat)
        await scene.type(ESC)
        await scene.until(lambda: scene.app.screen is scene.chat)
        assert conversation.is_compacting
        await scene.type(ESC)
        await scene.until(lambda: not conversation.is_running)
        await scene.until(lambda: compact_card(scene).status is CardStatus.INTERRUPTED)
        await scene.until(lambda: "compacting context" not in screen_text(scene.app))
        assert conversation.session.snapshot() == before
        assert scene.chat.composer.text == "and then this\n\nhalf a draft"
        await scene.turn("what do you know?")
        assert provider.requests[-1].messages[: len(before.history)] == before.history
        [path] = [s.path for s in list_sessions(scene.chat.bench.launch.paths.sessions_dir)]
        await scene.chat.open_session(path)
        await scene.shows("I still know all of it.")
        assert compact_card(scene).status is CardStatus.INTERRUPTED


@pytest.mark.clause("APP2.41", "APP1.24")
async def test_a_prompt_given_meanwhile_is_sent_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [LONG, ScriptedTurn.completed("the summary"), ScriptedTurn.completed("answered")]
    provider = GatedProvider([*turns, ScriptedTurn.completed("answered again")])
    async with app_on(tmp_path, provider, monkeypatch) as scene:
        provider.proceed()
        await scene.turn("write a lot")
        scene.ask("/compact")
        await scene.shows("compacting context")
        scene.ask("first")
        await scene.shows("NEXT  after compact  first")
        scene.ask("second")
        await scene.shows("2 follow-ups")
        for _ in range(3):
            provider.proceed()
        await scene.shows("answered again")
        await scene.ended()
        assert compact_card(scene).status is CardStatus.OK
    assert "the summary" in str(provider.requests[2].messages)
    assert "first" in str(provider.requests[2].messages[-1])
    assert "second" in str(provider.requests[3].messages[-1])


@pytest.mark.clause("APP2.40", "APP2.41")
async def test_a_failed_compaction_says_so_and_lets_the_prompt_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = ProviderError(ProviderErrorKind.AUTHENTICATION, "who are you?")
    provider = GatedProvider([LONG, ScriptedTurn.failed(error), ScriptedTurn.completed("answered")])
    async with app_on(tmp_path, provider, monkeypatch) as scene:
        provider.proceed()
        await scene.turn("write a lot")
        scene.ask("/compact")
        await scene.shows("compacting context")
        scene.ask("go on")
        await scene.shows("NEXT  after compact  go on")
        provider.proceed()
        provider.proceed()
        await scene.shows("answered")
        assert compact_card(scene).status is CardStatus.ERROR
        assert "who are you?" in compact_card(scene).facts[0].text
