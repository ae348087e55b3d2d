"""Old or new content at every moment: modes, links, locks, failures at each step, crashes."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tools.files.commit import CommitStep, FileCommit
from rho_core.tools.files.locking import locked_file
from rho_core.tools.files.replace import commit_file
from rho_core.tools.files.text import content_hash
from tests.tools.file_harness import NEW, OLD, names

REPLACE_STEPS = [
    CommitStep.LOCK,
    CommitStep.READ,
    CommitStep.CREATE_TEMPORARY,
    CommitStep.WRITE_TEMPORARY,
    CommitStep.SYNC_TEMPORARY,
    CommitStep.VERIFY,
    CommitStep.RENAME,
]
IN_PLACE_STEPS = [
    CommitStep.COPY_ORIGINAL,
    CommitStep.SYNC_ORIGINAL,
    CommitStep.WRITE_IN_PLACE,
    CommitStep.CUT_IN_PLACE,
    CommitStep.SYNC_IN_PLACE,
]


def failing_at(
    step: CommitStep, code: int = errno.ENOSPC, *, after: int = 0
) -> Callable[..., None]:
    """A hook that fails once `step` was reached more than `after` times."""
    seen = 0

    def hook(now: CommitStep) -> None:
        nonlocal seen
        if now is step:
            seen += 1
            if seen > after:
                raise OSError(code, os.strerror(code))

    return hook


def commit(
    path: Path, content: bytes, *, hook: Callable[..., None] | None = None, **more: object
) -> None:
    expected = content_hash(path.read_bytes()) if path.exists() else None
    extra = {} if hook is None else {"on_step": hook}
    commit_file(FileCommit(path, path.name, content, expected, **extra, **more))  # type: ignore[arg-type]  # test options


@pytest.mark.clause("case:B12", "T30.6")
@pytest.mark.parametrize("mode", [0o755, 0o664, 0o600, 0o640, 0o4755, 0o222])
def test_the_mode_survives(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(mode)
    commit(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


@pytest.mark.clause("case:B12")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        commit(tmp_path / "d/f", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "d/f").stat().st_mode) == mode
    assert (tmp_path / "d/f").stat().st_nlink == 1
    assert names(tmp_path / "d") == ["f"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_survives(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    os.chown(path, 12345, 54321)
    commit(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_extended_attributes_survive(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.note", b"kept")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    commit(path, b"new")
    assert os.getxattr(path, "user.note") == b"kept"


@pytest.mark.clause("T30.6")
def test_hard_links_survive_and_no_copy_is_left(tmp_path: Path) -> None:
    path, recovery = tmp_path / "f", tmp_path / "session/recovery"
    path.write_bytes(b"old and longer")
    (tmp_path / "other").hardlink_to(path)
    commit(path, b"new", recovery_dir=recovery)
    assert (tmp_path / "other").read_bytes() == b"new"
    assert path.stat().st_ino == (tmp_path / "other").stat().st_ino
    assert names(recovery) == []


@pytest.mark.clause("T30.6")
@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP])
def test_what_a_rename_could_not_carry_over_is_written_in_place(tmp_path: Path, code: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)
    inode = path.stat().st_ino
    commit(path, NEW, hook=failing_at(CommitStep.CARRY_METADATA, code))
    assert path.read_bytes() == NEW
    assert path.stat().st_ino == inode
    assert names(tmp_path) == ["f"]


@pytest.mark.clause("T30.6")
def test_a_mount_point_that_cannot_be_renamed_over_is_written_in_place(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)
    commit(path, NEW, hook=failing_at(CommitStep.RENAME, errno.EBUSY))
    assert path.read_bytes() == NEW
    assert names(tmp_path) == ["f"]


@pytest.mark.clause("case:B19", "T30.6")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("step", REPLACE_STEPS)
def test_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, step: CommitStep, code: int
) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)
    with pytest.raises(ToolError) as caught:
        commit(path, NEW, hook=failing_at(step, code))
    assert caught.value.tool_kind is ToolErrorKind.EXECUTION
    assert caught.value.message.startswith("could not write f: ")
    assert path.read_bytes() == OLD
    assert names(tmp_path) == ["f"]


@pytest.mark.clause("case:B19")
def test_a_disk_that_fills_up_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)
    with pytest.raises(ToolError, match="No space left"):
        commit(path, NEW, hook=failing_at(CommitStep.WRITE_TEMPORARY, after=2))
    assert path.read_bytes() == OLD
    assert names(tmp_path) == ["f"]


def test_a_directory_that_cannot_be_synced_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)
    commit(path, NEW, hook=failing_at(CommitStep.SYNC_DIRECTORY))
    assert path.read_bytes() == NEW


@pytest.mark.clause("T10.20")
@pytest.mark.parametrize("step", IN_PLACE_STEPS)
def test_a_failed_rewrite_in_place_brings_the_original_back(
    tmp_path: Path, step: CommitStep
) -> None:
    path, recovery = tmp_path / "f", tmp_path / "recovery"
    path.write_bytes(OLD)
    (tmp_path / "other").hardlink_to(path)
    after = 1 if step is CommitStep.WRITE_IN_PLACE else 0
    with pytest.raises(ToolError, match="No space left") as caught:
        commit(path, NEW, hook=failing_at(step, after=after), recovery_dir=recovery)
    assert path.read_bytes() == OLD
    assert names(recovery) == []
    if step not in (CommitStep.COPY_ORIGINAL, CommitStep.SYNC_ORIGINAL):
        assert "restored" in caught.value.message


@pytest.mark.clause("T10.20")
def test_if_the_original_cannot_be_brought_back_its_copy_stays_and_is_named(
    tmp_path: Path,
) -> None:
    path, recovery = tmp_path / "f", tmp_path / "recovery"
    path.write_bytes(OLD)
    (tmp_path / "other").hardlink_to(path)

    def hook(step: CommitStep) -> None:
        if step in (CommitStep.CUT_IN_PLACE, CommitStep.RESTORE):
            raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(ToolError, match="restoring it failed too") as caught:
        commit(path, NEW, hook=hook, recovery_dir=recovery)
    (copy,) = recovery.iterdir()
    assert copy.read_bytes() == OLD
    assert copy.name in caught.value.message


@pytest.mark.parametrize(
    "step",
    [
        CommitStep.MAKE_PARENT,
        CommitStep.CREATE_TEMPORARY,
        CommitStep.WRITE_TEMPORARY,
        CommitStep.SYNC_TEMPORARY,
        CommitStep.RENAME,
    ],
)
@pytest.mark.clause("case:B19")
def test_a_new_file_that_fails_leaves_no_file_and_no_directory(
    tmp_path: Path, step: CommitStep
) -> None:
    after = 1 if step is CommitStep.MAKE_PARENT else 0
    with pytest.raises(ToolError):
        commit(tmp_path / "a/b/c/f", NEW, hook=failing_at(step, after=after))
    assert names(tmp_path) == []


@pytest.mark.clause("T12.21")
def test_a_new_file_never_replaces_one_that_came_up_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "f"

    def hook(step: CommitStep) -> None:
        if step is CommitStep.RENAME:
            path.write_bytes(b"mine")

    with pytest.raises(ToolError, match="changed on disk"):
        commit(path, b"new", hook=hook)
    assert path.read_bytes() == b"mine"
    assert names(tmp_path) == ["f"]


@pytest.mark.clause("T30.6", "T30.7")
@pytest.mark.parametrize("step", [CommitStep.LOCK, CommitStep.WRITE_TEMPORARY, CommitStep.VERIFY])
@pytest.mark.parametrize("swap", [False, True])
def test_a_change_up_to_the_last_moment_is_seen(
    tmp_path: Path, step: CommitStep, swap: bool
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def hook(now: CommitStep) -> None:
        if now is step:
            if swap:
                path.unlink()
            path.write_bytes(b"0ld")

    with pytest.raises(ToolError, match="changed on disk"):
        commit(path, b"new", hook=hook)
    assert path.read_bytes() == b"0ld"
    assert names(tmp_path) == ["f"]


def test_a_cancelled_call_stops_before_the_change_can_be_seen(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    for target in (path, tmp_path / "d/new"):
        with pytest.raises(ToolError) as caught:
            commit(target, b"new", should_stop=lambda: True)
        assert caught.value.tool_kind is ToolErrorKind.CANCELLED
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(ToolError, match=r"read-only|Permission denied"):
        commit(path, b"new")
    assert path.read_bytes() == b"old"


@pytest.mark.clause("case:B19")
def test_a_read_only_directory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with pytest.raises(ToolError, match=r"directory .* is not writable"):
        commit(path, b"new", hook=failing_at(CommitStep.CREATE_TEMPORARY, errno.EACCES))
    assert path.read_bytes() == b"old"


@pytest.mark.clause("T10.18")
def test_a_lock_of_another_program_is_waited_for_and_then_reported(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ToolError, match="timed out after 1000ms"):
            commit(path, b"new")
        assert path.read_bytes() == b"old"
        release = threading.Timer(0.1, fcntl.flock, (other, fcntl.LOCK_UN))
        release.start()
        commit(path, b"new")
        release.join()
    assert path.read_bytes() == b"new"


@pytest.mark.clause("T10.18")
def test_who_waited_for_a_lock_sees_the_file_that_was_put_in_place_meanwhile(
    tmp_path: Path,
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        def replace() -> None:
            (tmp_path / "g").write_bytes(b"theirs")
            (tmp_path / "g").replace(path)
            fcntl.flock(other, fcntl.LOCK_UN)

        timer = threading.Timer(0.05, replace)
        timer.start()
        with locked_file(path, "f") as descriptor:
            assert os.read(descriptor, 100) == b"theirs"
        timer.join()


def test_many_threads_and_one_file_lose_no_edit(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"")
    refused = threading.Semaphore(0)

    def append(number: int) -> None:
        while True:
            before = path.read_bytes()
            change = FileCommit(path, "f", before + b"%d\n" % number, content_hash(before))
            try:
                return commit_file(change)
            except ToolError:
                refused.release()

    threads = [threading.Thread(target=append, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path.read_bytes().split()) == sorted(b"%d" % number for number in range(8))
    assert names(tmp_path) == ["f"]
