"""Replacing files in a process that is killed, hits a real limit, or is another user's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from rho_core.tools.files.commit import CommitStep
from tests.tools.file_harness import NEW, OLD, FileSession, names

SCRIPT = textwrap.dedent(
    """
    import os, resource, signal, sys
    from pathlib import Path
    from rho_core.errors import ToolError
    from rho_core.tools.files.commit import FileCommit
    from rho_core.tools.files.replace import commit_file
    from rho_core.tools.files.text import content_hash
    path, what = Path(sys.argv[1]), sys.argv[2]
    def on_step(step):
        if step.value == what:
            os.kill(os.getpid(), signal.SIGKILL)
    if what == "full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    if what == "user":
        os.setgid(65534); os.setuid(65534)
    new = b"other\\n" * 200_000
    try:
        commit_file(FileCommit(path, "f", new, content_hash(path.read_bytes()), on_step=on_step))
    except ToolError as error:
        print(error.message)
    """
)


def in_a_process(path: Path, what: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), what],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.clause("case:B19", "T30.6")
@pytest.mark.parametrize(
    ("step", "is_new"),
    [
        (CommitStep.WRITE_TEMPORARY, False),
        (CommitStep.RENAME, False),
        (CommitStep.SYNC_DIRECTORY, True),
    ],
)
def test_a_killed_process_leaves_the_old_or_the_new_file(
    tmp_path: Path, step: CommitStep, is_new: bool
) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)
    assert in_a_process(path, step.value).returncode == -9
    assert path.read_bytes() == (NEW if is_new else OLD)


@pytest.mark.clause("T30.6")
def test_a_process_killed_while_it_rewrites_in_place_leaves_a_copy_of_the_original(
    tmp_path: Path,
) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)
    (tmp_path / "other").hardlink_to(path)
    assert in_a_process(path, CommitStep.CUT_IN_PLACE.value).returncode == -9
    (copy,) = tmp_path.glob(".rho-original-*-f")
    assert copy.read_bytes() == OLD


@pytest.mark.clause("case:B19")
@pytest.mark.parametrize("linked", [False, True])
def test_a_real_write_that_fails_half_way_leaves_the_old_file(tmp_path: Path, linked: bool) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"precious\n")
    if linked:
        (tmp_path / "other").hardlink_to(path)
    result = in_a_process(path, "full")
    assert "could not write f: File too large" in result.stdout, result.stderr
    assert path.read_bytes() == b"precious\n"
    assert names(tmp_path) == (["f", "other"] if linked else ["f"])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
@pytest.mark.clause("case:B19", "T30.6")
def test_without_the_right_to_give_files_away_the_owner_is_kept_by_writing_in_place() -> None:
    with tempfile.TemporaryDirectory() as made:  # pytest's own folders are closed to others
        directory = Path(made).resolve()
        directory.chmod(0o777)
        path = directory / "f"
        path.write_bytes(b"root's")
        path.chmod(0o666)
        result = in_a_process(path, "user")
        assert result.stdout == "", result.stdout + result.stderr
        assert path.read_bytes() == NEW
        assert path.stat().st_uid == 0
        assert names(directory) == ["f"]
        directory.chmod(0o755)
        path.write_bytes(b"root's")
        assert "is not writable" in in_a_process(path, "user").stdout
        assert path.read_bytes() == b"root's"


@pytest.mark.clause("T30.6")
async def test_the_tools_pass_the_recovery_directory_on(tmp_path: Path) -> None:
    recovery = tmp_path / "session"
    (tmp_path / "w").mkdir()
    session = FileSession(tmp_path / "w", recovery_dir=recovery)
    session.put("f", "old\n")
    (session.root / "g").hardlink_to(session.root / "f")
    await session.run("str_replace", path="f", old_string="old", new_string="new")
    assert (session.root / "g").read_text() == "new\n"
    assert recovery.is_dir()
    assert names(session.root) == ["f", "g"]
