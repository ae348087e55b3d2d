"""Secrets appear where they must and nowhere else (K.7 redaction_canary)."""

from __future__ import annotations

import pytest

from rho_core import events as ev
from rho_core.authority.approvals import AllowForSession, ApprovalContext, ApprovalRequest, Deny
from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityRequest,
    ExecuteProcess,
    NetworkAccess,
    NetworkUrl,
)
from rho_core.authority.policy import ScopedWorkspacePolicy
from rho_core.cancellation import CancellationToken
from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.ids import SessionId
from rho_core.providers.contract import OutputDelta, ProviderContext
from rho_core.runtime import Rho
from rho_core.secret import SecretString
from rho_core.testing import PlannedTool, ScriptedProvider, ScriptedTool, ScriptedTurn
from rho_core.tooling.contract import AuthorizedToolContext, PreparedToolInvocation, ToolInvocation
from rho_core.tooling.resources import Opaque, ToolResourceAccess
from rho_core.tooling.values import ToolMetadata, ToolOutput
from tests.core.authorization import ScriptedHandler
from tests.core.hook_doubles import Collector, ScriptedGate, direct, shell
from tests.core.run_harness import (
    call,
    collect,
    of,
    open_session,
    run_all,
    run_failing,
    within,
)

CANARY = "canary-7f3a"
ENCODED = "".join(f"%{ord(character):02x}" for character in CANARY)
URLS = [
    f"https://user:{CANARY}@host.test/",
    f"https://host.test/?token={CANARY}",
    f"https://host.test/#{CANARY}",
    f"https://user:{ENCODED}@host.test/?t={ENCODED}",
    f"not a url {CANARY}",
]


@pytest.mark.clause("A34", "A38", "C99")
async def test_canaries_are_absent_from_repr_diagnostics_and_errors() -> None:
    error = ProviderError(ProviderErrorKind.OTHER, "refused", diagnostic=f"body {CANARY}")
    provider = ScriptedProvider(
        [
            ScriptedTurn.streaming([ProviderContext("sig", CANARY), OutputDelta("hi")]),
            ScriptedTurn.failed(error),
        ]
    )
    rho = Rho(provider, system_prompt=f"prompt {CANARY}", tools=[ScriptedTool("t")])
    session = await rho.session()
    async with session.start("hello") as run:
        events = await within(collect(run))
        outcome = await run.outcome()
    failing, raised = await run_failing(session)
    shown = [
        repr(rho),
        repr(rho._configuration),
        repr(session),
        repr(session.snapshot()),
        repr(rho.diagnostics()),
        repr(session.diagnostics()),
        repr(events),
        repr(outcome),
        repr(failing),
        repr(raised),
        str(raised),
    ]
    for text in shown:
        assert CANARY not in text
    document = session.snapshot().to_json()
    assert document.count(CANARY) == 2  # the prompt and the provider's replay data


@pytest.mark.clause("D13", "E8")
async def test_a_failing_tools_arguments_do_not_leak_into_its_error() -> None:
    session = await Rho(
        ScriptedProvider(
            [ScriptedTurn.calls(call("a", "t", secret=CANARY)), ScriptedTurn.completed("end")]
        ),
        tools=[ScriptedTool("t", KeyError("missing"))],
    ).session()
    await session.complete("go")
    assert CANARY not in repr(session)
    assert CANARY not in session.history[2].content  # type: ignore[union-attr]


def fetch(url: str) -> CapabilityRequest:
    return CapabilityRequest(NetworkAccess(NetworkUrl(url)), BuiltInTool("fetch"))


SECRET_REQUESTS = [shell(f"login {CANARY}"), direct("--password", CANARY), *map(fetch, URLS)]


@pytest.mark.clause("E8", "E31", "D13", "C101")
@pytest.mark.parametrize("request_", SECRET_REQUESTS)
async def test_canaries_of_requests_reach_no_representation(request_: CapabilityRequest) -> None:
    context = ApprovalContext(SessionId("s"), CancellationToken())
    access = ToolResourceAccess.exclusive(Opaque("owner", CANARY))

    async def execute(_context: object) -> ToolOutput:
        return ToolOutput.text("")

    plan = PreparedToolInvocation.resource_aware([access], [request_], ToolMetadata(), execute)
    for value in (
        request_,
        ApprovalRequest(request_, f"reason {CANARY}", None, context),
        plan,
        access,
        SecretString(CANARY),
    ):
        assert CANARY not in repr(value) + str(value)
        assert ENCODED not in repr(value) + str(value)


@pytest.mark.clause("A38", "E29", "I5", "E24")
async def test_canaries_of_authority_stay_with_handler_and_gate() -> None:
    handler = ScriptedHandler(*[AllowForSession()] * 2, *[Deny(f"because {CANARY}")] * 5)
    seen, gate = Collector(), ScriptedGate()

    async def body(_invocation: ToolInvocation, _context: AuthorizedToolContext) -> ToolOutput:
        return ToolOutput.text("done")

    policy = ScopedWorkspacePolicy().allow_processes().require_process_approval()
    policy = policy.allow_network_host("host.test").require_network_approval()
    tools = [
        PlannedTool(f"t{index}", body, capabilities=(request,))
        for index, request in enumerate(SECRET_REQUESTS)
    ]
    asked = [call(str(index), f"t{index}") for index in range(len(tools))]
    session, _ = await open_session(
        [ScriptedTurn.calls(*asked), ScriptedTurn.completed("end")],
        tools=tools,
        policy=policy,
        approvals=handler,
        hook_observer=seen,
        pre_tool_gate=gate,
    )
    events, _ = await run_all(session)
    assert len(of(events, ev.ToolFinished)) == len(tools)
    envelopes = [one.envelope.to_dict() for one in gate.requests]
    network = [e for e in envelopes if e["payload"]["capability"]["operation"] == "network_access"]
    assert network
    for hidden in (
        session.diagnostics(),
        session.approvals,
        handler.requests,
        of(events, ev.ToolStarted, ev.ToolProposed),
        network,
    ):
        assert CANARY not in repr(hidden)
        assert ENCODED not in repr(hidden)
    operation = handler.requests[0].capability.operation
    assert isinstance(operation, ExecuteProcess)
    assert operation.execution.shell_command == f"login {CANARY}"  # who decides does see it
