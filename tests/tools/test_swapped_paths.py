"""Names that mean something else by the time a file is written: links put in their way (T2.28).

The host resolved and approved a path inside the workspace. Whatever a link that comes up later
leads to, before the commit or in its middle, it is never written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tools.files.commit import CommitStep, FileCommit
from rho_core.tools.files.replace import commit_file
from rho_core.tools.files.text import content_hash
from rho_core.tools.files.transaction import FileChange, TransactionOptions, commit_changes
from tests.tools.file_harness import FileSession

OLD = b"hello\n"
PATCH = "*** Begin Patch\n*** {} File: {}\n{}*** End Patch"

CREATIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("str_replace", "write", {"path": "d/new", "content": "new\n"}),
    ("str_replace", "write", {"path": "d/sub/new", "content": "new\n"}),
    ("apply_patch", "apply_patch", {"input": PATCH.format("Add", "d/new", "+new\n")}),
]
MUTATIONS: list[tuple[str, str, dict[str, Any]]] = [
    *CREATIONS,
    ("str_replace", "write", {"path": "d/f", "content": "new\n"}),
    ("str_replace", "str_replace", {"path": "d/f", "old_string": "hello", "new_string": "new"}),
    ("hashline", "edit", {"input": "[d/f#4173]\nPUT 1:\n+new"}),
    ("apply_patch", "apply_patch", {"input": PATCH.format("Delete", "d/f", "")}),
    ("apply_patch", "apply_patch", {"input": PATCH.format("Update", "d/f", "-hello\n+new\n")}),
]


class Place:
    """A workspace with the folder `d`, and the folder outside that a link leads to."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "root"
        self.outside = tmp_path / "outside"
        for folder in (self.root / "d", self.outside):
            folder.mkdir(parents=True)
            (folder / "f").write_bytes(OLD)

    def swap_folder(self) -> None:
        (self.root / "d").rename(self.root / "moved")
        (self.root / "d").symlink_to(self.outside)

    def swap_file(self) -> None:
        (self.root / "d" / "f").unlink()
        (self.root / "d" / "f").symlink_to(self.outside / "f")

    def is_untouched_outside(self) -> bool:
        names = sorted(str(path.relative_to(self.outside)) for path in self.outside.rglob("*"))
        return names == ["f"] and (self.outside / "f").read_bytes() == OLD


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.clause("T2.28", "T2.25", "T30.6")
@pytest.mark.parametrize(("edit_format", "name", "arguments"), MUTATIONS)
async def test_a_folder_that_became_a_link_after_approval_is_denied(
    place: Place, edit_format: str, name: str, arguments: dict[str, Any]
) -> None:
    session = FileSession(place.root, edit_format=edit_format)
    plan = await session.prepare(name, **arguments)
    place.swap_folder()
    with pytest.raises(ToolError) as caught:
        await session.execute(plan)
    assert caught.value.tool_kind is ToolErrorKind.POLICY_DENIED
    assert place.is_untouched_outside()
    assert (place.root / "moved" / "f").read_bytes() == OLD
    assert os.listdir(place.root / "moved") == ["f"]  # noqa: PTH208 - the bare names are the point


@pytest.mark.clause("T2.28", "T30.6")
@pytest.mark.parametrize(
    ("edit_format", "name", "arguments"),
    [
        row
        for row in MUTATIONS
        if "new" not in str(row[2].get("path", "")) and "Add" not in str(row)
    ],
)
async def test_a_file_that_became_a_link_after_approval_is_denied(
    place: Place, edit_format: str, name: str, arguments: dict[str, Any]
) -> None:
    session = FileSession(place.root, edit_format=edit_format)
    plan = await session.prepare(name, **arguments)
    place.swap_file()
    with pytest.raises(ToolError) as caught:
        await session.execute(plan)
    assert caught.value.tool_kind is ToolErrorKind.POLICY_DENIED
    assert place.is_untouched_outside()
    assert (place.root / "d" / "f").is_symlink()


def at(step: CommitStep, swap: Callable[[], None]) -> Callable[[CommitStep], None]:
    """A hook that swaps once, just before that step."""
    done = False

    def hook(now: CommitStep) -> None:
        nonlocal done
        if now is step and not done:
            done = True
            swap()

    return hook


REWRITING = [
    CommitStep.LOCK,
    CommitStep.READ,
    CommitStep.CREATE_TEMPORARY,
    CommitStep.WRITE_TEMPORARY,
    CommitStep.SYNC_TEMPORARY,
    CommitStep.VERIFY,
    CommitStep.RENAME,
]


@pytest.mark.clause("T2.28", "T30.6")
@pytest.mark.parametrize("step", REWRITING)
@pytest.mark.parametrize("swap", ["swap_file", "swap_folder"])
def test_a_link_that_comes_up_in_the_middle_of_a_change_is_not_written_through(
    place: Place, step: CommitStep, swap: str
) -> None:
    path = place.root / "d" / "f"
    hook = at(step, getattr(place, swap))
    change = FileCommit(path, "d/f", b"new\n", content_hash(OLD), on_step=hook)
    if (step, swap) == (CommitStep.RENAME, "swap_file"):
        commit_file(change)  # the last moment: the name is replaced, and not what it leads to
        assert not path.is_symlink()
    else:
        with pytest.raises(ToolError) as caught:
            commit_file(change)
        assert caught.value.tool_kind is ToolErrorKind.EXECUTION
    assert place.is_untouched_outside()


CREATING = [
    CommitStep.CREATE_TEMPORARY,
    CommitStep.WRITE_TEMPORARY,
    CommitStep.SYNC_TEMPORARY,
    CommitStep.RENAME,
]


@pytest.mark.clause("T2.28", "T30.6")
@pytest.mark.parametrize(
    ("name", "step"),
    [
        *(("new", step) for step in CREATING),
        *(("sub/new", step) for step in [CommitStep.MAKE_PARENT, *CREATING]),
    ],
)
def test_a_new_file_is_never_put_behind_a_link_that_came_up_meanwhile(
    place: Place, name: str, step: CommitStep
) -> None:
    hook = at(step, place.swap_folder)
    change = FileCommit(place.root / "d" / name, f"d/{name}", b"new\n", None, on_step=hook)
    with pytest.raises(ToolError) as caught:
        commit_file(change)
    assert caught.value.tool_kind is ToolErrorKind.EXECUTION
    assert place.is_untouched_outside()


@pytest.mark.clause("T2.28", "T12.22")
def test_a_group_of_changes_is_undone_and_reaches_nothing_behind_a_link(place: Place) -> None:
    (place.root / "first").write_bytes(OLD)
    changes = [
        FileChange(place.root / "first", "first", OLD, b"new\n"),
        FileChange(place.root / "d" / "new", "d/new", None, b"new\n"),
    ]
    seen = 0

    def hook(step: CommitStep) -> None:
        nonlocal seen
        seen += step is CommitStep.CREATE_TEMPORARY
        if step is CommitStep.CREATE_TEMPORARY and seen == 2:
            place.swap_folder()

    with pytest.raises(ToolError, match="rolled back"):
        commit_changes(changes, TransactionOptions(place.root / "recovery", on_step=hook))
    assert place.is_untouched_outside()
    assert (place.root / "first").read_bytes() == OLD
