from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rho_core.ids import SessionId
from rho_tui.host.sessions import file as session_file
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.file import Damage, SessionFile, file_name, read_lines
from tests.host.session_samples import MODEL, RECORDS

HEADER = r.Header(SessionId("s-1"), 1764498000.0, "/x", "0", MODEL)


def titles(path: Path) -> list[str]:
    return [
        item.record.title
        for item in read_lines(path)
        if isinstance(item, r.Line) and isinstance(item.record, r.TitleSet)
    ]


def write(path: Path, *records: r.Record, next_seq: int = 1) -> None:
    file = SessionFile(path, next_seq=next_seq, exists=path.exists())
    for record in records:
        file.stage(record)
    file.flush()
    file.close()


def test_what_is_flushed_is_read_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "s.jsonl"
    write(path, *RECORDS)
    lines = list(read_lines(path))
    assert [line.record for line in lines if isinstance(line, r.Line)] == list(RECORDS)
    assert [line.seq for line in lines if isinstance(line, r.Line)] == list(
        range(1, len(RECORDS) + 1)
    )


@pytest.mark.skipif(os.name != "posix", reason="permission bits")
@pytest.mark.clause("APP7.1")
def test_files_and_folders_are_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "s.jsonl"
    before = os.umask(0)
    try:
        write(path, HEADER)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_names_sort_by_time_and_cannot_leave_the_folder() -> None:
    names = [file_name(SessionId("b"), 1764498000.5), file_name(SessionId("a"), 1764498001.0)]
    assert sorted(names) == names
    assert "/" not in file_name(SessionId("../../x"), 0.0)


@pytest.mark.clause("case:G2", "APP7.5")
def test_a_write_torn_at_any_byte_loses_only_what_was_torn(tmp_path: Path) -> None:
    """Cut a good file at every offset of its last two records, resume it, append, read all."""
    path = tmp_path / "s.jsonl"
    write(path, HEADER, r.TitleSet("first"), r.TitleSet("zweite ü漢"), r.TitleSet("third"))
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 0x0A]
    for cut in range(ends[1], len(whole) + 1):
        path.write_bytes(whole[:cut])
        survivors = [
            t
            for t, end in zip(["first", "zweite ü漢", "third"], ends[1:], strict=True)
            if cut >= end - 1
        ]  # a record that lacks only its newline is whole
        torn = cut not in ends and cut + 1 not in ends
        assert titles(path) == survivors
        assert [d.last for d in read_lines(path) if isinstance(d, Damage)] == [True] * torn
        write(path, r.TitleSet("after"), next_seq=9)
        assert titles(path) == [*survivors, "after"]
        assert path.read_bytes().startswith(whole[:cut])  # nothing was rewritten
        noted = [x for x in read_lines(path) if isinstance(x, r.Line) and x.seq == 0]
        assert len(noted) == torn


def test_a_bad_line_in_the_middle_does_not_stop_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, HEADER, r.TitleSet("a"), r.TitleSet("b"), r.TitleSet("c"))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b"\x00" * 40 + b"\n"
    path.write_bytes(b"".join(lines))
    assert titles(path) == ["a", "c"]
    assert sum(isinstance(item, Damage) for item in read_lines(path)) == 1


def test_a_full_disk_keeps_everything_staged_and_the_next_flush_writes_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    file = SessionFile(path)
    file.stage(HEADER)
    file.stage(r.TitleSet("a"))
    file.flush()
    real = session_file._write_all

    def half(raw: object, data: bytes) -> None:
        real(raw, data[: len(data) // 2])  # type: ignore[arg-type]
        raise OSError(errno.ENOSPC, "No space left on device")

    file.stage(r.TitleSet("b"))
    file.stage(r.TitleSet("c"))
    with monkeypatch.context() as patch:
        patch.setattr(session_file, "_write_all", half)
        for _ in range(3):
            with pytest.raises(OSError, match="No space left"):
                file.flush()
    assert file.unwritten == 2
    file.stage(r.TitleSet("d"))
    file.flush()
    file.close()
    assert file.unwritten == 0
    assert list(dict.fromkeys(titles(path))) == ["a", "b", "c", "d"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_really_full_raises_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.symlink_to("/dev/full")
    file = SessionFile(path)
    file.stage(HEADER)
    with pytest.raises(OSError, match="No space left"):
        file.flush()
    path.unlink()
    file.flush()
    file.close()
    assert [line.record for line in read_lines(path) if isinstance(line, r.Line)] == [HEADER]


def test_an_unconfirmed_write_is_written_again_under_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    file = SessionFile(path)
    file.stage(HEADER)
    with monkeypatch.context() as patch:
        patch.setattr(session_file, "_sync_data", _fail)
        with pytest.raises(OSError, match="I/O"):
            file.flush()
    file.flush()
    file.close()
    assert [line.seq for line in read_lines(path) if isinstance(line, r.Line)] == [1, 1]


def _fail(_descriptor: int) -> None:
    raise OSError(errno.EIO, "I/O error")


WRITER = """
import sys
from pathlib import Path
from rho_tui.host.sessions.file import SessionFile
from rho_tui.host.sessions.records import TitleSet
file = SessionFile(Path(sys.argv[1]))
n = 0
while True:
    n += 1
    file.stage(TitleSet(f"{n} " + "x" * (n * 37 % 5000)))
    file.flush()
    sys.stdout.write(f"{n}\\n")
    sys.stdout.flush()
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.clause("case:G1", "APP7.5")
def test_a_killed_writer_has_on_disk_whatever_it_confirmed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() != b"20\n":
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        confirmed = max(int(n) for n in process.stdout.read().split() or [b"20"])
        process.wait(timeout=10)
    numbers = [int(title.split()[0]) for title in titles(path)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= confirmed


@pytest.mark.clause("case:G7")
def test_reading_holds_one_line_at_a_time(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "s.jsonl"
    write(path, HEADER, *(r.TitleSet("x" * 500_000) for _ in range(40)))
    began = time.monotonic()
    tracemalloc.start()
    count = sum(1 for _ in read_lines(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 41
    assert peak < 10_000_000
    assert time.monotonic() - began < 10
