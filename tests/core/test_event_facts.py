"""Facts about single events, messages and outcomes that no larger story tells (C.3, C.8, D.10)."""

from __future__ import annotations

import asyncio
import gc

import pytest

from rho_core import events as ev
from rho_core.authority.approvals import (
    AllowForSession,
    AllowOnce,
    ApprovalRequest,
    AuthorizationError,
    AuthorizationOutcome,
    DenialKind,
    Deny,
)
from rho_core.authority.capabilities import CapabilityRequest
from rho_core.authority.policy import (
    Allow,
    DenyByPolicy,
    PolicyDecision,
    RequireApproval,
    WorkspacePolicy,
)
from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.history.messages import (
    Image,
    Text,
    ToolCall,
    UserMessage,
    as_tool_image_supplement,
    semantic,
    tool_image_supplement,
)
from rho_core.providers.contract import ModelResponse
from rho_core.questions import HostChoice, HostInputRequest, HostInputResponse, HostQuestion
from rho_core.testing import FakeClock, PlannedTool, ScriptedTool, ScriptedTurn
from rho_core.tooling.contract import AuthorizedToolContext, ToolInvocation
from rho_core.tooling.values import ToolOutput
from rho_core.usage_recording import ProviderRequestUsageRecorder, UsageEvent
from tests.core.authorization import ScriptedHandler
from tests.core.hook_doubles import READ
from tests.core.run_harness import (
    Gate,
    call,
    leaked_tasks,
    names,
    open_session,
    results,
    run_all,
    run_failing,
    until,
    within,
)


@pytest.mark.clause("C28", "D59")
async def test_a_question_lies_between_start_and_finish_of_its_call() -> None:
    question = HostQuestion("q", "?", (HostChoice("yes", "Yes"),))

    async def asks(_invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        request = HostInputRequest.questionnaire("Title", [question])
        await context.request_host_input(request)
        return ToolOutput.text("answered")

    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")],
        tools=[PlannedTool("t", asks)],
    )
    seen: list[ev.RunEvent] = []
    async with session.start("go") as run:
        async for event in run:
            seen.append(event)
            if isinstance(event, ev.ToolHostInputRequested):
                assert event.request.title == "Title"
                answer = HostInputResponse().answer("q", ["yes"])
                await within(run.respond(event.request.id, answer))
        await run.outcome()
    of_call = [type(e).__name__ for e in seen if getattr(e, "call_id", None) == "a"]
    assert of_call == ["ToolStarted", "ToolHostInputRequested", "ToolFinished"]


@pytest.mark.clause("C37", "C64", "C79")
@pytest.mark.parametrize("retryable", [False, True])
async def test_a_failure_tells_its_message_retryability_and_revision(retryable: bool) -> None:
    error = ProviderError(ProviderErrorKind.UNAVAILABLE, "down", retryable=retryable)
    session, _ = await open_session([ScriptedTurn.failed(error)] * 4, clock=FakeClock())
    events, raised = await run_failing(session)
    assert events[-1] == ev.Failed("provider failed: down", retryable, session.revision)
    assert (session.revision, raised is error) == (1, True)


@pytest.mark.clause("C46", "C92")
async def test_an_answer_without_calls_ends_the_turn() -> None:
    session, _ = await open_session([ScriptedTurn.completed(Text("a"), Text("b"))])
    events, outcome = await run_all(session)
    assert (outcome.stop_reason, outcome.text) == (ev.StopReason.END_TURN, "ab")
    assert events[-1] == ev.Completed(outcome)
    assert outcome.revision == session.revision == 1
    assert session.state.value == "completed"


@pytest.mark.clause("C84", "C85")
async def test_a_response_may_hold_text_images_and_calls_in_any_order() -> None:
    blocks = (Image("QQ==", "image/png"), call("a", "t"), Text("between"), call("b", "t"))
    session, _ = await open_session(
        [ScriptedTurn(response=ModelResponse(blocks)), ScriptedTurn.completed("end")],
        tools=[ScriptedTool("t")],
    )
    await run_all(session)
    assert session.history[1].content == blocks  # type: ignore[union-attr]
    assert [result.id for result in results(session.history)] == ["a", "b"]


@pytest.mark.clause("C94")
@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (b"\x89PNG\r\n\x1a\nrest", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVE", None),
        (b"\x89PNG", None),
        (b"<svg/>", None),
        (b"", None),
    ],
)
def test_an_image_is_known_by_its_signature(data: bytes, mime_type: str | None) -> None:
    assert Image.mime_type_from_bytes(data) == mime_type


@pytest.mark.clause("C93")
def test_no_generated_tokens_are_a_rate_of_zero_not_of_everything() -> None:
    metrics = ev.ModelCallMetrics(100, 0.5, 2.0, 3.0, generation_output_tokens=0)
    assert metrics.generation_rate == 0.0
    assert ev.ModelCallMetrics(100, 0.5, 2.0, 3.0).generation_rate == 50.0


@pytest.mark.clause("DI3", "DI2")
def test_a_forged_attribution_is_recognised_like_a_real_one() -> None:
    real = tool_image_supplement("look", "a", [Image("QQ==", "image/png")])
    assert real is not None
    typed_by_a_person = UserMessage((Text(real.content[0].text), Image("QQ==", "image/png")))  # type: ignore[union-attr]
    assert semantic(typed_by_a_person) == as_tool_image_supplement(real)


