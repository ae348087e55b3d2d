"""Several files change together or not at all: failures and crashes at every step."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tools.files.commit import CommitStep
from rho_core.tools.files.recovery import recover_interrupted
from rho_core.tools.files.transaction import FileChange, TransactionOptions, commit_changes

Hook = Callable[[CommitStep], None]
Tree = dict[str, tuple[bytes, int]]


def tree(root: Path) -> Tree:
    """Every file below `root` with its content and mode, and every directory."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        found[str(path.relative_to(root))] = (b"" if path.is_dir() else path.read_bytes(), mode)
    return found


def prepare(root: Path) -> list[FileChange]:
    """A workspace, and a change of each kind: update, in place, new, moved, removed."""
    root.mkdir()
    for name, mode in (("plain", 0o644), ("linked", 0o640), ("script", 0o755), ("gone", 0o600)):
        (root / name).write_bytes(f"old {name}\n".encode())
        (root / name).chmod(mode)
    (root / "twin").hardlink_to(root / "linked")

    def change(name: str, before: bytes | None, after: bytes | None, like: str = "") -> FileChange:
        return FileChange(root / name, name, before, after, root / like if like else None)

    return [
        change("plain", b"old plain\n", b"new plain\n"),
        change("linked", b"old linked\n", b"new l\n"),
        change("a/b/new", None, b"brand new\n"),
        change("a/moved", None, b"new script\n", "script"),
        change("script", b"old script\n", None),
        change("gone", b"old gone\n", None),
    ]


AFTER = {
    "a",
    "a/b",
    "a/b/new",
    "a/moved",
    "linked",
    "plain",
    "twin",
}


def run(root: Path, changes: list[FileChange], recovery: Path, hook: Hook) -> list[str]:
    return commit_changes(changes, TransactionOptions(recovery_dir=recovery, on_step=hook))


def attempt(root: Path, changes: list[FileChange], recovery: Path, hook: Hook) -> ToolError | None:
    """The error of the change, None if it was applied."""
    try:
        run(root, changes, recovery, hook)
    except ToolError as error:
        return error
    return None


def is_done(now: Tree) -> bool:
    return set(now) == AFTER and now["plain"][0] == b"new plain\n"


def steps_of_a_whole_change(tmp_path: Path) -> list[CommitStep]:
    seen: list[CommitStep] = []
    root = tmp_path / "count"
    run(root, prepare(root), tmp_path / "count-recovery", seen.append)
    return seen


def failing(at: int, *, forever: bool = False, code: int = errno.ENOSPC) -> Hook:
    """A hook that fails at one step, counted from 0, and maybe at each one from there on."""
    count = 0

    def hook(_step: CommitStep) -> None:
        nonlocal count
        count += 1
        if count - 1 == at or (forever and count - 1 > at):
            raise OSError(code, os.strerror(code))

    return hook


@pytest.mark.clause("T12.20", "T12.21", "T12.24")
def test_every_kind_of_change_is_applied_and_nothing_is_left_over(tmp_path: Path) -> None:
    root, recovery = tmp_path / "w", tmp_path / "recovery"
    inode = None
    changes = prepare(root)
    inode = (root / "linked").stat().st_ino
    assert run(root, changes, recovery, lambda _step: None) == []
    now = tree(root)
    assert is_done(now)
    assert now["a/moved"] == (b"new script\n", 0o755)
    assert now["linked"] == now["twin"] == (b"new l\n", 0o640)
    assert (root / "linked").stat().st_ino == inode
    assert list(recovery.iterdir()) == []


