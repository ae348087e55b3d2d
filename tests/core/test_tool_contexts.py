"""What tools are given and what becomes of what they report (sections D.1, D.2, D.7)."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from rho_core import events as ev
from rho_core.authority.approvals import AllowOnce, ApprovalSession, AuthorizationError, DenialKind
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.cancellation import CancellationToken
from rho_core.errors import InvalidConfiguration, ToolErrorKind
from rho_core.hooks.envelope import HookEnvelope
from rho_core.hooks.observer import HookObserver
from rho_core.questions import HostChoice, HostInputRequest, HostQuestion
from rho_core.testing import FakeClock, PlannedTool, ScriptedTool, ScriptedTurn, tool_spec
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    PreparedToolInvocation,
    Tool,
    ToolContext,
    ToolExecutionPolicy,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.host import ToolHost, ToolHostCall
from rho_core.tooling.resources import SessionState, ToolResourceAccess
from rho_core.tooling.values import (
    ToolAsset,
    ToolFailed,
    ToolMetadata,
    ToolOperation,
    ToolOutput,
    ToolProgress,
    ToolSucceeded,
)
from tests.core.authorization import ScriptedHandler
from tests.core.hook_doubles import READ
from tests.core.run_harness import call, of, open_session, results, run_all
from tests.tools.file_harness import FileSession

QUESTION = HostInputRequest.questionnaire(
    None, [HostQuestion("q", "?", (HostChoice("yes", "Yes"),))]
)
METADATA = ToolMetadata(
    operation=ToolOperation.WRITE,
    affected_paths=("a.txt",),
    command_summary="touch a.txt",
    urls=("https://example.com",),
    diff="--- a\n+++ b\n",
    assets=(ToolAsset("image/png", b"\x89PNG"),),
    presentation_notices=("only shown",),
)


def one_call() -> list[ScriptedTurn]:
    return [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")]


async def nothing(_context: object) -> ToolOutput:
    return ToolOutput.text("")


@pytest.mark.clause("D8")
def test_plans_say_how_they_run_and_abort_unless_they_ask_for_time() -> None:
    access = ToolResourceAccess.shared(SessionState())
    alone = PreparedToolInvocation.exclusive(METADATA, nothing)
    declared = PreparedToolInvocation.exclusive(METADATA, nothing, capabilities=[READ])
    aware = PreparedToolInvocation.resource_aware([access], [READ], METADATA, nothing)
    assert (alone.policy, alone.capabilities) == (ToolExecutionPolicy.EXCLUSIVE, ())
    assert (declared.policy, declared.capabilities) == (ToolExecutionPolicy.EXCLUSIVE, (READ,))
    assert (aware.policy, aware.accesses) == (ToolExecutionPolicy.RESOURCE_AWARE, (access,))
    for plan in (alone, declared, aware):
        assert plan.cleanup_timeout is None
        assert plan.complete_after_cancellation(2.0).cleanup_timeout == 2.0
        assert "a.txt" not in repr(plan)


@pytest.mark.clause("D9", "D10")
def test_contexts_know_the_root_of_their_workspace(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    token = CancellationToken()
    for context in (
        ToolPreparationContext(workspace, token),
        ToolContext(workspace=workspace),
        AuthorizedToolContext(workspace=workspace),
    ):
        assert context.workspace_root == tmp_path.resolve()
    assert ToolContext().workspace_root is None


@pytest.mark.clause("D11", "G8")
async def test_a_context_without_a_run_denies_and_asks_nobody() -> None:
    context = ToolContext()
    with pytest.raises(AuthorizationError) as denied:
        await context.authorize(READ)
    assert denied.value.denial is DenialKind.POLICY
    for detached in (context, context.without_authorization()):
        with pytest.raises(InvalidConfiguration, match="not attached to an active run"):
            await detached.request_host_input(QUESTION)
    assert not await context.progress.send(ToolProgress("nobody listens"))


class Passing(Tool):
    """Hands its approval session on to a tool host of its own."""

    def spec(self) -> Any:
        return tool_spec("t")

    async def call(self, invocation: ToolInvocation, context: ToolContext) -> ToolOutput:
        inner = PlannedTool("inner", self.inner, capabilities=(READ,))
        policy = ScopedWorkspacePolicy().allow_read_paths().require_read_approval()
        host = ToolHost([inner], policy=policy, approval_session=context.child_approval_session)
        return await host.invoke(ToolHostCall("inner", {}))

    async def inner(self, _invocation: ToolInvocation, _context: Any) -> ToolOutput:
        return ToolOutput.text("inner")


@pytest.mark.clause("D12")
async def test_a_child_approval_session_is_the_calls_own() -> None:
    handler = ScriptedHandler(AllowOnce())
    shared = ApprovalSession(handler)
    session, _ = await open_session(one_call(), tools=[Passing()], approval_session=shared)
    await run_all(session)
    assert results(session.history)[0].content == "inner"
    assert len(handler.requests) == 1
    assert [record.decision.value for record in shared.audit.records] == ["allowed_once"]


class Counting(ScriptedTool):
    """Counts how often each stage is entered."""

    def __init__(self) -> None:
        super().__init__("t")
        self.stages: list[str] = []

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        self.stages.append(f"prepare {invocation.id}")

        async def execute(_context: ToolContext) -> ToolOutput:
            self.stages.append(f"execute {invocation.id}")
            return ToolOutput.text("")

        return PreparedToolInvocation.exclusive(ToolMetadata(), execute)

    async def call(self, invocation: ToolInvocation, context: ToolContext) -> ToolOutput:
        raise AssertionError("the runtime enters by prepare")


@pytest.mark.clause("D6", "D21")
async def test_each_call_is_prepared_once_and_its_plan_used_once() -> None:
    tool = Counting()
    turns = [ScriptedTurn.calls(call("a", "t"), call("b", "t")), ScriptedTurn.completed("end")]
    session, _ = await open_session(turns, tools=[tool])
    await run_all(session)
    assert tool.stages == ["prepare a", "prepare b", "execute a", "execute b"]


@pytest.mark.clause("D39", "D41")
async def test_metadata_is_shown_and_reaches_neither_model_nor_authority() -> None:
    async def body(_invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        return ToolOutput.text("done", METADATA)

    session, provider = await open_session(
        one_call(), tools=[PlannedTool("t", body, metadata=METADATA)]
    )
    events, _ = await run_all(session)
    assert of(events, ev.ToolStarted)[0].metadata is METADATA
    completion = of(events, ev.ToolFinished)[0].completion
    assert isinstance(completion, ToolSucceeded)
    assert completion.output.metadata is METADATA
    assert results(provider.requests[1].messages)[0].content == "done"
    for shown in ("touch", "example.com", "only shown"):
        assert shown not in session.snapshot().to_json()
    assert session.diagnostics().approval_audit == ()


@pytest.mark.clause("D40", "C21")
async def test_progress_carries_units_and_metadata() -> None:
    sent = ToolProgress("half", completed_units=1, total_units=2, metadata=METADATA)
    session, _ = await open_session(one_call(), tools=[ScriptedTool("t", progress=[sent])])
    events, _ = await run_all(session)
    assert [e.progress for e in of(events, ev.ToolUpdated)] == [sent]
    assert (ToolProgress().message, ToolProgress().completed_units) == ("", None)


class Durations(HookObserver):
    def __init__(self) -> None:
        self.seen: dict[str, Any] = {}

    def observe(self, envelope: HookEnvelope) -> None:
        payload = envelope.to_dict()["payload"]
        if "duration_ms" in payload:
            self.seen[payload["tool"]["call_id"]] = payload["duration_ms"]


@pytest.mark.clause("D33", "D42")
async def test_hooks_hear_how_long_a_call_executed_and_nothing_for_one_that_never_did() -> None:
    clock, hooks = FakeClock(), Durations()

    async def body(_invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        await clock.sleep(1.5)
        return ToolOutput.text("")

    turns = [
        ScriptedTurn.calls(call("a", "t"), call("b", "denied"), call("c", "gone")),
        ScriptedTurn.completed("end"),
    ]
    tools = [PlannedTool("t", body), PlannedTool("denied", body, capabilities=(READ,))]
    session, _ = await open_session(turns, tools=tools, hook_observer=hooks, clock=clock)
    events, _ = await run_all(session)
    assert hooks.seen == {"a": 1500, "b": None, "c": None}
    denied = {e.call_id: e.completion for e in of(events, ev.ToolFinished)}["b"]
    assert isinstance(denied, ToolFailed)
    assert denied.kind is ToolErrorKind.POLICY_DENIED


@pytest.mark.clause("F12")
async def test_built_in_file_tools_resolve_off_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    threads: list[threading.Thread] = []
    resolve = Workspace.resolve

    def watched(self: Workspace, path: Any) -> Path:
        threads.append(threading.current_thread())
        return resolve(self, path)

    monkeypatch.setattr(Workspace, "resolve", watched)
    session = FileSession(tmp_path)
    await session.run("read_file", path="a.txt")
    await session.run("list_dir", path=".")
    await session.run("write", path="b.txt", content="y\n")
    await asyncio.sleep(0)
    assert threads
    assert threading.main_thread() not in threads
