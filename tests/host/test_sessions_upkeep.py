from __future__ import annotations

from pathlib import Path

import pytest

from rho_core.ids import SessionId
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.file import SessionFile
from rho_tui.host.sessions.index import summarise
from rho_tui.host.sessions.lease import SessionLease, SessionLocked
from rho_tui.host.sessions.recovery import load
from rho_tui.host.sessions.upkeep import delete_session, rename_session
from tests.host.session_samples import MODEL


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    file = SessionFile(path)
    file.stage(r.Header(SessionId("s"), 1.0, "/x", "0", MODEL, "hello"))
    file.flush()
    file.close()
    return path


@pytest.mark.clause("APP7.10", "APP7.11")
def test_a_new_title_is_in_the_file_and_in_the_list(path: Path) -> None:
    rename_session(path, "First")
    rename_session(path, "Zweite ü")
    assert load(path).title == "Zweite ü"
    summary = summarise(path)
    assert summary is not None
    assert summary.title == "Zweite ü"
    assert [line.seq for line in load(path).lines] == [1, 2, 3]


@pytest.mark.clause("APP7.17")
def test_a_deleted_session_leaves_nothing(path: Path) -> None:
    delete_session(path)
    with pytest.raises(FileNotFoundError):
        delete_session(path)
    assert list(path.parent.iterdir()) == []


@pytest.mark.clause("APP7.17", "case:G4")
def test_a_session_that_is_being_written_is_left_alone(path: Path) -> None:
    lease = SessionLease.acquire(path)
    before = path.read_bytes()
    with pytest.raises(SessionLocked):
        delete_session(path)
    with pytest.raises(SessionLocked):
        rename_session(path, "mine")
    assert path.read_bytes() == before
    lease.release()
