"""Policies: independent classes, strict networks, fixed order (E9–E15)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityRequest,
    DirectInvocation,
    DiscoverInstructions,
    ExecutableSelection,
    ExecuteProcess,
    GrantedRoot,
    HostProvidedTool,
    LoadSkill,
    NetworkAccess,
    NetworkUrl,
    PrimaryWorkspace,
    ProcessEnvironment,
    ProcessExecution,
    ProcessLimits,
    ReadPath,
    ToolManagedNetwork,
    UnrestrictedFilesystem,
    WritePath,
)
from rho_core.authority.policy import (
    APPROVAL_REQUIRED,
    DENIED_BY_DEFAULT,
    DESTINATION_NOT_GRANTED,
    KIND_NOT_GRANTED,
    OUTSIDE_NOT_GRANTED,
    Allow,
    DenyAllPolicy,
    DenyByPolicy,
    RequireApproval,
    ScopedWorkspacePolicy,
)
from rho_core.errors import InvalidConfiguration

URL = "https://example.com/path"


def _request(operation, source=None) -> CapabilityRequest:
    return CapabilityRequest(operation, source or BuiltInTool("tool"))


def _url(url: str) -> CapabilityRequest:
    return _request(NetworkAccess(NetworkUrl(url)))


def _all_kinds(scope=None) -> dict[str, CapabilityRequest]:
    scope = scope or PrimaryWorkspace()
    path = Path("/w/x")
    execution = ProcessExecution(
        path,
        DirectInvocation("git", ExecutableSelection.SEARCH_PATH),
        ProcessEnvironment(),
        ProcessLimits(1),
    )
    return {
        "read": _request(ReadPath(path, scope)),
        "write": _request(WritePath(path, scope)),
        "process": _request(ExecuteProcess(execution)),
        "network": _url(URL),
        "skill": _request(LoadSkill("s", None)),
        "instruction": _request(DiscoverInstructions(path, scope)),
    }


GRANTS = {
    "read": lambda policy: policy.allow_read_paths(),
    "write": lambda policy: policy.allow_write_paths(),
    "process": lambda policy: policy.allow_processes(),
    "network": lambda policy: policy.allow_network_host("example.com"),
    "skill": lambda policy: policy.allow_skills(),
    "instruction": lambda policy: policy.allow_instruction_discovery(),
}
APPROVALS = {
    "read": lambda policy: policy.require_read_approval(),
    "write": lambda policy: policy.require_write_approval(),
    "process": lambda policy: policy.require_process_approval(),
    "network": lambda policy: policy.require_network_approval(),
    "skill": lambda policy: policy.require_skill_approval(),
    "instruction": lambda policy: policy.require_instruction_approval(),
}


@pytest.mark.clause("E10")
def test_the_default_policy_denies_every_capability_class() -> None:
    for request in _all_kinds().values():
        assert DenyAllPolicy().evaluate(request) == DenyByPolicy(DENIED_BY_DEFAULT)
        assert ScopedWorkspacePolicy().evaluate(request) == DenyByPolicy(KIND_NOT_GRANTED)


@pytest.mark.clause("E11", "E12")
@pytest.mark.parametrize("granted", GRANTS)
def test_capabilities_are_independent(granted: str) -> None:
    policy = GRANTS[granted](ScopedWorkspacePolicy())
    for kind, request in _all_kinds().items():
        expected = Allow() if kind == granted else DenyByPolicy(KIND_NOT_GRANTED)
        assert policy.evaluate(request) == expected


@pytest.mark.clause("E12", "E13")
@pytest.mark.parametrize("kind", APPROVALS)
def test_requiring_approval_does_not_grant(kind: str) -> None:
    request = _all_kinds()[kind]
    required = APPROVALS[kind](ScopedWorkspacePolicy())
    assert required.evaluate(request) == DenyByPolicy(KIND_NOT_GRANTED)
    assert GRANTS[kind](required).evaluate(request) == RequireApproval(APPROVAL_REQUIRED)
    others = [other for other in APPROVALS if other != kind]
    for other in others:
        granted = GRANTS[other](required)
        assert granted.evaluate(_all_kinds()[other]) == Allow()


@pytest.mark.clause("E12", "E13")
@pytest.mark.parametrize("scope", [GrantedRoot(Path("/g")), UnrestrictedFilesystem()])
def test_outside_paths_need_their_own_grant(scope) -> None:
    outside = ScopedWorkspacePolicy().allow_outside_workspace_paths()
    for kind in ("read", "write", "instruction"):
        request = _all_kinds(scope)[kind]
        assert outside.evaluate(request) == DenyByPolicy(KIND_NOT_GRANTED)
        granted = GRANTS[kind](ScopedWorkspacePolicy())
        assert granted.evaluate(request) == DenyByPolicy(OUTSIDE_NOT_GRANTED)
        asked = APPROVALS[kind](granted)
        assert asked.evaluate(request) == DenyByPolicy(OUTSIDE_NOT_GRANTED)
        assert granted.allow_outside_workspace_paths().evaluate(request) == Allow()


@pytest.mark.clause("E14")
@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        (URL, True),
        ("https://EXAMPLE.com./path", True),
        ("http://example.com:8080/?q#f", True),
        ("https://user@example.com/", False),
        ("https://:pw@example.com/", False),
        ("https://@example.com/", False),
        ("file:///etc/passwd", False),
        ("file://example.com/etc/passwd", False),
        ("ftp://example.com/", False),
        ("https://example.com.evil.test/", False),
        ("https://sub.example.com/", False),
        ("https://evil.test/example.com", False),
        ("https://evil.test\\@example.com/", False),
        ("https://example.com\t/", False),
        ("not a url", False),
    ],
)
def test_network_urls_are_strict(url: str, allowed: bool) -> None:
    policy = ScopedWorkspacePolicy().allow_network_host("Example.COM.")
    expected = Allow() if allowed else DenyByPolicy(DESTINATION_NOT_GRANTED)
    assert policy.evaluate(_url(url)) == expected
    asked = policy.require_network_approval().evaluate(_url(url))
    assert asked == (RequireApproval(APPROVAL_REQUIRED) if allowed else expected)


@pytest.mark.clause("E14")
def test_a_host_that_can_never_match_is_refused_at_once() -> None:
    for host in ("", "https://example.com", "example.com/path", "a b"):
        with pytest.raises(InvalidConfiguration):
            ScopedWorkspacePolicy().allow_network_host(host)


@pytest.mark.clause("E13", "E15")
def test_tool_managed_networks_are_granted_to_built_ins_by_name() -> None:
    policy = ScopedWorkspacePolicy().allow_network_tool("web_search")
    managed = NetworkAccess(ToolManagedNetwork())
    denied = DenyByPolicy(DESTINATION_NOT_GRANTED)
    assert policy.evaluate(_request(managed, BuiltInTool("web_search"))) == Allow()
    assert policy.evaluate(_request(managed, BuiltInTool("other"))) == denied
    assert policy.evaluate(_request(managed, HostProvidedTool("web_search"))) == denied
    assert policy.evaluate(_url(URL)) == denied
    host_only = ScopedWorkspacePolicy().allow_network_host("example.com")
    assert host_only.evaluate(_request(managed, BuiltInTool("web_search"))) == denied


@pytest.mark.clause("E11")
def test_builders_return_copies() -> None:
    empty = ScopedWorkspacePolicy()
    empty.allow_read_paths().allow_network_host("example.com")
    assert empty == ScopedWorkspacePolicy()
