from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rho_core.ids import Revision, SessionId
from rho_tui.host.facts import TurnEndKind
from rho_tui.host.sessions import index
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.file import SessionFile, file_name
from rho_tui.host.sessions.index import (
    SessionNotFound,
    find_session,
    latest_session,
    list_sessions,
    summarise,
)
from tests.host.session_samples import MODEL


def commit(messages: int, title: str = "") -> r.TurnCommitted:
    return r.TurnCommitted(TurnEndKind.COMPLETED, Revision(1), messages, MODEL, title=title)


def session(
    folder: Path, id: str, *records: r.Record, cwd: str = "/x", created: float = 1764498000.0
) -> Path:
    path = folder / file_name(SessionId(id), created)
    file = SessionFile(path)
    file.stage(r.Header(SessionId(id), created, cwd, "0", MODEL, f"prompt of {id}"))
    for record in records:
        file.stage(record)
    file.flush()
    file.close()
    os.utime(path, (created, created))
    return path


def test_a_missing_folder_holds_no_sessions(tmp_path: Path) -> None:
    assert list_sessions(tmp_path / "none") == []
    with pytest.raises(SessionNotFound):
        latest_session(tmp_path / "none", "/x")


@pytest.mark.clause("APP7.9", "APP7.10")
def test_a_summary_comes_from_the_two_ends_of_the_file(tmp_path: Path) -> None:
    path = session(tmp_path, "abc", commit(3), r.TitleSet("Named"), commit(5, "Named"))
    summary = summarise(path)
    assert summary is not None
    assert (summary.id, summary.cwd, summary.title) == ("abc", "/x", "Named")
    assert (summary.prompt, summary.messages) == ("prompt of abc", 5)
    assert (summary.created, summary.updated) == (1764498000.0, 1764498000.0)


def test_a_title_after_the_last_commit_counts_and_an_empty_one_clears(tmp_path: Path) -> None:
    path = session(tmp_path, "a", commit(3, "Old"), r.TitleSet("New"))
    assert summarise(path).title == "New"  # type: ignore[union-attr]
    path = session(tmp_path, "b", commit(3, "Old"), r.TitleSet(""))
    assert summarise(path).title == ""  # type: ignore[union-attr]


@pytest.mark.clause("case:G6")
def test_a_session_that_moved_is_listed_where_it_works_now(tmp_path: Path) -> None:
    moved = r.FolderChanged("/y")
    session(tmp_path, "a", commit(3), moved, cwd="/x")
    session(tmp_path, "b", commit(3), moved, replace(commit(5), cwd="/y"), cwd="/x", created=2.0)
    assert list_sessions(tmp_path, cwd="/x") == []
    assert [s.messages for s in list_sessions(tmp_path, cwd="/y")] == [3, 5]
    back = session(tmp_path, "c", commit(3), moved, r.FolderChanged("/x"), cwd="/x")
    assert [s.path for s in list_sessions(tmp_path, cwd="/x")] == [back]


@pytest.mark.clause("case:G7")
def test_a_huge_session_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = session(tmp_path, "huge", r.NoticeShown("x" * 20_000_000), commit(7, "Big"))
    read = 0
    real = index.decode_line

    def counting(data: bytes) -> r.Line:
        nonlocal read
        read += len(data)
        return real(data)

    monkeypatch.setattr(index, "decode_line", counting)
    summary = summarise(path)
    assert summary is not None
    assert (summary.title, summary.messages) == ("Big", 7)
    assert read < index.HEAD_BYTES + index.TAIL_BYTES


def test_an_interrupted_turn_hides_neither_title_nor_count(tmp_path: Path) -> None:
    path = session(tmp_path, "a", commit(7, "Kept"), r.NoticeShown("x" * 200_000))
    summary = summarise(path)
    assert summary is not None
    assert (summary.title, summary.messages) == ("Kept", 7)


def test_what_is_no_session_is_passed_over(tmp_path: Path) -> None:
    session(tmp_path, "good")
    (tmp_path / "x.jsonl").write_bytes(b"\x00\xff")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "dir.jsonl").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    assert [summary.id for summary in list_sessions(tmp_path)] == ["good"]


@pytest.mark.clause("APP7.12")
def test_sessions_are_found_by_folder_and_by_prefix(tmp_path: Path) -> None:
    session(tmp_path, "aa1", cwd="/x", created=1.0)
    session(tmp_path, "aa2", cwd="/y", created=2.0)
    session(tmp_path, "ab", cwd="/y", created=3.0)
    session(tmp_path, "a", cwd="/z", created=4.0)
    assert [s.id for s in list_sessions(tmp_path)] == ["a", "ab", "aa2", "aa1"]
    assert latest_session(tmp_path, "/y").id == "ab"
    assert find_session(tmp_path, "ab").id == "ab"
    assert find_session(tmp_path, "a").id == "a"  # exact wins
    assert find_session(tmp_path, "aa", cwd="/x").id == "aa1"  # here wins
    with pytest.raises(SessionNotFound, match="aa2, aa1"):
        find_session(tmp_path, "aa")
    with pytest.raises(SessionNotFound, match="'zz'"):
        find_session(tmp_path, "zz")
    with pytest.raises(SessionNotFound):
        find_session(tmp_path, "")


@pytest.mark.clause("case:G7")
def test_hundreds_of_sessions_are_listed_quickly(tmp_path: Path) -> None:
    template = session(tmp_path, "s", commit(3)).read_bytes()
    for n in range(400):
        (tmp_path / f"{n}.jsonl").write_bytes(template.replace(b'"id":"s"', f'"id":"{n}"'.encode()))
    began = time.monotonic()
    assert len(list_sessions(tmp_path)) == 401
    assert time.monotonic() - began < 2
