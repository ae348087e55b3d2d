"""Any batch: conflicts never overlap, order is the model's, nobody starves (D14–D18, D23–D28)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.testing import ScriptedTurn, tool_spec
from rho_core.tooling.contract import (
    PreparedToolInvocation,
    Tool,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.planner import plan_dependencies
from rho_core.tooling.resources import (
    AccessMode,
    DirectoryMembership,
    DirectoryTree,
    ManagedProcess,
    Opaque,
    SessionState,
    ToolResource,
    ToolResourceAccess,
    WorkspacePath,
)
from rho_core.tooling.values import ToolMetadata, ToolOutput
from tests.core.run_harness import call, leaked_tasks, open_session, results, run_all

paths = st.sampled_from(["/w", "/w/a", "/w/a/b", "/w/ab", "/v"]).map(PurePosixPath)
resources = st.one_of(
    st.sampled_from([WorkspacePath, DirectoryTree, DirectoryMembership]).flatmap(
        lambda kind: paths.map(kind)
    ),
    st.sampled_from([ManagedProcess("1"), ManagedProcess("2"), SessionState(), Opaque("o", "k")]),
)
accesses = st.builds(ToolResourceAccess, resources, st.sampled_from(AccessMode))


@dataclass
class Wanted:
    """One call: None runs alone; `turns` is how many turns of the loop it takes."""

    accesses: list[ToolResourceAccess] | None
    turns: int

    @property
    def plan(self) -> PreparedToolInvocation:
        return plan_of(self, _never)


plans = st.one_of(st.none(), *[st.lists(accesses, max_size=2)] * 4)  # one in five runs alone
calls = st.lists(st.builds(Wanted, plans, st.integers(0, 4)), min_size=1, max_size=7)


async def _never(_context: object) -> ToolOutput:
    raise AssertionError


def plan_of(wanted: Wanted, execute: Any) -> PreparedToolInvocation:
    if wanted.accesses is None:
        return PreparedToolInvocation.exclusive(ToolMetadata(), execute)
    return PreparedToolInvocation.resource_aware(wanted.accesses, (), ToolMetadata(), execute)


def things(resource: ToolResource) -> set[str]:
    """What a resource can be of a small world, named: an oracle without the table of D14."""
    world = ["/w", "/w/a", "/w/a/b", "/w/ab", "/v", "/w/a/b/c", "/w/x", "/w/ab/x", "/v/x"]
    match resource:
        case WorkspacePath(path=path):
            return {str(path)}
        case DirectoryTree(path=path):
            return {name for name in world if f"{name}/".startswith(f"{path}/")}
        case DirectoryMembership(path=path):
            return {str(path)} | {n for n in world if n.rpartition("/")[0] == str(path)}
        case _:
            return {f"{type(resource).__name__} {getattr(resource, 'id', '')}"}


def collide(left: ToolResource, right: ToolResource) -> bool:
    """Two memberships are the same or apart; a membership meets a tree above or below it."""
    a, b = type(left), type(right)
    if a is b is DirectoryMembership:
        return left == right
    if {a, b} == {DirectoryMembership, DirectoryTree}:
        assert isinstance(left, DirectoryMembership | DirectoryTree)
        assert isinstance(right, DirectoryMembership | DirectoryTree)
        one, other = f"{left.path}/", f"{right.path}/"
        return one.startswith(other) or other.startswith(one)
    return bool(things(left) & things(right))


def conflict(left: Wanted, right: Wanted) -> bool:
    if left.accesses is None or right.accesses is None:
        return True
    return any(
        AccessMode.EXCLUSIVE in (a.mode, b.mode) and collide(a.resource, b.resource)
        for a in left.accesses
        for b in right.accesses
    )


@pytest.mark.clause("D14", "D15", "D16", "D17", "D18")
@settings(max_examples=100)
@given(wanted=calls)
def test_a_call_waits_for_exactly_the_earlier_calls_it_conflicts_with(
    wanted: list[Wanted],
) -> None:
    planned = plan_dependencies([one.plan for one in wanted])
    assert planned == tuple(
        tuple(i for i in range(j) if conflict(wanted[i], wanted[j])) for j in range(len(wanted))
    )


@dataclass
class Watched(Tool):
    """Executes the wanted calls and writes down who ran beside whom."""

    wanted: list[Wanted]
    started: list[int] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    beside: set[tuple[int, int]] = field(default_factory=set)
    peak: int = 0

    def spec(self) -> Any:
        return tool_spec("t")

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        index = int(invocation.id)

        async def execute(_context: object) -> ToolOutput:
            self.started.append(index)
            self.beside |= {(min(index, one), max(index, one)) for one in self.running}
            self.running.add(index)
            self.peak = max(self.peak, len(self.running))
            for _ in range(self.wanted[index].turns):
                await asyncio.sleep(0)
            self.running.remove(index)
            return ToolOutput.text(str(index))

        return plan_of(self.wanted[index], execute)


@pytest.mark.clause("A6", "D18", "D23", "D25", "D28")
@settings(max_examples=60)
@given(wanted=calls, limit=st.integers(1, 4), capacity=st.sampled_from([1, 64]))
def test_conflicting_calls_never_overlap_start_in_order_and_all_finish(
    wanted: list[Wanted], limit: int, capacity: int
) -> None:
    asyncio.run(run_batch(wanted, limit, capacity))


async def run_batch(wanted: list[Wanted], limit: int, capacity: int) -> None:
    tool = Watched(wanted)
    asked = [call(str(index), "t") for index in range(len(wanted))]
    session, _ = await open_session(
        [ScriptedTurn.calls(*asked), ScriptedTurn.completed("end")],
        tools=[tool],
        max_parallel_tools=limit,
        event_capacity=capacity,
    )
    await run_all(session)
    assert sorted(tool.started) == list(range(len(wanted)))  # nobody starved
    assert tool.peak <= limit
    for i, j in tool.beside:
        assert not conflict(wanted[i], wanted[j])
    place = {index: at for at, index in enumerate(tool.started)}
    for j in range(len(wanted)):
        for i in range(j):
            if conflict(wanted[i], wanted[j]):
                assert place[i] < place[j]
    assert [result.content for result in results(session.history)] == [
        str(index) for index in range(len(wanted))
    ]
    assert not leaked_tasks()
