"""Resources of tool calls: what overlaps, what conflicts (D13–D16)."""

from __future__ import annotations

from itertools import product
from pathlib import PurePosixPath as P

import pytest

from rho_core.tooling.resources import (
    DirectoryMembership,
    DirectoryTree,
    ManagedProcess,
    ManagerState,
    Opaque,
    ResponseStore,
    SessionState,
    ToolResourceAccess,
    WorkspacePath,
    overlaps,
)

Path_, Tree, Names = WorkspacePath, DirectoryTree, DirectoryMembership


@pytest.mark.clause("D14", "D15", "L8")
@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (Path_(P("/w/a")), Path_(P("/w/a")), True),
        (Path_(P("/w/a")), Path_(P("/w/a/b")), False),
        (Tree(P("/w/a")), Path_(P("/w/a")), True),
        (Tree(P("/w/a")), Path_(P("/w/a/b/c")), True),
        (Tree(P("/w/a")), Path_(P("/w/ab")), False),
        (Tree(P("/w/a/b")), Path_(P("/w/a")), False),
        (Tree(P("/w")), Tree(P("/w/a")), True),
        (Tree(P("/w/a")), Tree(P("/w/b")), False),
        (Tree(P("/w/a")), Tree(P("/w/ab")), False),
        (Names(P("/w")), Path_(P("/w")), True),
        (Names(P("/w")), Path_(P("/w/a")), True),
        (Names(P("/w")), Path_(P("/w/a/b")), False),
        (Names(P("/w/a")), Tree(P("/w")), True),
        (Names(P("/w")), Tree(P("/w/a")), True),
        (Names(P("/w/a")), Tree(P("/w/b")), False),
        (Names(P("/w")), Names(P("/w")), True),
        (Names(P("/w")), Names(P("/w/a")), False),
        (ManagedProcess("1"), ManagedProcess("1"), True),
        (ManagedProcess("1"), ManagedProcess("2"), False),
        (SessionState(), SessionState(), True),
        (ManagerState("a"), ManagerState("b"), False),
        (ResponseStore("1"), ResponseStore("1"), True),
        (ResponseStore("1"), ManagedProcess("1"), False),
        (Opaque("x", "k"), Opaque("x", "k"), True),
        (Opaque("x", "k"), Opaque("y", "k"), False),
        (SessionState(), Path_(P("/w")), False),
        (SessionState(), Tree(P("/")), False),
    ],
)
def test_overlap_is_symmetric_and_by_component(left, right, expected: bool) -> None:
    assert overlaps(left, right) is expected
    assert overlaps(right, left) is expected


@pytest.mark.clause("D14")
def test_only_shared_accesses_of_one_resource_get_along() -> None:
    resource = WorkspacePath(P("/w/a"))
    shared, exclusive = (
        ToolResourceAccess.shared(resource),
        ToolResourceAccess.exclusive(resource),
    )
    conflicts = [a.conflicts_with(b) for a, b in product((shared, exclusive), repeat=2)]
    assert conflicts == [False, True, True, True]
    elsewhere = ToolResourceAccess.exclusive(WorkspacePath(P("/w/b")))
    assert not exclusive.conflicts_with(elsewhere)


@pytest.mark.clause("D13")
def test_resource_debug_output_omits_secret_values() -> None:
    resources = [
        WorkspacePath(P("/secret")), DirectoryTree(P("/secret")), DirectoryMembership(P("/secret")),
        ManagedProcess("secret"), SessionState(), ManagerState("secret"), ResponseStore("secret"),
        Opaque("secret", "secret"),
    ]  # fmt: skip
    for resource in resources:
        access = ToolResourceAccess.shared(resource)
        assert "secret" not in repr(access)
        assert type(resource).__name__ in repr(access)
