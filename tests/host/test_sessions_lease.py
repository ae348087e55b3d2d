from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rho_tui.host.sessions.lease import SessionLease, SessionLocked

HOLDER = """
import sys
from pathlib import Path
from rho_tui.host.sessions.lease import SessionLease
lease = SessionLease.acquire(Path(sys.argv[1]))
sys.stdout.write("held\\n")
sys.stdout.flush()
sys.stdin.read()
lease.release()
"""


def hold(path: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


@pytest.mark.clause("case:G4", "APP7.8")
def test_a_second_process_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with hold(path) as process:
        with pytest.raises(SessionLocked, match=str(process.pid)) as caught:
            SessionLease.acquire(path)
        assert caught.value.pid == process.pid
        process.communicate(b"")
    lease = SessionLease.acquire(path)
    lease.release()
    lease.release()


@pytest.mark.clause("case:G4")
def test_a_holder_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with hold(path) as process:
        process.kill()
        process.wait(timeout=10)
    SessionLease.acquire(path).release()


def test_two_conversations_of_one_process_exclude_each_other_too(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lease = SessionLease.acquire(path)
    with pytest.raises(SessionLocked, match=str(os.getpid())):
        SessionLease.acquire(path)
    lease.release()
    SessionLease.acquire(path).release()


def test_sessions_do_not_exclude_each_other(tmp_path: Path) -> None:
    leases = [SessionLease.acquire(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    for lease in leases:
        lease.release()
