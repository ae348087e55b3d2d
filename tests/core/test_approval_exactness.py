"""A remembered approval covers one exact request and nothing near it (E23, L6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.authority.approvals import ApprovalSession
from rho_core.authority.capabilities import (
    BuiltInTool,
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

# few values each, so that two requests are often nearly the same
words = st.sampled_from(["a", "b", "a b", "A"])
paths = st.sampled_from(["/w/a", "/w/b", "/w/a/b"]).map(Path)
scopes = st.one_of(
    st.just(PrimaryWorkspace()), st.just(UnrestrictedFilesystem()), paths.map(GrantedRoot)
)
arguments = st.lists(words, max_size=2).map(tuple)
selections = st.sampled_from(ExecutableSelection)
invocations = st.one_of(
    st.builds(DirectInvocation, words, selections, arguments),
    st.builds(ShellInvocation, words, selections, arguments, words),
)
environments = st.builds(ProcessEnvironment, st.sampled_from(EnvironmentMode), arguments)
limits = st.builds(ProcessLimits, st.integers(0, 2), st.sampled_from([None, 1.0, 2.0]))
operations = st.one_of(
    st.builds(ReadPath, paths, scopes),
    st.builds(WritePath, paths, scopes),
    st.builds(DiscoverInstructions, paths, scopes),
    st.builds(LoadSkill, words, st.one_of(st.none(), paths)),
    st.builds(NetworkAccess, st.just(ToolManagedNetwork())),
    st.builds(NetworkAccess, words.map(lambda word: NetworkUrl(f"https://{word}.test/"))),
    st.builds(
        ExecuteProcess, st.builds(ProcessExecution, paths, invocations, environments, limits)
    ),
)
sources = st.one_of(
    st.builds(HostProvidedTool, words), st.builds(BuiltInTool, words), st.just(PromptConstruction())
)
requests = st.builds(CapabilityRequest, operations, sources)


def spelled(value: Any) -> str:
    """Every fact of a value with its type: an oracle that knows nothing of equality."""
    if is_dataclass(value):
        inner = ",".join(spelled(getattr(value, one.name)) for one in fields(value))
        return f"{type(value).__name__}({inner})"
    if isinstance(value, tuple):
        return "[" + ",".join(map(spelled, value)) + "]"
    if isinstance(value, Enum):
        return value.name
    return f"{type(value).__name__}:{value!s}"


@pytest.mark.clause("E23", "E24", "L6")
@settings(max_examples=80)
@given(allowed=st.lists(requests, min_size=1, max_size=6), asked=st.lists(requests, max_size=12))
def test_a_request_is_remembered_exactly_if_every_fact_of_it_was_allowed(
    allowed: list[CapabilityRequest], asked: list[CapabilityRequest]
) -> None:
    memory = ApprovalSession()
    for request in allowed:
        memory.remember(request)
    known = {spelled(request) for request in allowed}
    for request in (*allowed, *asked):
        assert memory.is_remembered(request) is (spelled(request) in known)


def changed(value: Any) -> Iterator[Any]:
    """The same value with one fact changed, for each of its facts."""
    if is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            for other in changed(getattr(value, one.name)):
                yield replace(value, **{one.name: other})
    elif isinstance(value, tuple):
        yield (*value, "one more")
        yield from ((*value[:i], "changed", *value[i + 1 :]) for i in range(len(value)))
    elif isinstance(value, Enum):
        yield from (other for other in type(value) if other is not value)
    elif isinstance(value, Path):
        yield value / "deeper"
    elif isinstance(value, str):
        yield value + " "
    elif value is not None:
        yield value + 1


@pytest.mark.clause("E23")
@settings(max_examples=50)
@given(request=requests)
def test_changing_any_single_fact_asks_again(request: CapabilityRequest) -> None:
    memory = ApprovalSession()
    memory.remember(request)
    others = list(changed(request))
    assert others or isinstance(request.operation, NetworkAccess)
    for other in others:
        assert not memory.is_remembered(other)