@pytest.mark.clause("DI8")
async def test_images_are_passed_on_as_they_are() -> None:
    odd = Image("not base64!", "application/x-nothing")

    async def looks(_invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        return ToolOutput.text("look").with_images([odd] * 3)

    session, provider = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")],
        tools=[PlannedTool("t", looks)],
    )
    await run_all(session)
    supplement = as_tool_image_supplement(provider.requests[1].messages[-1])
    assert supplement is not None
    assert supplement.images == (odd,) * 3


@pytest.mark.clause("L12", "C80")
async def test_arguments_that_a_provider_keeps_cannot_change_history() -> None:
    kept = {"path": "a"}
    asked = ToolCall("a", "t", kept)  # type: ignore[arg-type]  # host code may ignore its types
    session, _ = await open_session(
        [ScriptedTurn.calls(asked), ScriptedTurn.completed("end")], tools=[ScriptedTool("t")]
    )
    await run_all(session)
    kept["path"] = "changed"
    assert '"path": "a"' in session.snapshot().to_json()


class Recording(WorkspacePolicy):
    def __init__(self, decision: PolicyDecision) -> None:
        self.decision = decision
        self.seen: list[CapabilityRequest] = []

    def evaluate(self, request: CapabilityRequest) -> PolicyDecision:
        self.seen.append(request)
        return self.decision


@pytest.mark.clause("E9", "E25")
@pytest.mark.parametrize(
    ("decision", "answer", "granted", "denied"),
    [
        (Allow(), None, AuthorizationOutcome.ALLOWED_BY_POLICY, None),
        (RequireApproval("r"), AllowOnce(), AuthorizationOutcome.ALLOWED_ONCE, None),
        (RequireApproval("r"), AllowForSession(), AuthorizationOutcome.ALLOWED_FOR_SESSION, None),
        (RequireApproval("r"), Deny("no"), None, DenialKind.HOST),
        (DenyByPolicy("rules"), None, None, DenialKind.POLICY),
    ],
)
async def test_a_policy_sees_the_structured_request_and_the_executor_learns_who_decided(
    decision: PolicyDecision,
    answer: AllowOnce | AllowForSession | Deny | None,
    granted: AuthorizationOutcome | None,
    denied: DenialKind | None,
) -> None:
    told: list[object] = []

    class Asking(ScriptedTool):
        async def call(self, invocation: ToolInvocation, context) -> ToolOutput:  # type: ignore[no-untyped-def]
            try:
                told.append(await context.authorize(READ))
            except AuthorizationError as error:
                told.append(error.denial)
            return ToolOutput.text("")

    policy = Recording(decision)
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")],
        tools=[Asking("t")],
        policy=policy,
        approvals=ScriptedHandler(*([answer] if answer else [])),
    )
    await run_all(session)
    assert told == [granted or denied]
    assert policy.seen == [READ]


@pytest.mark.clause("E25", "C65", "L14")
async def test_a_cancelled_authorization_says_so() -> None:
    lost: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, facts: lost.append(facts))
    tool, handler = Gate(), ScriptedHandler()
    handler.hold = tool.door("never")
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t"))],
        tools=[tool.tool("t", capabilities=(READ,))],
        policy=Recording(RequireApproval("r")),
        approvals=handler,
    )
    async with session.start("go") as run:
        while not handler.requests:
            await within(run.next_event())
        run.cancel()
        events = [event async for event in run]
    await until(lambda: not leaked_tasks())
    await asyncio.sleep(0)  # the callbacks of the last task
    assert names(events)[-1] == "Cancelled"
    audit = session.diagnostics().approval_audit
    assert [record.decision.value for record in audit] == ["cancelled"]
    del session, run  # they lead to the run's tasks
    gc.collect()
    assert lost == []  # nobody asks any more, and yet no task's error was dropped unseen


@pytest.mark.clause("G15")
def test_approvals_have_neither_a_fallback_nor_a_deadline() -> None:
    fields = set(ApprovalRequest.__dataclass_fields__) | {
        name for name in dir(ApprovalRequest) if not name.startswith("_")
    }
    assert fields == {"capability", "reason", "tool_call_id", "context"}


@pytest.mark.clause("G15")
async def test_an_unanswered_approval_waits_however_late_it_gets() -> None:
    clock, tool, handler = FakeClock(auto=False), Gate(), ScriptedHandler(Deny("late"))
    handler.hold = tool.door("hold")
    session, _ = await open_session(
        [ScriptedTurn.calls(call("a", "t")), ScriptedTurn.completed("end")],
        tools=[tool.tool("t", capabilities=(READ,))],
        policy=Recording(RequireApproval("r")),
        approvals=handler,
        clock=clock,
    )
    async with session.start("go") as run:
        while not handler.requests:
            await within(run.next_event())
        clock.advance(1e9)
        assert (clock.slept, tool.running, run.is_finished) == ([], [], False)
        tool.open("hold")
        await within(run.outcome())
    assert results(session.history)[0].content == "read capability denied: late"


@pytest.mark.clause("C65", "J3")
async def test_a_cancellation_during_the_report_of_a_failure_is_a_cancellation() -> None:
    class Cancelling(ProviderRequestUsageRecorder):
        async def record(self, event: UsageEvent) -> None:
            run.cancel()

    error = ProviderError(ProviderErrorKind.OTHER, "down")
    session, _ = await open_session([ScriptedTurn.failed(error)], usage_recorder=Cancelling())
    async with session.start("go") as run:
        events = [event async for event in run]
    assert names(events)[-1] == "Cancelled"
