"""The adapters and the demo in the real loop, with real tools, over real HTTP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rho_core import Rho, ScopedWorkspacePolicy, Workspace
from rho_core.authority.approvals import (
    AllowOnce,
    ApprovalDecision,
    ApprovalHandler,
    ApprovalRequest,
    Deny,
)
from rho_core.authority.capabilities import CapabilityKind as K
from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.events import AssistantTextDelta, ProviderStreamReset, ToolHostInputRequested
from rho_core.history.messages import AbortedAssistant, ToolResult
from rho_core.providers.contract import ModelProvider
from rho_core.providers.demo import DemoProvider
from rho_core.questions import HostInputResponse
from rho_core.run import Run
from rho_core.testing import FakeClock
from rho_core.tools.file_tools import file_tools
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.questionnaire import QuestionnaireTool
from rho_core.tools.search.grep import GrepTool
from rho_core.tools.shell.tool import BashTool
from tests.providers.harness import anthropic, chat
from tests.servers import AnthropicServer, Call, ChatServer, Turn

WIRES = [(ChatServer, chat), (AnthropicServer, anthropic)]
both = pytest.mark.parametrize(("server_type", "connect"), WIRES, ids=["chat", "anthropic"])


class Approvals(ApprovalHandler):
    """Allows what `judge` lets pass, and remembers the classes that were asked for."""

    def __init__(self, judge: Callable[[ApprovalRequest], ApprovalDecision]) -> None:
        self.judge = judge
        self.asked: list[K] = []

    async def decide(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request.capability.kind)
        return self.judge(request)


def runtime(
    provider: ModelProvider,
    root: Path,
    judge: Callable[[ApprovalRequest], ApprovalDecision] = lambda _: AllowOnce(),
) -> tuple[Rho, Approvals, FakeClock]:
    approvals, clock = Approvals(judge), FakeClock()
    policy = ScopedWorkspacePolicy().allow_read_paths().require_write_approval()
    policy = policy.allow_write_paths().allow_processes().require_process_approval()
    tools = [*file_tools(FileLedger()), GrepTool(), BashTool(), QuestionnaireTool()]
    rho = Rho(
        provider,
        tools=tools,
        system_prompt="You are a test.",
        workspace=Workspace(root),
        policy=policy,
        approvals=approvals,
        max_parallel_tools=4,
        clock=clock,
    )
    return rho, approvals, clock


async def drive(run: Run, answers: dict[str, str] | None = None) -> list[Any]:
    """Read all events, answering every form with `answers`, else with its first choices."""
    events = []
    async for event in run:
        events.append(event)
        if isinstance(event, ToolHostInputRequested):
            response = HostInputResponse()
            for question in event.request.questions:
                picked = (answers or {}).get(question.id, question.choices[0].value)
                response = response.answer(question.id, [picked])
            await run.respond(event.request.id, response)
    return events


def results(history: Any) -> list[ToolResult]:
    return [message for message in history if isinstance(message, ToolResult)]


@both
async def test_a_change_from_prompt_to_finished_file(
    server_type: Any, connect: Any, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n", "utf-8")
    turns = [
        Turn(
            reasoning="look first",
            calls=(
                Call("read_file", {"path": "a.py"}),
                Call("grep", {"pattern": "y = "}),
                Call("list_dir", {"path": "."}),
            ),
        ),
        Turn(calls=(Call("str_replace", {"path": "a.py", "old_string": "1", "new_string": "7"}),)),
        Turn(calls=(Call("bash", {"command": "cat a.py"}),)),
        Turn(text="Changed **x** to 7."),
    ]
    async with server_type(turns) as server, connect(server) as provider:
        rho, approvals, _ = runtime(provider, tmp_path)
        session = await rho.session()
        async with session.start("set x to 7") as run:
            events = await drive(run)
            outcome = await run.outcome()
        assert outcome.text == "Changed **x** to 7."
        assert (tmp_path / "a.py").read_text("utf-8") == "x = 7\ny = 2\n"
        assert approvals.asked == [K.WRITE, K.PROCESS]
        assert [r.ok for r in results(session.history)] == [True] * 5
        assert "x = 7" in results(session.history)[-1].content
        shown = "".join(e.text for e in events if isinstance(e, AssistantTextDelta))
        assert shown == outcome.text
        assert outcome.usage.output_tokens == 80
        async with session.start("thanks") as run:
            await drive(run)
            await run.outcome()
        assert len(server.turns) == 5  # the strict server took every request
        rho.shutdown()


@both
async def test_a_denial_with_feedback_reaches_the_model(
    server_type: Any, connect: Any, tmp_path: Path
) -> None:
    turns = [Turn(calls=(Call("bash", {"command": "rm -rf x"}),)), Turn(text="I won't.")]
    async with server_type(turns) as server, connect(server) as provider:
        rho, _, _ = runtime(provider, tmp_path, lambda _: Deny("use the trash instead"))
        async with (await rho.session()).start("clean up") as run:
            await drive(run)
            await run.outcome()
        assert "use the trash instead" in server.turns[1].raw.decode()
        rho.shutdown()


@both
@pytest.mark.clause("C80", "C81", "case:H11")
async def test_malformed_arguments_are_asked_for_again_and_never_run(
    server_type: Any, connect: Any, tmp_path: Path
) -> None:
    bad = Turn(calls=(Call("bash", raw_arguments='{"command":"touch pwned'),))
    async with server_type([bad, Turn(text="better")]) as server, connect(server) as provider:
        rho, approvals, clock = runtime(provider, tmp_path)
        async with (await rho.session()).start("go") as run:
            events = await drive(run)
            assert (await run.outcome()).text == "better"
        assert sum(isinstance(e, ProviderStreamReset) for e in events) == 1
        assert clock.slept == []
        assert approvals.asked == []
        assert server.turns[0].body["messages"] == server.turns[1].body["messages"]
        server.scenario = type(server.scenario).of(bad)
        async with (await rho.session()).start("go") as run:
            await drive(run)
            with pytest.raises(ProviderError) as caught:
                await run.outcome()
        assert caught.value.provider_kind is ProviderErrorKind.INVALID_RESPONSE
        assert not caught.value.retryable
        assert len(server.turns) == 4
        rho.shutdown()


@both
@pytest.mark.clause("C76", "C78", "case:H14")
async def test_retry_after_is_waited_for_and_the_answer_comes_once(
    server_type: Any, connect: Any, tmp_path: Path
) -> None:
    turns = [
        Turn(status=429, retry_after="9"),
        Turn(text="one two three four", disconnect_after=6),
        Turn(text="one two three four"),
    ]
    async with server_type(turns) as server, connect(server) as provider:
        rho, _, clock = runtime(provider, tmp_path)
        session = await rho.session()
        async with session.start("go") as run:
            await drive(run)
            assert (await run.outcome()).text == "one two three four"
        assert clock.slept == [9.0, 2.0]
        assert len(session.history) == 3
        rho.shutdown()


@both
@pytest.mark.clause("C66", "C72")
async def test_a_cancelled_answer_is_kept_and_the_next_request_is_accepted(
    server_type: Any, connect: Any, tmp_path: Path
) -> None:
    first = Turn(text="half an answer", calls=(Call("bash", {"command": "ls"}),), hold=60)
    async with server_type([first, Turn(text="again")]) as server, connect(server) as provider:
        rho, approvals, _ = runtime(provider, tmp_path)
        session = await rho.session()
        async with session.start("go") as run:
            seen = ""
            async for event in run:
                if isinstance(event, AssistantTextDelta):
                    seen += event.text
                if seen == "half an answer":
                    run.cancel()
        assert isinstance(session.history[-1], AbortedAssistant)
        async with session.start("go on") as run:
            await drive(run)
            assert (await run.outcome()).text == "again"
        assert approvals.asked == []
        assert "half an answer" in server.turns[1].raw.decode()
        rho.shutdown()


async def test_the_tour_runs_on_real_tools(tmp_path: Path) -> None:
    (tmp_path / "readme.md").write_text("hi\n", "utf-8")
    rho, approvals, _ = runtime(DemoProvider(seconds_per_word=0), tmp_path)
    session = await rho.session()
    async with session.start("tour") as run:
        await drive(run, {"greeting": "Ahoy"})
        outcome = await run.outcome()
    assert [r.ok for r in results(session.history)] == [True] * 5, results(session.history)
    assert (tmp_path / "rho-tour.md").read_text("utf-8").startswith("# Ahoy!")
    assert "Status: edited" in (tmp_path / "rho-tour.md").read_text("utf-8")
    assert approvals.asked == [K.WRITE, K.WRITE, K.PROCESS]
    assert "That's the tour" in outcome.text
    rho.shutdown()


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("read a.py", "**2 lines**"),
        ("list", "1 folder and 1 file"),
        ("find Y = 2", "1 matches in 1 files"),
        ("replace 2 with 3 in a.py", "replaced 1 occurrence"),
        ("replace = with := in a.py", "occurs more than once"),
        ("replace all = with := in a.py", "replaced 2 occurrence"),
        ("replace q with r in a.py", "did not work"),
        ("run cat a.py", "y = 2"),
        ("run exit 3", "exit code: 3"),
        ("ask me", "| language | Python |"),
        ("read nope.txt", "did not work"),
        ("help", "not a language model"),
    ],
)
async def test_every_demo_request_works_on_real_tools(
    tmp_path: Path, prompt: str, expected: str
) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n", "utf-8")
    (tmp_path / "sub").mkdir()
    rho, _, _ = runtime(DemoProvider(seconds_per_word=0), tmp_path)
    async with (await rho.session()).start(prompt) as run:
        await drive(run)
        outcome = await run.outcome()
    assert expected in outcome.text
    rho.shutdown()


async def test_a_denied_demo_command_quotes_the_feedback(tmp_path: Path) -> None:
    rho, _, _ = runtime(
        DemoProvider(seconds_per_word=0), tmp_path, lambda _: Deny("not on a Monday")
    )
    async with (await rho.session()).start("run touch x") as run:
        await drive(run)
        outcome = await run.outcome()
    assert "said no" in outcome.text
    assert "not on a Monday" in outcome.text
    assert not (tmp_path / "x").exists()
    rho.shutdown()
