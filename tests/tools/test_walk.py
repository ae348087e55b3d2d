"""The bounded walk and its ignore rules (section 13)."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.tools.search.ignore import IgnoreRules, RuleFile, compile_rules
from rho_core.tools.search.walk import StopReason, Walk


def put(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")


def walked(root: Path, **options: object) -> list[str]:
    walk = Walk(root, use_global_excludes=False, **options)  # type: ignore[arg-type]
    return [file.relative for file in walk.files()]


@pytest.mark.clause("T13.1", "T13.8")
def test_entries_are_sorted_by_bytes_with_folders_among_files(tmp_path: Path) -> None:
    put(tmp_path, "src/a.rs", "src/nested/c.rs", "src/b.rs", "top.rs", "Z.rs", "é.rs")
    assert walked(tmp_path) == [
        "Z.rs", "src/a.rs", "src/b.rs", "src/nested/c.rs", "top.rs", "é.rs",
    ]  # fmt: skip


@pytest.mark.clause("T13.2", "case:C12")
def test_links_are_neither_followed_nor_yielded(tmp_path: Path) -> None:
    put(tmp_path, "tree/a.py", "outside/secret.py")
    tree = tmp_path / "tree"
    (tree / "loop").symlink_to(tree)
    (tree / "up").symlink_to("..")
    (tree / "self").symlink_to("self")
    (tree / "root").symlink_to("/")
    (tree / "file.py").symlink_to(tmp_path / "outside" / "secret.py")
    assert walked(tree) == ["a.py"]


@pytest.mark.clause("T13.2", "case:C1")
def test_special_files_are_never_yielded(tmp_path: Path) -> None:
    put(tmp_path, "a")
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / ".gitignore")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket"))
    listener.close()
    started = time.monotonic()
    assert walked(tmp_path, include_hidden=True) == ["a"]
    assert time.monotonic() - started < 2


@pytest.mark.clause("T13.3")
def test_git_folders_are_pruned_but_may_be_the_root(tmp_path: Path) -> None:
    put(tmp_path, ".git/config", "sub/.git", "sub/x", ".github/w.yml")
    assert walked(tmp_path, include_hidden=True) == [".github/w.yml", "sub/x"]
    assert walked(tmp_path / ".git") == ["config"]
    assert walked(tmp_path / ".github") == ["w.yml"]


@pytest.mark.clause("T13.4")
def test_ignore_files_hold_with_and_without_a_repository(tmp_path: Path) -> None:
    put(tmp_path, "a.log", "keep.log", "build/x", "sub/b.log", "sub/c.txt", "sub/d.tmp")
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbf*.log\r\n!keep.log\r\nbuild/\r\n")
    (tmp_path / "sub" / ".gitignore").write_text("!b.log\nc.txt\n")
    (tmp_path / "sub" / ".ignore").write_text("*.tmp\n!c.txt\n")
    assert walked(tmp_path) == ["keep.log", "sub/b.log", "sub/c.txt"]
    assert walked(tmp_path / "sub") == ["b.log", "c.txt"]


@pytest.mark.clause("T13.4")
def test_parents_up_to_the_repository_and_its_exclude_file_count(tmp_path: Path) -> None:
    put(tmp_path, "repo/sub/a.x", "repo/sub/b.y", "repo/sub/c.z", "repo/sub/d")
    (tmp_path / ".gitignore").write_text("d\n")  # outside of the repository
    (tmp_path / "repo" / ".gitignore").write_text("*.x\n")
    (tmp_path / "repo" / ".git" / "info").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "info" / "exclude").write_text("sub/*.y\n")
    assert walked(tmp_path / "repo" / "sub") == ["c.z", "d"]


@pytest.mark.clause("T13.4")
def test_the_users_own_excludes_count_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "tree/a.bak", "tree/b")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[user]\n\tname = n\n[core]\n\texcludesFile = "~/mine"\n')
    (home / "mine").write_text("*.bak\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert [file.relative for file in Walk(tmp_path / "tree").files()] == ["b"]
    assert walked(tmp_path / "tree") == ["a.bak", "b"]


@pytest.mark.clause("T13.4", "case:C11")
def test_an_ignored_folder_that_is_named_as_root_is_walked(tmp_path: Path) -> None:
    put(tmp_path, "dist/a.js", "dist/sub/b.js")
    (tmp_path / ".gitignore").write_text("dist/\n")
    assert walked(tmp_path) == []
    assert walked(tmp_path / "dist") == ["a.js", "sub/b.js"]
    assert walked(tmp_path / "dist" / "sub") == ["b.js"]


@pytest.mark.clause("T13.5")
def test_hidden_entries_need_the_flag_or_a_rule(tmp_path: Path) -> None:
    put(tmp_path, ".env", ".config/x", "a", ".ignored")
    (tmp_path / ".gitignore").write_text("!.env\n.ignored\n")
    assert walked(tmp_path) == [".env", "a"]
    assert walked(tmp_path, include_hidden=True) == [".config/x", ".env", ".gitignore", "a"]


@pytest.mark.clause("T30.2", "T13.7")
def test_a_file_is_a_tree_of_one(tmp_path: Path) -> None:
    put(tmp_path, "a.log")
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert walked(tmp_path / "a.log") == ["a.log"]


@pytest.mark.clause("T13.6")
def test_bounds_stop_the_walk_and_say_so(tmp_path: Path) -> None:
    put(tmp_path, *(f"d/{n}" for n in range(20)))

    def stopped(**options: object) -> tuple[int, StopReason | None]:
        walk = Walk(tmp_path, use_global_excludes=False, **options)  # type: ignore[arg-type]
        return len(list(walk.files())), walk.stopped

    assert stopped() == (20, None)
    assert stopped(max_entries=22) == (20, None)
    assert stopped(max_entries=10) == (8, StopReason.ENTRY_LIMIT)
    assert stopped(max_seconds=-1) == (0, StopReason.DEADLINE)
    assert stopped(is_cancelled=lambda: True) == (0, StopReason.CANCELLED)
    polls = iter([False] * 5)
    assert stopped(is_cancelled=lambda: next(polls, True))[1] is StopReason.CANCELLED


@pytest.mark.clause("T13.6")
def test_unreadable_folders_and_odd_names_are_survived(tmp_path: Path) -> None:
    put(tmp_path, "a", "locked/b")
    odd = os.fsdecode(b"\xff\xfe")
    (tmp_path / odd).write_text("x")
    (tmp_path / "new\nline").write_text("x")
    (tmp_path / ".gitignore").write_text("*.zip\n")
    (tmp_path / "locked").chmod(0)
    try:
        names = walked(tmp_path)
    finally:
        (tmp_path / "locked").chmod(0o755)
    assert names[0] == "a"
    assert names[-1] == odd
    assert "new\nline" in names


@pytest.mark.clause("T13.4")
def test_one_broken_rule_costs_only_itself(tmp_path: Path) -> None:
    put(tmp_path, "a.log", "b")
    (tmp_path / ".gitignore").write_text("broken\\\n*.log\n[\n!\n")
    assert walked(tmp_path) == ["b"]


@settings(max_examples=60)
@given(
    st.lists(st.text("ab*?[]!/\\.\n #{}\0é", max_size=12), max_size=6), st.text("ab/.é", max_size=8)
)
def test_hostile_rules_never_raise(rules: list[str], path: str) -> None:
    spec = compile_rules(rules)
    if spec is not None:
        assert spec.check_file(path or "x").include in (True, False, None)


@settings(max_examples=100)
@given(
    st.lists(st.text("ab*?[]!/\\. #é", max_size=8), max_size=5),
    st.lists(st.text("ab.é\n", min_size=1, max_size=4), min_size=1, max_size=5),
    st.sampled_from(["/r", "/r/a", "/r/a/b"]),
)
@pytest.mark.clause("T13.4")
def test_a_directory_of_which_no_rule_may_speak_has_no_verdicts(
    rules: list[str], names: list[str], directory: str
) -> None:
    spec = compile_rules(rules)
    if spec is None:
        return
    found = IgnoreRules("/r/", None, RuleFile(spec), None)
    shown = [name + "/" if index % 2 else name for index, name in enumerate(names)]
    if not found.may_decide(directory, shown):
        for index, name in enumerate(names):
            assert found.verdict(f"{directory}/{name}", bool(index % 2)) is None
