"""Structured requests: kinds, exact equality, and what their repr gives away (E1–E8, E23)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityKind,
    CapabilityRequest,
    DirectInvocation,
    DiscoverInstructions,
    EnvironmentMode,
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
    PromptConstruction,
    ReadPath,
    ShellInvocation,
    ToolManagedNetwork,
    UnrestrictedFilesystem,
    WritePath,
)

SHELL = ProcessExecution(
    Path("/w"),
    ShellInvocation("/bin/sh", ExecutableSelection.EXACT_PATH, ("-c",), "echo hunter2"),
    ProcessEnvironment(EnvironmentMode.INHERIT_EXCEPT, ("A", "B")),
    ProcessLimits(1024, 5.0),
)
SOURCE = BuiltInTool("bash")


def request(operation) -> CapabilityRequest:
    return CapabilityRequest(operation, SOURCE)


@pytest.mark.clause("E1", "E2")
def test_every_operation_has_its_kind_and_label() -> None:
    path, scope = Path("/w/x"), PrimaryWorkspace()
    labels = {
        "read": ReadPath(path, scope),
        "write": WritePath(path, scope),
        "process": ExecuteProcess(SHELL),
        "network": NetworkAccess(ToolManagedNetwork()),
        "skill": LoadSkill("s", None),
        "instruction discovery": DiscoverInstructions(path, scope),
    }
    for label, operation in labels.items():
        assert request(operation).kind == label
    assert set(labels) == set(CapabilityKind)


@pytest.mark.clause("E4")
def test_only_path_operations_can_be_outside_the_primary_workspace() -> None:
    path = Path("/w/x")
    for scope in (GrantedRoot(Path("/g")), UnrestrictedFilesystem()):
        for operation in (ReadPath, WritePath, DiscoverInstructions):
            assert request(operation(path, scope)).is_outside_primary
            assert not request(operation(path, PrimaryWorkspace())).is_outside_primary
    for operation in (
        ExecuteProcess(SHELL),
        NetworkAccess(NetworkUrl("https://x.test")),
        LoadSkill("s", Path("/elsewhere")),
    ):
        assert not request(operation).is_outside_primary


@pytest.mark.clause("E3", "E18")
def test_source_names() -> None:
    operation = LoadSkill("s", None)
    assert CapabilityRequest(operation, HostProvidedTool("mine")).source_name == "mine"
    assert CapabilityRequest(operation, BuiltInTool("skill")).source_name == "skill"
    assert CapabilityRequest(operation, PromptConstruction()).source_name == "<prompt>"
    prompt = CapabilityRequest.instruction_discovery(Path("/w/AGENTS.md"), PrimaryWorkspace())
    assert prompt.source == PromptConstruction()
    assert prompt.kind is CapabilityKind.INSTRUCTION_DISCOVERY


@pytest.mark.clause("E5", "E8")
def test_structured_process_context_never_requires_shell_parsing() -> None:
    assert SHELL.shell_command == "echo hunter2"
    direct = DirectInvocation("git", ExecutableSelection.SEARCH_PATH, ("log", "--token=hunter2"))
    assert replace(SHELL, invocation=direct).shell_command is None
    for value in (request(ExecuteProcess(SHELL)), direct):
        assert "hunter2" not in repr(value)
        assert "redacted" in repr(value)
    shown = repr(request(ExecuteProcess(SHELL)))
    assert "/bin/sh" in shown
    assert "'A'" in shown


@pytest.mark.clause("E8")
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:hunter2@Example.COM/p?token=hunter2#hunter2", "'https://example.com'"),
        ("http://example.com:80/hunter2", "'http://example.com'"),
        ("http://example.com:8080/hunter2", "'http://example.com:8080'"),
        ("hunter2", "[invalid url]"),
        ("https://", "[invalid url]"),
        ("https://exa\nmple.com/hunter2", "[invalid url]"),
    ],
)
def test_a_url_shows_only_its_origin(url: str, shown: str) -> None:
    text = repr(NetworkUrl(url))
    assert shown in text
    assert "hunter2" not in text


@pytest.mark.clause("E6")
def test_inherit_except_normalises_and_direct_construction_does_not() -> None:
    environment = ProcessEnvironment.inherit_except(["B", "A", "B"])
    assert environment == ProcessEnvironment(EnvironmentMode.INHERIT_EXCEPT, ("A", "B"))
    assert ProcessEnvironment.inherit_except([]) == ProcessEnvironment()
    assert ProcessEnvironment(EnvironmentMode.INHERIT_LISTED, ("B", "A", "B")).names == (
        "B", "A", "B",
    )  # fmt: skip


@pytest.mark.clause("E6")
def test_the_environment_of_a_child_is_composed_from_names() -> None:
    parent = {"A": "1", "B": "2"}
    assert ProcessEnvironment(EnvironmentMode.EMPTY).compose(parent) == {}
    assert ProcessEnvironment().compose(parent) == parent
    listed = ProcessEnvironment(EnvironmentMode.INHERIT_LISTED, ("A", "C"))
    assert listed.compose(parent) == {"A": "1"}
    assert ProcessEnvironment.inherit_except(["A"]).compose(parent) == {"B": "2"}


@pytest.mark.clause("E7")
def test_limits_are_at_least_one_byte_and_never_booleans() -> None:
    assert ProcessLimits(0).max_output_bytes == 1
    assert ProcessLimits(-5).max_output_bytes == 1
    with pytest.raises(TypeError):
        ProcessLimits(True)
    with pytest.raises(TypeError):
        ProcessLimits(1, False)


def _process(**changes) -> CapabilityRequest:
    return request(ExecuteProcess(replace(SHELL, **changes)))


def _shell(**changes) -> CapabilityRequest:
    return _process(invocation=replace(SHELL.invocation, **changes))


@pytest.mark.clause("E23")
def test_requests_are_equal_only_when_every_fact_is() -> None:
    path, scope = Path("/w/x"), PrimaryWorkspace()
    variants = [
        request(ReadPath(path, scope)),
        request(WritePath(path, scope)),
        request(DiscoverInstructions(path, scope)),
        request(ReadPath(Path("/w/y"), scope)),
        request(ReadPath(path, UnrestrictedFilesystem())),
        request(ReadPath(path, GrantedRoot(Path("/g")))),
        request(ReadPath(path, GrantedRoot(Path("/h")))),
        CapabilityRequest(ReadPath(path, scope), HostProvidedTool("bash")),
        CapabilityRequest(ReadPath(path, scope), BuiltInTool("other")),
        CapabilityRequest(ReadPath(path, scope), PromptConstruction()),
        request(ExecuteProcess(SHELL)),
        _process(working_directory=Path("/v")),
        _process(environment=ProcessEnvironment()),
        _process(environment=ProcessEnvironment(EnvironmentMode.INHERIT_EXCEPT, ("B", "A"))),
        _process(environment=ProcessEnvironment(EnvironmentMode.INHERIT_LISTED, ("A", "B"))),
        _process(limits=ProcessLimits(1025, 5.0)),
        _process(limits=ProcessLimits(1024)),
        _shell(command="echo hunter3"),
        _shell(executable="/bin/bash"),
        _shell(selection=ExecutableSelection.SEARCH_PATH),
        _shell(arguments=("-l", "-c")),
        _process(invocation=DirectInvocation("/bin/sh", ExecutableSelection.EXACT_PATH, ("-c",))),
        request(NetworkAccess(NetworkUrl("https://a.test/"))),
        request(NetworkAccess(NetworkUrl("https://a.test"))),
        request(NetworkAccess(ToolManagedNetwork())),
        request(LoadSkill("a", None)),
        request(LoadSkill("b", None)),
        request(LoadSkill("a", Path("/w/a"))),
    ]
    assert len(set(variants)) == len(variants)
    for index, left in enumerate(variants):
        assert [left == right for right in variants].count(True) == 1, index
    assert request(ReadPath(Path("/w/x"), PrimaryWorkspace())) == variants[0]
