"""The edit tool follows a change of the provider within a session (T1.5, APP6.8)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rho_core.errors import SessionBusy
from rho_core.history.messages import (
    ModelIdentity,
    SystemMessage,
    Text,
    ToolResult,
    UserMessage,
)
from rho_core.json_values import thaw
from rho_core.providers.contract import ModelRequest
from rho_core.testing import ScriptedProvider, ScriptedTurn
from rho_core.tools.files.view_header import file_tag
from rho_tui.host import facts
from rho_tui.host.catalogue import ProviderChoice
from rho_tui.host.config import (
    BehaviorConfig,
    Config,
    CustomProviderConfig,
    EditToolName,
    ModelConfig,
    ProvidersConfig,
)
from rho_tui.host.conversation import Conversation
from rho_tui.host.edit_tool import EDIT_NOTICE_HEAD
from rho_tui.host.facts import ConversationEvent
from rho_tui.host.launch import Launch
from rho_tui.host.paths import RhoPaths
from rho_tui.host.replay import replay
from rho_tui.host.sessions.recovery import load
from rho_tui.host.workbench import Workbench
from tests.core.run_harness import call
from tests.host.conversation_kit import picture, session_path

TEXT = "alpha\nbeta\n"
DONE = ScriptedTurn.completed("done")
READ = ScriptedTurn.calls(call("r", "read_file", path="a.txt"))
CHAT = ProviderChoice("local", "local", "chat", "m", "http://127.0.0.1:9/v1")
CLAUDE = ProviderChoice("claude", "claude", "anthropic", "m", "http://127.0.0.1:9")
CODEX = ProviderChoice("openai-codex", "openai-codex", "chat", "m", "http://127.0.0.1:9/v1")


@dataclass
class Life:
    """One start of Rho on the folders below `base`, with scripted models by provider name."""

    base: Path
    turns: dict[str, Sequence[ScriptedTurn]]
    choice: ProviderChoice = CHAT
    edit_tool: EditToolName = "auto"
    seen: list[ConversationEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.work = self.base / "work"
        self.work.mkdir(exist_ok=True)
        self.sessions = self.base / "state" / "sessions"
        config = Config(
            model=ModelConfig(provider=self.choice.name),
            behavior=BehaviorConfig(
                permission_mode="bypass", credential_store="file", edit_tool=self.edit_tool
            ),
            providers=ProvidersConfig(
                custom={"local": CustomProviderConfig("http://127.0.0.1:9/v1", model="m")}
            ),
        )
        paths = RhoPaths(self.base / "config", self.base / "state")
        launch = Launch(config, self.base / "config.toml", paths, self.work, {})
        self.bench = Workbench(launch, make_provider=self._provider)
        self.bench.choice = self.choice
        self.models: dict[str, ScriptedProvider] = {}

    def _provider(self, choice: ProviderChoice) -> ScriptedProvider:
        identity = ModelIdentity(choice.name, "api", choice.model)
        if choice.name not in self.models:
            self.models[choice.name] = ScriptedProvider(
                self.turns.get(choice.name, ()), identity=identity
            )
        return self.models[choice.name]

    async def __aenter__(self) -> Life:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.bench.aclose()

    async def open(self, *, resume: bool = False) -> Conversation:
        opened = await self.bench.open(session_path(self.sessions) if resume else None)
        self.reader = opened.conversation.events()
        return opened.conversation

    async def play(self, conversation: Conversation, *prompts: str) -> None:
        for prompt in prompts:
            await conversation.send(prompt)
            await self.until(facts.TurnEnded)

    async def until(self, wanted: type[Any]) -> None:
        async with asyncio.timeout(20):
            async for event in self.reader:
                self.seen.append(event)
                if isinstance(event, wanted):
                    return

    def request(self, provider: str, number: int = -1) -> ModelRequest:
        return self.models[provider].requests[number]

    def shown(self) -> list[str]:
        return [event.name for event in self.seen if isinstance(event, facts.EditToolChanged)]

    def stored(self) -> list[ConversationEvent]:
        return list(replay(load(session_path(self.sessions))))


def tool_names(request: ModelRequest) -> set[str]:
    return {spec.name for spec in request.tools} & {"edit", "str_replace", "apply_patch"}


def prompt_of(request: ModelRequest) -> tuple[Any, ...]:
    """The blocks of the newest prompt."""
    return next(m for m in reversed(request.messages) if isinstance(m, UserMessage)).content


def results_of(request: ModelRequest) -> list[str]:
    return [m.content for m in request.messages if isinstance(m, ToolResult)]


def notices(messages: Iterable[Any]) -> int:
    """How many prompts told of a change."""
    told = [m for m in messages if isinstance(m, UserMessage)]
    return sum(str(message.content).count(EDIT_NOTICE_HEAD) for message in told)


@pytest.mark.clause("T1.3", "T1.5", "T5.7", "D22")
async def test_another_provider_gets_its_tool_its_views_and_the_news(tmp_path: Path) -> None:
    edit = {"input": f"[a.txt#{file_tag(TEXT)}]\nPUT 2:\n+BETA\n"}
    replaced = {"path": "a.txt", "old_string": "BETA", "new_string": "gamma"}
    turns = {
        "local": [READ, ScriptedTurn.calls(call("e", "edit", **edit)), DONE],
        "claude": [
            ScriptedTurn.calls(call("x", "edit", **edit)),
            READ,
            ScriptedTurn.calls(call("s", "str_replace", **replaced)),
            DONE,
            DONE,
        ],
    }
    async with Life(tmp_path, turns) as life:
        file = life.work / "a.txt"
        file.write_text(TEXT)
        async with await life.open() as conversation:
            await life.play(conversation, "one")
            assert tool_names(life.request("local")) == {"edit"}
            assert results_of(life.request("local"))[0].startswith("[a.txt#")
            assert file.read_text() == "alpha\nBETA\n"

            life.bench.switch_model(conversation, CLAUDE)
            await life.play(conversation, "two", "three")

        first, last = life.request("claude", 0), life.request("claude")
        assert tool_names(first) == {"str_replace"}
        told, prompt = prompt_of(first)
        assert prompt == Text("two")
        assert told.text.startswith(f"{EDIT_NOTICE_HEAD} `edit` is gone")
        [spec] = [spec for spec in first.tools if spec.name == "str_replace"]
        assert json.loads(told.text.strip().split("\n")[-1]) == {
            "name": "str_replace",
            "description": spec.description,
            "input_schema": thaw(spec.input_schema),
        }
        assert results_of(last)[-3:] == [
            "tool 'edit' is unavailable; use 'str_replace'",
            "a.txt\n1:alpha\n2:BETA",
            "edited a.txt; replaced 1 occurrence(s)\n\na.txt\n1:alpha\n2:gamma",
        ]
        assert file.read_text() == "alpha\ngamma\n"
        assert prompt_of(last) == (Text("three"),)
        # the system prompt is not rewritten, and names no format
        system = {m for r in (life.request("local", 0), last) for m in r.messages[:1]}
        assert len(system) == 1
        assert isinstance(*system, SystemMessage)

        assert life.shown() == ["str_replace"]
        prompts = [e.text for e in life.seen if isinstance(e, facts.PromptAccepted)]
        assert prompts == ["one", "two", "three"]
        assert picture(life.stored()) == picture(life.seen)


@pytest.mark.clause("T1.5", "APP6.8")
async def test_a_session_resumed_with_another_provider_is_told_once(tmp_path: Path) -> None:
    async with Life(tmp_path, {"local": [DONE]}) as life:
        async with await life.open() as conversation:
            await life.play(conversation, "one")

    # looked at and left: the user has seen it, the model has not
    for expected in (["str_replace"], []):
        async with Life(tmp_path, {}, CLAUDE) as life:
            async with await life.open(resume=True) as conversation:
                conversation.notice("opened")
                await life.until(facts.Notice)
            assert life.shown() == expected

    async with Life(tmp_path, {"claude": [DONE, DONE]}, CLAUDE) as life:
        async with await life.open(resume=True) as conversation:
            await life.play(conversation, "two", "three")
        told, prompt = prompt_of(life.request("claude", 0))
        assert "`edit` is gone; change files with `str_replace`" in told.text
        assert prompt == Text("two")
        assert tool_names(life.request("claude", 0)) == {"str_replace"}
        assert prompt_of(life.request("claude", 1)) == (Text("three"),)
        assert life.shown() == []
    changes = [e.name for e in life.stored() if isinstance(e, facts.EditToolChanged)]
    assert changes == ["str_replace"]

    async with Life(tmp_path, {"claude": [DONE]}, CLAUDE) as life:
        async with await life.open(resume=True) as conversation:
            await life.play(conversation, "four")
        assert notices(life.request("claude").messages) == 1

    async with Life(tmp_path, {"openai-codex": [DONE]}, CODEX) as life:
        async with await life.open(resume=True) as conversation:
            await life.play(conversation, "five")
        assert "`str_replace` is gone; change files with `apply_patch`" in str(
            prompt_of(life.request("openai-codex"))
        )
        assert life.shown() == ["apply_patch"]


@pytest.mark.clause("T1.5")
async def test_a_model_is_told_only_what_it_does_not_know(tmp_path: Path) -> None:
    async with Life(tmp_path, {"local": [DONE] * 2, "claude": [DONE] * 2}) as life:
        async with await life.open() as conversation:
            life.bench.switch_model(conversation, CLAUDE)
            await life.play(conversation, "one")  # nobody has heard of another tool
            life.bench.switch_model(conversation, CHAT)
            life.bench.switch_model(conversation, CLAUDE)
            await life.play(conversation, "two")  # back before anybody noticed
            life.bench.switch_model(conversation, CHAT)
            conversation.reset()
            await life.play(conversation, "three")  # a fresh history
            await life.play(conversation, "four")
        assert tool_names(life.request("claude", 0)) == {"str_replace"}
        assert tool_names(life.request("local", 0)) == {"edit"}
        assert notices(life.request("claude").messages) == 0
        assert notices(life.request("local").messages) == 0
        assert life.shown() == ["str_replace", "edit", "str_replace", "edit"]
        assert picture(life.stored()) == picture(life.seen)

    async with Life(tmp_path, {"local": [DONE]}) as life:
        async with await life.open(resume=True) as conversation:
            await life.play(conversation, "five")
        assert notices(life.request("local").messages) == 0
        assert life.shown() == []


@pytest.mark.clause("T1.4", "T1.5")
async def test_a_configured_format_stays_whoever_answers(tmp_path: Path) -> None:
    life = Life(tmp_path, {"local": [DONE], "claude": [DONE]}, edit_tool="apply_patch")
    async with life:
        async with await life.open() as conversation:
            await life.play(conversation, "one")
            life.bench.switch_model(conversation, CLAUDE)
            await life.play(conversation, "two")
        for provider in ("local", "claude"):
            assert tool_names(life.request(provider)) == {"apply_patch"}
        assert notices(life.request("claude").messages) == 0
        assert life.shown() == []


@pytest.mark.clause("T1.5", "B22")
async def test_nothing_changes_while_a_turn_is_under_way(tmp_path: Path) -> None:
    turns = {"local": [ScriptedTurn.hanging(), DONE], "claude": [DONE]}
    async with Life(tmp_path, turns) as life:
        async with await life.open() as conversation:
            await conversation.send("one")
            await life.until(facts.PromptAccepted)
            with pytest.raises(SessionBusy):
                life.bench.switch_model(conversation, CLAUDE)
            assert life.bench.choice == CHAT
            conversation.cancel()
            await life.until(facts.TurnEnded)
            await life.play(conversation, "two")
        assert tool_names(life.request("local")) == {"edit"}
        assert life.shown() == []


@pytest.mark.clause("T1.5")
@pytest.mark.parametrize("used", [True, False])
async def test_a_file_that_does_not_name_its_tool_is_judged_by_what_was_called(
    tmp_path: Path, used: bool
) -> None:
    change = ScriptedTurn.calls(call("1", "edit", input="[a.txt#0000]\nCUT 1"))
    async with Life(tmp_path, {"local": [change, DONE] if used else [DONE]}) as life:
        async with await life.open() as conversation:
            await life.play(conversation, "one")
        path = session_path(life.sessions)
    header, rest = path.read_text("utf-8").split("\n", 1)
    fields = json.loads(header)
    assert fields.pop("edit_tool") == "edit"
    path.write_text(f"{json.dumps(fields)}\n{rest}", "utf-8")

    async with Life(tmp_path, {"claude": [DONE]}, CLAUDE) as life:
        async with await life.open(resume=True) as conversation:
            await life.play(conversation, "two")
        assert notices(life.request("claude").messages) == int(used)
        assert life.shown() == (["str_replace"] if used else [])


@pytest.mark.clause("T1.5")
async def test_a_session_that_another_process_writes_is_not_told(tmp_path: Path) -> None:
    async with Life(tmp_path, {"local": [DONE]}) as life, Life(tmp_path, {}, CLAUDE) as reader:
        async with await life.open() as conversation:
            await life.play(conversation, "one")
            async with await reader.open(resume=True) as watched:
                assert watched.read_only
                watched.notice("opened")
                await reader.until(facts.Notice)
            assert reader.shown() == []
