"""What hook payloads show, and what never occurs in them (I4–I6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityRequest,
    DiscoverInstructions,
    GrantedRoot,
    HostProvidedTool,
    LoadSkill,
    NetworkAccess,
    NetworkUrl,
    PrimaryWorkspace,
    PromptConstruction,
    ReadPath,
    ToolManagedNetwork,
    UnrestrictedFilesystem,
    WritePath,
)
from rho_core.authority.pipeline import gated_outcome
from rho_core.authority.policy import Allow, DenyByPolicy, RequireApproval
from rho_core.errors import (
    AuthenticationFailed,
    Cancelled,
    ErrorKind,
    Interrupted,
    InvalidConfiguration,
    InvalidHostResponse,
    PersistenceError,
    PolicyDenied,
    ProviderError,
    ProviderErrorKind,
    RuntimeShutdown,
    SessionBusy,
    ToolError,
    ToolErrorKind,
)
from rho_core.hooks.bounds import FieldBounder, HookBounds
from rho_core.hooks.payload import (
    RunCompleted,
    ToolUseStatus,
    after_tool_use,
    capability_summary,
    hook_failure,
    hook_tool,
    run_failure,
    status_of,
    tool_name_of,
)
from rho_core.ids import ToolCallId
from rho_core.json_values import canonical_json, thaw
from rho_core.tooling.values import ToolFailed, ToolOutput, ToolSucceeded, ToolUnavailable
from tests.core.hook_doubles import READ, direct, shell

SOURCE = BuiltInTool("tool")


def summary(request, field: int = 8192, envelope: int = 65_536) -> tuple[dict, tuple[str, ...]]:
    bounder = FieldBounder(HookBounds(field, envelope))
    return thaw(capability_summary(request, bounder)), bounder.report.fields


def of(operation) -> CapabilityRequest:
    return CapabilityRequest(operation, SOURCE)


@pytest.mark.clause("I5")
def test_path_summaries_keep_the_path_and_a_scope_word() -> None:
    expected = {"operation": "read_path", "path": "/w/a.txt", "scope": "primary_workspace"}
    assert summary(READ) == (expected, ())
    path = Path("/elsewhere/x")
    write = summary(of(WritePath(path, GrantedRoot(Path("/secret-root")))))[0]
    assert write == {"operation": "write_path", "path": "/elsewhere/x", "scope": "granted_root"}
    discover = summary(of(DiscoverInstructions(path, UnrestrictedFilesystem())))[0]
    assert discover["operation"] == "discover_instructions"
    assert discover["scope"] == "unrestricted_filesystem"


@pytest.mark.clause("I5")
def test_a_shell_summary_exposes_the_command_a_deny_hook_must_inspect() -> None:
    assert summary(shell("rm -rf /"))[0] == {
        "operation": "execute_process",
        "working_directory": "/w",
        "executable": "/bin/sh",
        "arguments": ["-c"],
        "shell_command": "rm -rf /",
        "environment": "inherit_except",
    }


@pytest.mark.clause("I5")
def test_a_direct_executable_reports_no_shell_command_and_no_environment_names() -> None:
    shown = summary(direct("log", "-1"))[0]
    assert shown["shell_command"] is None
    assert shown["arguments"] == ["log", "-1"]
    assert "API_KEY" not in canonical_json(shown)
    assert "1000" not in canonical_json(shown)


@pytest.mark.clause("I5")
@pytest.mark.parametrize(
    ("url", "shown", "host", "query"),
    [
        ("https://u:pw@Example.com:443/p?tok=1#f", "https://example.com/p", "example.com", True),
        ("http://example.com:8080", "http://example.com:8080/", "example.com", False),
        ("https://[::1]/x", "https://[::1]/x", "[::1]", False),
        ("no url at all", None, None, False),
    ],
)
def test_a_network_summary_drops_credentials_and_query_strings(url, shown, host, query) -> None:
    assert summary(of(NetworkAccess(NetworkUrl(url))))[0] == {
        "operation": "network_access", "url": shown, "host": host, "query_present": query,
    }  # fmt: skip


@pytest.mark.clause("I5")
def test_a_tool_managed_destination_reports_no_url() -> None:
    assert summary(of(NetworkAccess(ToolManagedNetwork())))[0] == {
        "operation": "network_access", "url": None, "host": None, "query_present": False,
    }  # fmt: skip


@pytest.mark.clause("I5")
def test_skill_summaries() -> None:
    assert summary(of(LoadSkill("s", None)))[0] == {
        "operation": "load_skill", "name": "s", "path": None,
    }  # fmt: skip
    assert summary(of(LoadSkill("s", Path("/w/s"))))[0]["path"] == "/w/s"


@pytest.mark.clause("I7", "I8")
@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        (of(ReadPath(Path("/long/path"), PrimaryWorkspace())), ("payload.capability.path",)),
        (
            of(LoadSkill("longname", Path("/long/path"))),
            ("payload.capability.name", "payload.capability.path"),
        ),
        (
            of(NetworkAccess(NetworkUrl("https://example.com"))),
            ("payload.capability.host", "payload.capability.url"),
        ),
        (
            shell("echo long"),
            ("payload.capability.executable", "payload.capability.shell_command"),
        ),
        (direct("ok", "longer"), ("payload.capability.arguments[1]",)),
    ],
)
def test_externally_supplied_fields_are_cut_and_named(request_, fields) -> None:
    assert summary(request_, field=4)[1] == fields


@pytest.mark.clause("I8")
def test_total_arguments_are_bounded_and_reported() -> None:
    shown, cut = summary(direct(*["aaaa"] * 8), envelope=12)
    assert shown["arguments"] == ["aaaa"] * 3
    assert cut == ("payload.capability.arguments",)


@pytest.mark.clause("I7", "I9")
def test_tool_identity_and_failures_are_bounded() -> None:
    bounder = FieldBounder(HookBounds(1))
    tool = hook_tool("name", ToolCallId("ä"), bounder)
    assert (tool.name, tool.call_id) == ("n", "_")
    failure = hook_failure("kind", "message", bounder)
    assert (failure.kind, failure.message) == ("k", "m")
    assert bounder.report.fields == (
        "payload.failure.kind", "payload.failure.message", "payload.tool.call_id",
        "payload.tool.name",
    )  # fmt: skip
    assert hook_tool("n", None, bounder).call_id is None


@pytest.mark.clause("E18")
def test_the_tool_name_comes_from_the_capability_source() -> None:
    operation = READ.operation
    for source, name in (
        (BuiltInTool("a"), "a"), (HostProvidedTool("b"), "b"), (PromptConstruction(), "<prompt>"),
    ):  # fmt: skip
        assert CapabilityRequest(operation, source).source_name == name


@pytest.mark.clause("I4", "DI5")
def test_completions_map_to_statuses_and_outputs_stay_out() -> None:
    bounder = FieldBounder(HookBounds())
    tool = hook_tool("t", ToolCallId("1"), bounder)
    ok = after_tool_use(tool, ToolSucceeded(ToolOutput.text("secret output")), 1.2345, bounder)
    assert ok.to_dict() == {
        "tool": {"name": "t", "call_id": "1"},
        "status": "succeeded",
        "failure": None,
        "duration_ms": 1234,
    }
    failed = after_tool_use(tool, ToolFailed(ToolErrorKind.EXECUTION, "boom"), None, bounder)
    assert failed.to_dict()["failure"] == {"kind": "execution", "message": "boom"}
    assert failed.duration_ms is None
    gone = after_tool_use(tool, ToolUnavailable(), None, bounder)
    assert (gone.status, gone.failure) == (ToolUseStatus.UNAVAILABLE, None)


@pytest.mark.clause("I4")
def test_matchers_read_tool_name_and_status_from_the_payload() -> None:
    bounder = FieldBounder(HookBounds())
    after = after_tool_use(hook_tool("t", None, bounder), ToolUnavailable(), None, bounder)
    assert tool_name_of(after) == "t"
    assert status_of(after) is ToolUseStatus.UNAVAILABLE
    run = RunCompleted("end_turn", 1)
    assert tool_name_of(run) is None
    assert status_of(run) is None


@pytest.mark.clause("I6")
def test_every_error_has_a_stable_label() -> None:
    errors = {
        "invalid_configuration": InvalidConfiguration("x"),
        "authentication": AuthenticationFailed("x"),
        "provider": ProviderError(ProviderErrorKind.INTERRUPTED, "x"),
        "tool": ToolError.execution("x"),
        "persistence": PersistenceError("x"),
        "policy_denied": PolicyDenied("x"),
        "runtime_shutdown": RuntimeShutdown(),
        "session_busy": SessionBusy(),
        "cancelled": Cancelled(),
        "interrupted": Interrupted("x"),
        "invalid_host_response": InvalidHostResponse("x"),
    }
    assert set(errors) == {kind.value for kind in ErrorKind}
    for label, error in errors.items():
        assert run_failure(error, FieldBounder(HookBounds())).kind == label
    assert [kind.value for kind in ToolErrorKind] == [
        "invalid_arguments", "execution", "policy_denied", "cancelled",
    ]  # fmt: skip


@pytest.mark.clause("E17", "I12")
def test_a_policy_denial_produces_no_hook_outcome() -> None:
    assert gated_outcome(Allow()) == "allow"
    assert gated_outcome(RequireApproval("x")) == "require_approval"
    assert gated_outcome(DenyByPolicy("x")) is None
