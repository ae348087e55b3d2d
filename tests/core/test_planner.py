"""Which calls wait for which (K.6 planner_tests)."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from rho_core.tooling.contract import PreparedToolInvocation
from rho_core.tooling.planner import plan_dependencies
from rho_core.tooling.resources import (
    DirectoryMembership,
    DirectoryTree,
    ManagedProcess,
    ManagerState,
    Opaque,
    ToolResource,
    ToolResourceAccess,
    WorkspacePath,
)
from rho_core.tooling.values import ToolMetadata, ToolOutput

shared = ToolResourceAccess.shared
exclusive = ToolResourceAccess.exclusive


async def _run(_context: object) -> ToolOutput:
    return ToolOutput.text("")


def aware(*accesses: ToolResourceAccess) -> PreparedToolInvocation:
    return PreparedToolInvocation.resource_aware(accesses, (), ToolMetadata(), _run)


def alone() -> PreparedToolInvocation:
    return PreparedToolInvocation.exclusive(ToolMetadata(), _run)


def path(text: str) -> WorkspacePath:
    return WorkspacePath(PurePath(text))


@pytest.mark.clause("D14", "D17")
def test_shared_accesses_and_empty_plans_can_overlap() -> None:
    plans = [aware(shared(path("/w/a"))), aware(shared(path("/w/a"))), aware()]
    assert plan_dependencies(plans) == ((), (), ())


@pytest.mark.clause("D14")
def test_shared_manager_state_launches_can_overlap() -> None:
    state = ManagerState("processes")
    assert plan_dependencies([aware(shared(state)), aware(shared(state))]) == ((), ())
    assert plan_dependencies([aware(shared(state)), aware(exclusive(state))]) == ((), (0,))


@pytest.mark.clause("D17")
def test_a_call_depends_on_every_earlier_conflict_in_model_order() -> None:
    a, b = path("/w/a"), path("/w/b")
    plans = [aware(shared(a)), aware(shared(b)), aware(exclusive(a), exclusive(b))]
    assert plan_dependencies(plans) == ((), (), (0, 1))


@pytest.mark.clause("D14")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        (ManagedProcess("1"), ManagedProcess("2")),
        (Opaque("one", "k"), Opaque("two", "k")),
        (Opaque("one", "k"), Opaque("one", "l")),
        (path("/w/a"), ManagedProcess("/w/a")),
    ],
)
def test_distinct_resource_identities_do_not_conflict(
    left: ToolResource, right: ToolResource
) -> None:
    assert plan_dependencies([aware(exclusive(left)), aware(exclusive(right))]) == ((), ())


@pytest.mark.clause("D18", "D16")
def test_exclusive_calls_are_model_order_barriers() -> None:
    plans = [aware(), aware(), alone(), aware(), alone()]
    assert plan_dependencies(plans) == ((), (), (0, 1), (2,), (0, 1, 2, 3))


@pytest.mark.clause("D18")
def test_a_call_without_a_plan_blocks_nobody_but_a_barrier_includes_it() -> None:
    assert plan_dependencies([None, aware(), None, alone()]) == ((), (), (), (0, 1, 2))


@pytest.mark.clause("D14", "D15")
def test_directory_trees_conflict_with_descendants_and_ancestor_trees() -> None:
    tree = exclusive(DirectoryTree(PurePath("/w/a")))
    for other in (
        path("/w/a/b/c"),
        DirectoryTree(PurePath("/w")),
        DirectoryTree(PurePath("/w/a/b")),
    ):
        assert plan_dependencies([aware(tree), aware(shared(other))])[1] == (0,)
    for other in (path("/w/ab"), DirectoryTree(PurePath("/w/ab"))):
        assert plan_dependencies([aware(tree), aware(shared(other))])[1] == ()


@pytest.mark.clause("D14")
def test_directory_membership_conflicts_with_direct_children_but_not_deeper_paths() -> None:
    members = exclusive(DirectoryMembership(PurePath("/w/a")))
    assert plan_dependencies([aware(members), aware(shared(path("/w/a/b")))])[1] == (0,)
    assert plan_dependencies([aware(members), aware(shared(path("/w/a")))])[1] == (0,)
    assert plan_dependencies([aware(members), aware(shared(path("/w/a/b/c")))])[1] == ()
