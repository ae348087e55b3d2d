"""Conversations over scripted providers, and what of their events live and replay share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rho_core import events as run
from rho_core.providers.contract import ModelRequest, ModelResponse, ProviderEvents
from rho_core.runtime import Rho
from rho_core.testing import ScriptedProvider, ScriptedTurn
from rho_core.tooling.contract import Tool
from rho_core.tooling.values import ToolSucceeded
from rho_tui.host import facts
from rho_tui.host.approvals import InteractiveApprovals
from rho_tui.host.conversation import Conversation, ConversationOptions
from rho_tui.host.facts import ConversationEvent
from rho_tui.host.permissions import ModePolicy, PermissionMode
from rho_tui.host.replay import replay
from rho_tui.host.sessions.recovery import load
from rho_tui.host.user_shell import ShellSettings
from rho_tui.transcript.reducer import TranscriptReducer
from rho_tui.transcript.sink import BlockList

React = Callable[[Conversation, ConversationEvent], Any]
DEADLINE_SECONDS = 20.0


def session_path(folder: Path) -> Path:
    """The one session file of a folder."""
    [path] = [path for path in folder.iterdir() if path.suffix == ".jsonl"]
    return path


async def until_true(condition: Callable[[], bool]) -> None:
    """Wait for a condition that no event tells of."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():  # noqa: ASYNC110 - there is nothing to be woken by
            await asyncio.sleep(0.005)


class GatedProvider(ScriptedProvider):
    """Waits before each of its turns until the test says `proceed`, once a turn."""

    def __init__(self, turns: Iterable[ScriptedTurn]) -> None:
        super().__init__(turns)
        self._allowed = asyncio.Semaphore(0)

    def proceed(self) -> None:
        self._allowed.release()

    async def send_turn_stream(
        self, request: ModelRequest, events: ProviderEvents
    ) -> ModelResponse:
        await self._allowed.acquire()
        return await super().send_turn_stream(request, events)