@pytest.mark.clause("T10.20", "T10.21", "T12.22", "T12.23", "case:B19")
def test_a_failure_at_any_step_leaves_all_old_or_all_new(tmp_path: Path) -> None:
    steps = steps_of_a_whole_change(tmp_path)
    assert len(steps) > 40
    outcomes = set()
    for at, step in enumerate(steps):
        root, recovery = tmp_path / f"w{at}", tmp_path / f"r{at}"
        changes = prepare(root)
        before = tree(root)
        error = attempt(root, changes, recovery, failing(at))
        if error is not None:
            assert tree(root) == before, (at, step)
            assert error.tool_kind is ToolErrorKind.EXECUTION
            assert "unrecovered" not in error.message
            outcomes.add("rolled back" in error.message)
        else:
            # a step whose failure does not matter: making names durable, another way, tidying up
            assert step in (
                CommitStep.SYNC_DIRECTORY,
                CommitStep.CARRY_METADATA,
                CommitStep.REMOVE,
            ), (at, step)
            now = {name: facts for name, facts in tree(root).items() if ".rho-" not in name}
            assert is_done(now), (at, step)
        assert not recovery.exists() or list(recovery.iterdir()) == [], (at, step)
    assert outcomes == {True, False}


@pytest.mark.clause("T12.23")
def test_when_the_rollback_fails_too_the_paths_and_the_kept_originals_are_named(
    tmp_path: Path,
) -> None:
    steps = steps_of_a_whole_change(tmp_path)
    named = 0
    for at, step in enumerate(steps):
        root, recovery = tmp_path / f"w{at}", tmp_path / f"r{at}"
        changes = prepare(root)
        before = tree(root)
        error = attempt(root, changes, recovery, failing(at, forever=True))
        if error is not None and "rollback incomplete" in error.message:
            named += 1
            assert "rolled back" not in error.message
            (kept,) = recovery.glob(".rho-commit-*")
            assert kept.name in error.message
            assert any(path.read_bytes() == b"old plain\n" for path in kept.iterdir())
        elif error is not None:
            assert tree(root) == before, (at, step)
    assert named > 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process to kill")
@pytest.mark.clause("case:B19", "T30.6")
def test_a_process_killed_at_any_step_leaves_all_old_or_all_new_after_recovery(
    tmp_path: Path,
) -> None:
    steps = steps_of_a_whole_change(tmp_path)
    ended = set()
    for at, step in enumerate(steps):
        root, recovery = tmp_path / f"w{at}", tmp_path / f"r{at}"
        changes = prepare(root)
        before = tree(root)
        _killed_at(at, root, changes, recovery)
        in_place = step in (CommitStep.CUT_IN_PLACE, CommitStep.SYNC_IN_PLACE)
        found = recover_interrupted(recovery)
        now = {name: facts for name, facts in tree(root).items() if ".rho-" not in name}
        if in_place and found and found[0].left:
            # being rewritten in place it was neither old nor new: its original is kept and named
            assert found[0].kept is not None
            continue
        assert now == before or is_done(now), (at, step, now, found)
        ended.add(is_done(now))
        assert recover_interrupted(recovery) == []
    assert ended == {True, False}


def _killed_at(at: int, root: Path, changes: list[FileChange], recovery: Path) -> None:
    count = 0

    def hook(_step: CommitStep) -> None:
        nonlocal count
        count += 1
        if count - 1 == at:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            run(root, changes, recovery, hook)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)


@pytest.mark.clause("T12.22", "T12.23")
def test_rollback_leaves_what_somebody_else_changed_since(tmp_path: Path) -> None:
    root, recovery = tmp_path / "w", tmp_path / "r"
    changes = prepare(root)

    def hook(step: CommitStep) -> None:
        if step is CommitStep.SET_ASIDE:
            (root / "plain").write_bytes(b"mine\n")
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(ToolError) as caught:
        run(root, changes, recovery, hook)
    assert "concurrent writers" in caught.value.message
    assert "unrecovered paths: plain" in caught.value.message
    assert (root / "plain").read_bytes() == b"mine\n"
    assert (root / "linked").read_bytes() == b"old linked\n"
    assert not (root / "a").exists()


