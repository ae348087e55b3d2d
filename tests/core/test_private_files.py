"""Files of one's own: private from the moment they exist, and still so after every save (J5)."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rho_core.private_files import make_private_folder, open_private_file, replace_private_file

pytestmark = [
    pytest.mark.clause("case:J5"),
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes"),
]


@pytest.fixture(autouse=True)
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_every_folder_on_the_way_is_private_and_what_exists_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    make_private_folder(shared / "a" / "b" / "c")
    make_private_folder(shared / "a" / "b" / "c")
    assert [mode(shared / part) for part in ("", "a", "a/b", "a/b/c")] == [0o755, *[0o700] * 3]


def test_a_file_where_a_folder_should_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(OSError, match="a"):
        make_private_folder(tmp_path / "a" / "b")
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "a")


def test_an_opened_file_is_made_private_and_an_older_one_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for text in ("one", "two"):
        with open(path, "a", opener=open_private_file) as file:
            file.write(text)
    assert (path.read_text(), mode(path)) == ("onetwo", 0o600)
    path.chmod(0o640)
    with open(path, "a", opener=open_private_file):
        assert mode(path) == 0o640


def test_there_is_no_moment_at_which_others_could_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "not" / "yet" / "auth.toml"
    seen: list[int] = []

    def look(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        seen.extend(mode(file) for file in path.parent.iterdir())

    monkeypatch.setattr(os, "fsync", look)
    for secret in (b"sk-test-123", b"sk-test-456"):
        replace_private_file(path, secret)
        assert (path.read_bytes(), mode(path)) == (secret, 0o600)
    assert set(seen) == {0o600}
    assert [mode(path.parent), mode(path.parent.parent)] == [0o700, 0o700]
    assert [file.name for file in path.parent.iterdir()] == ["auth.toml"]


def test_a_readable_file_is_tightened_by_the_first_save_and_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "auth.toml"
    path.write_text("old")
    assert mode(path) == 0o666
    replace_private_file(path, b"new")
    assert mode(path) == 0o600
    replace_private_file(path, b"newer")
    assert mode(path) == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_a_link(tmp_path: Path, exists: bool) -> None:
    target = tmp_path / "dotfiles" / "auth.toml"
    if exists:
        target.parent.mkdir()
        target.write_text("old")
    link = tmp_path / "auth.toml"
    link.symlink_to(Path("dotfiles") / "auth.toml")
    replace_private_file(link, b"new")
    assert link.is_symlink()
    assert (target.read_bytes(), mode(target)) == (b"new", 0o600)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "auth.toml"
    path.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_private_file(path, b"new")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["auth.toml"]
