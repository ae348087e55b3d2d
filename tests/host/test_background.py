"""Background processes in a conversation: their end reaches the model once, with a prompt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rho_core.authority.workspace import Workspace
from rho_core.history.messages import Text, UserMessage
from rho_core.inputs import UserInput
from rho_core.testing import ScriptedTurn
from rho_core.tooling.values import ToolMetadata, ToolOutput, ToolSucceeded
from rho_core.tools.process.manager import ProcessManager
from rho_core.tools.process.tool import ProcessTool
from rho_core.tools.shell.processes import ShellSupervisor
from rho_tui.host import facts
from rho_tui.host.conversation import ConversationOptions
from rho_tui.host.permissions import PermissionMode
from rho_tui.host.prompt_news import without_news
from rho_tui.transcript.tool_cards import CallFacts, tool_card
from tests.core.run_harness import call
from tests.host.conversation_kit import Stage


@pytest.fixture
async def manager() -> AsyncIterator[ProcessManager]:
    supervisor = ShellSupervisor()
    owner = ProcessManager(supervisor)
    yield owner
    await owner.aclose()
    await supervisor.aclose()


@dataclass
class ProcessStage(Stage):
    """A conversation whose process tool tells of what ended."""

    tool: ProcessTool | None = None

    def conversation_options(self) -> ConversationOptions:
        assert self.tool is not None
        return replace(super().conversation_options(), take_notice=self.tool.take_notice)


@pytest.mark.clause("T17.14")
async def test_an_end_is_told_with_the_next_prompt_and_shown_apart(
    manager: ProcessManager, tmp_path: Path
) -> None:
    tool = ProcessTool(manager)
    root = tmp_path / "root"
    root.mkdir()
    command = "until [ -e go ]; do sleep 0.02; done; echo built; exit 5"
    stage = ProcessStage(
        tmp_path / "sessions",
        [
            ScriptedTurn.calls(call("c1", "process", action="start", command=command)),
            ScriptedTurn.completed("started"),
            ScriptedTurn.completed("seen"),
            ScriptedTurn.completed("again"),
        ],
        [tool],
        PermissionMode.BYPASS,
        {"workspace": Workspace(root)},
        tool=tool,
    )
    conversation = await stage.new()
    await stage.play(conversation, "build it")
    [process] = manager.live()
    (root / "go").touch()
    await manager.wait_for_news(manager.find(process.id), 10**9, 10)
    await stage.play(conversation, "and now?")
    history = stage.provider.requests[-1].messages
    asked = next(message for message in reversed(history) if isinstance(message, UserMessage))
    told, prompt = asked.content
    assert isinstance(told, Text)
    assert f"{process.id} exited, exit code 5" in told.text
    assert "built" in told.text
    assert prompt == Text("and now?")
    prompts = [event.text for event in stage.seen if isinstance(event, facts.PromptAccepted)]
    assert prompts == ["build it", "and now?"]
    notices = [event.text for event in stage.seen if isinstance(event, facts.Notice)]
    assert any("background process exited, exit code 5: until" in notice for notice in notices)
    await stage.play(conversation, "thanks")
    last = stage.provider.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    assert last.content == (Text("thanks"),)
    await conversation.aclose()
    stage.assert_replay_equals_live()


def test_what_a_person_wrote_is_left_alone() -> None:
    plain = UserInput.text("Background processes have ended").content
    assert without_news(plain) == plain
    assert without_news(()) == ()


@pytest.mark.clause("T17.15", "T29.1")
def test_cards_name_the_command_its_state_and_output() -> None:
    text = "process_id: p\nstate: exited\nnext: 1\nexit: 3\n\nstdout:\nlistening"
    details = {"process_id": "p", "state": "exited", "duration_seconds": 1.25, "exit_code": 3}
    metadata = ToolMetadata().with_details(**details, command="npm run dev")
    arguments = {"action": "poll", "process_id": "p"}
    running = tool_card(CallFacts("process", arguments))
    assert (running.header.verb, running.header.primary) == ("process poll", "p")
    done = ToolSucceeded(ToolOutput.text(text, metadata))
    card = tool_card(CallFacts("process", arguments, completion=done))
    assert (card.header.verb, card.header.primary) == ("process poll", "npm run dev")
    assert [(fact.text, fact.tone) for fact in card.facts] == [("exited · exit 3 · 1.2s", "error")]
    [body] = card.bodies
    assert body.text == "listening"  # type: ignore[union-attr]
    receipt = ToolSucceeded(ToolOutput.text("process_id: p\nstop requested", ToolMetadata()))
    card = tool_card(CallFacts("process", {"action": "stop"}, completion=receipt))
    assert [fact.text for fact in card.facts] == ["stop requested"]