@pytest.mark.clause("T12.22")
def test_a_new_directory_that_somebody_else_filled_is_kept_and_named(tmp_path: Path) -> None:
    root = tmp_path / "w"
    changes = prepare(root)

    def hook(step: CommitStep) -> None:
        if step is CommitStep.SET_ASIDE:
            (root / "a/b/theirs").write_bytes(b"mine\n")
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(ToolError) as caught:
        run(root, changes, tmp_path / "r", hook)
    assert "rollback incomplete; unrecovered paths: " in caught.value.message
    assert str(root / "a/b") in caught.value.message
    assert (root / "a/b/theirs").read_bytes() == b"mine\n"
    assert not (root / "a/b/new").exists()
    assert (root / "plain").read_bytes() == b"old plain\n"


@pytest.mark.clause("T12.20")
@pytest.mark.parametrize("name", ["plain", "gone", "a/b/new"])
def test_one_file_that_is_not_as_planned_stops_all(tmp_path: Path, name: str) -> None:
    root = tmp_path / "w"
    changes = prepare(root)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(b"theirs\n")
    before = tree(root)
    with pytest.raises(ToolError, match="changed on disk"):
        run(root, changes, tmp_path / "r", lambda _step: None)
    assert tree(root) == before


@pytest.mark.clause("T12.23")
@pytest.mark.parametrize("name", ["x/y", "y"])
def test_a_first_change_that_fails_claims_no_rollback(tmp_path: Path, name: str) -> None:
    path = tmp_path / "w"
    path.mkdir()
    changes = [
        FileChange(path / name, name, None, b"1"),
        FileChange(path / "z", "z", None, b"2"),
    ]

    def hook(step: CommitStep) -> None:
        if step is CommitStep.WRITE_TEMPORARY:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(ToolError) as caught:
        run(path, changes, tmp_path / "r", hook)
    assert caught.value.message == f"could not write {name}: No space left on device"
    assert tree(path) == {}


@pytest.mark.clause("T12.22")
def test_a_staged_link_that_cannot_be_dropped_takes_its_target_along(tmp_path: Path) -> None:
    failed = 0

    def hook(step: CommitStep) -> None:
        nonlocal failed
        if step is CommitStep.REMOVE_TEMPORARY:
            failed += 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(ToolError, match="could not write"):
        run(tmp_path, [FileChange(tmp_path / "w/f", "f", None, b"1")], tmp_path / "r", hook)
    assert failed == 1
    assert tree(tmp_path) == {}


@pytest.mark.clause("T2.28")
def test_a_cancelled_change_does_not_begin(tmp_path: Path) -> None:
    root = tmp_path / "w"
    changes = prepare(root)
    before = tree(root)
    with pytest.raises(ToolError) as caught:
        commit_changes(changes, TransactionOptions(tmp_path / "r", should_stop=lambda: True))
    assert caught.value.tool_kind is ToolErrorKind.CANCELLED
    assert tree(root) == before


def test_recovery_leaves_alone_what_is_still_at_work_and_what_is_no_record(tmp_path: Path) -> None:
    root, recovery = tmp_path / "w", tmp_path / "r"
    changes = prepare(root)
    looked = 0

    def hook(step: CommitStep) -> None:
        nonlocal looked
        if step is CommitStep.SET_ASIDE:
            looked += 1
            assert recover_interrupted(recovery) == []

    (recovery / ".rho-commit-odd").mkdir(parents=True)
    (recovery / ".rho-commit-bad").mkdir()
    (recovery / ".rho-commit-bad/lock").touch()
    (recovery / ".rho-commit-bad/manifest.json").write_text('{"files": [3]}')
    run(root, changes, recovery, hook)
    assert looked == 2
    assert is_done(tree(root))
    assert recover_interrupted(recovery) == []
    assert len(list(recovery.iterdir())) == 2
    assert recover_interrupted(tmp_path / "nowhere") == []


def test_without_a_recovery_folder_the_record_lies_beside_the_first_file(tmp_path: Path) -> None:
    root = tmp_path / "w"
    changes = prepare(root)
    seen: list[str] = []

    def hook(step: CommitStep) -> None:
        if step is CommitStep.SET_ASIDE:
            seen.extend(path.name for path in root.glob(".rho-commit-*"))

    commit_changes(changes, TransactionOptions(on_step=hook))
    assert len(seen) == 2
    assert set(tree(root)) == AFTER