@dataclass
class Stage:
    """A runtime over a scripted provider, and the conversation that is played on it."""

    folder: Path | None
    turns: Iterable[ScriptedTurn] = ()
    tools: Iterable[Tool] = ()
    mode: PermissionMode = PermissionMode.SUPERVISED
    options: dict[str, Any] = field(default_factory=dict)

    gated: bool = False
    cwd: str = "/x"
    system_prompt: str = ""
    shell: ShellSettings | None = None

    def __post_init__(self) -> None:
        self.provider = GatedProvider(self.turns) if self.gated else ScriptedProvider(self.turns)
        self.approvals = InteractiveApprovals()
        self.policy = ModePolicy(self.mode)
        self.seen: list[ConversationEvent] = []
        self.reader: Any = None

    def rho(self) -> Rho:
        return Rho(
            self.provider,
            tools=self.tools,
            policy=self.policy,
            approvals=self.approvals,
            **self.options,
        )

    def conversation_options(self) -> ConversationOptions:
        return ConversationOptions(
            cwd=self.cwd,
            folder=self.folder,
            approvals=self.approvals,
            policy=self.policy,
            system_prompt=self.system_prompt,
            shell=self.shell,
        )

    async def new(self) -> Conversation:
        conversation = await Conversation.new(self.rho(), self.conversation_options())
        self.reader = conversation.events()
        return conversation

    async def resume(self) -> Conversation:
        assert self.folder is not None
        conversation = await Conversation.resume(
            self.rho(), session_path(self.folder), self.conversation_options()
        )
        self.reader = conversation.events()
        return conversation

    async def until(
        self,
        conversation: Conversation,
        wanted: type[Any],
        react: React | None = None,
    ) -> Any:
        """Read on until an event of type `wanted` has come."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            async for event in self.reader:
                self.seen.append(event)
                if react is not None:
                    answer = react(conversation, event)
                    if answer is not None and hasattr(answer, "__await__"):
                        await answer
                if isinstance(event, wanted):
                    return event
        raise AssertionError(f"no {wanted.__name__} came")

    async def play(
        self, conversation: Conversation, *prompts: Any, react: React | None = None
    ) -> facts.TurnEnded:
        """Send prompts, one turn each; the end of the last."""
        ended: facts.TurnEnded | None = None
        for prompt in prompts:
            await conversation.send(prompt)
            ended = await self.until(conversation, facts.TurnEnded, react)
        assert ended is not None
        return ended

    def replayed(self) -> list[ConversationEvent]:
        assert self.folder is not None
        return list(replay(load(session_path(self.folder))))

    def assert_replay_equals_live(self) -> None:
        stored, live = picture(self.replayed()), picture(self.seen)
        for shown_again, shown in zip(stored, live, strict=False):
            assert shown_again == shown, f"stored {shown_again!r}, live {shown!r}"
        assert stored == live
        assert blocks(self.replayed()) == blocks(self.seen)


_LIVE_ONLY = (
    run.Started,
    run.StepStarted,
    run.ReasoningDelta,
    run.ToolDetached,
    run.UsageUpdated,
    run.ProviderContextUpdated,
    run.ProviderRequestRetry,
    run.ProviderDiagnostic,
    run.ModelCallCompleted,
    facts.SessionOpened,
    facts.ApprovalAsked,
    facts.ApprovalWithdrawn,
)


def blocks(events: Iterable[ConversationEvent]) -> list[Any]:
    """What the transcript shows; block ids are not compared."""
    drawn = BlockList()
    reducer = TranscriptReducer(drawn)
    for event in events:
        reducer.fold(event)
    return list(drawn.blocks.values())


def picture(events: Iterable[ConversationEvent]) -> list[Any]:
    """What a renderer makes of events: deltas joined, attempts that were reset taken back."""
    drawn: list[Any] = []
    output: dict[str, str] = {}
    written: dict[int, tuple[str | None, str | None, str]] = {}
    attempt = 0
    for event in events:
        match event:
            case run.StepStarted() | facts.PromptAccepted():
                attempt = len(drawn)
                written = {}
                if isinstance(event, facts.PromptAccepted):
                    drawn.append(event)
            case run.ProviderStreamReset():
                drawn[attempt:] = [d for d in drawn[attempt:] if isinstance(d, facts.Notice)]
                written = {}
            case run.AssistantTextDelta(text=text) | run.ReasoningSummaryDelta(text=text):
                if drawn and isinstance(drawn[-1], type(event)):
                    drawn[-1] = type(event)(drawn[-1].text + text)
                else:
                    drawn.append(event)
            case run.ToolCallUpdated(index=index):
                _, _, before = written.get(index, (None, None, ""))
                written[index] = (event.id, event.name, before + event.arguments_delta)
            case facts.AssistantSettled(aborted=aborted):
                drawn.append(event)
                if aborted:
                    drawn.append(list(written.values()))
                written = {}
            case run.ToolUpdated(call_id=call_id, progress=progress):
                output[call_id] = output.get(call_id, "") + (progress.output_delta or "")
            case facts.UserCommandPrinted(id=id, text=text):
                output[id] = output.get(id, "") + text
            case facts.UserCommandEnded(id=id, completion=completion):
                shown = output.pop(id, "")
                cut_off = "duration_seconds" not in str(completion)
                drawn.append((event, shown if cut_off else ""))
            case run.ToolFinished(call_id=call_id, completion=completion):
                shown = output.pop(call_id, "")
                drawn.append((event, "" if isinstance(completion, ToolSucceeded) else shown))
            case run.CompactionCompleted(trigger=trigger, outcome=outcome):
                bare = replace(outcome, committed_snapshot=None)
                drawn.append(run.CompactionCompleted(trigger, bare))
            case facts.TurnEnded():
                drawn.append(replace(event, unapplied_steering=()))
            case _:
                if not isinstance(event, _LIVE_ONLY):
                    drawn.append(event)
    return drawn
