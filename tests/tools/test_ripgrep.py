"""`grep` with ripgrep and without: the same text, whatever lies in the tree (decisions, grep)."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import sys
import sysconfig
import textwrap
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rho_core.errors import ToolError
from rho_core.tools.search import grep
from rho_core.tools.search import ripgrep as engine
from rho_core.tools.search.grep import MAX_FILE_BYTES, GrepTool, search_tree
from rho_core.tools.search.grep_report import GrepReport, OutputMode
from rho_core.tools.search.regex import LineMatcher
from rho_core.tools.search.rg_pattern import ripgrep_pattern
from rho_core.tools.search.ripgrep import RipgrepSieve, find_ripgrep
from rho_core.tools.search.tree_tool import SearchRoot
from rho_core.tools.search.walk import Walk, WalkedFile
from tests.tools.tool_calls import ToolCalls

RG = find_ripgrep(os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")]))
needs_ripgrep = pytest.mark.skipif(RG is None, reason="there is no ripgrep on the PATH")

NAMES = ["a.py", "b c.txt", "-n", "--help", "ü.md", "[id].tsx", "x'y\"z", "new\nline", "é", ".dot"]
LINES = [
    b"needle", b"NEEDLE here", b"a needle\r", b"caf\xc3\xa9 needle_1", b"\xff\xfe bad needle",
    b"x" * 3000 + b"needle", b"", b"foo(bar) {baz} [1]", b"\ttab\tneedle", b"w\xe2\x80\xa8needle",
    b"k\xe2\x84\xaaK", b"1 22 333", b"end$", b"a\rb", b"nul \0 needle",
]  # fmt: skip
PATTERNS = [
    "needle", "^needle$", r"\bneedle\b", r"needle\w*", r"[a-z]+_\d", "NEEDLE|foo", "$", "^$",
    "", r"foo\(bar\)", "{baz}", r"\s+needle", r"[^a-z ]needle", "n.*e", "(?:ne)(ed)+le", "é",
    r"\d{2,3}", "end\\$", r"a.b", r"\W\D\S", "[]x]needle", r"(?i)needle", r"\pL+\d", "needle.$",
    r"x{1000}n", "[[:alpha:]]+_", r"\x6eeedle", "k+", "w.needle", r"\Aneedle", r"nul . needle",
]  # fmt: skip


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several batches even in a small tree."""
    monkeypatch.setattr(engine, "DIRECT_FILES", 2)
    monkeypatch.setattr(engine, "FIRST_BATCH", 5)
    monkeypatch.setattr(engine, "LARGEST_BATCH", 20)


def make_tree(root: Path, seed: int, files: int = 60) -> None:
    """Odd names, ignore rules, binary and damaged content, links, pipes, unreadable files."""
    chance = random.Random(seed)
    for number in range(files):
        folder = root
        for _ in range(chance.randint(0, 3)):
            folder /= chance.choice(["src", "build", "node_modules", ".hidden", "d e", "ß"])
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{chance.choice(NAMES)}{number if chance.random() < 0.7 else ''}"
        if path.exists() or path.is_symlink():
            continue
        lines = chance.choices(LINES, k=chance.randint(0, 30))
        content = b"\n".join(lines) + chance.choice([b"", b"\n", b"\r\n", b"\r"])
        if chance.random() < 0.1:
            content = chance.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\0"]) + content
        path.write_bytes(content)
    (root / ".gitignore").write_text("build/\n*.md\n!ü.md\n")
    (root / ".ignore").write_text("node_modules\n")
    (root / ".rgignore").write_text("*\n")
    (root / "nested" / ".git").mkdir(parents=True)
    (root / "nested" / "found.md0").write_text("needle\n")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("needle")
    (root / "link.py").symlink_to(root / "nested" / "found.md0")
    os.mkfifo(root / "pipe")
    secret = root / "secret.txt"
    secret.write_text("needle")
    secret.chmod(0)
    put_large_file(root / "huge.txt", MAX_FILE_BYTES + 1)


def put_large_file(path: Path, size: int) -> None:
    """Text that matches at its beginning, of that size; not all of it is on the disk."""
    with path.open("wb") as file:
        file.write(b"needle" + b"\n" * 8192)
        file.truncate(size)


async def both(root: Path, **arguments: object) -> tuple[str, str]:
    texts = []
    for program in (RG, None):
        tool = GrepTool(use_global_excludes=False, ripgrep=program)
        texts.append((await ToolCalls(tool, root).run(**arguments)).content)
    return texts[0], texts[1]


@needs_ripgrep
@pytest.mark.usefixtures("small_batches")
@pytest.mark.clause("T13.4", "T15.3", "T15.4")
@pytest.mark.parametrize("seed", range(2))
async def test_results_are_the_same_in_a_hostile_tree(tmp_path: Path, seed: int) -> None:
    make_tree(tmp_path, seed)
    found = 0
    for number, pattern in enumerate(PATTERNS):
        arguments: dict[str, object] = {"pattern": pattern}
        if number % 3 == 0:
            arguments["case_sensitive"] = False
        if number % 4 == 1:
            arguments |= {"output_mode": "count", "include_hidden": True}
        if number % 5 == 2:
            arguments |= {"max_results": 7, "max_per_file": 2}
        with_it, without = await both(tmp_path, **arguments)
        assert with_it == without, arguments
        found += not without.startswith("no matches")
    assert found > len(PATTERNS) // 2
    for text in ("needle", "foo(bar) {baz}", "[1]", "caf\xe9", "-", "n.*e"):
        for case_sensitive in (True, False):
            with_it, without = await both(
                tmp_path, pattern=text, literal=True, case_sensitive=case_sensitive, glob="**/*"
            )
            assert with_it == without, text


@needs_ripgrep
@pytest.mark.clause("T15.4")
async def test_folders_are_searched_as_a_whole_and_large_files_still_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "DIRECT_FILES", 0)
    opened: list[str] = []
    read_text = grep._read_text

    def counted(file: WalkedFile, report: GrepReport) -> bytes | None:
        opened.append(file.relative)
        return read_text(file, report)

    monkeypatch.setattr(grep, "_read_text", counted)
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    folder = root / "folder"
    (folder / "m below").mkdir(parents=True)
    outside.mkdir()
    (outside / "a").write_text("needle\n")
    for name in ("a.txt", "b.txt", "z.txt", "m below/c.txt", "m below/-", "m below/new\nline"):
        (folder / name).write_text("needle\n" if name < "b" or name > "y" else "hay\n")
    (folder / "empty").touch()
    (folder / "link").symlink_to(outside / "a")
    (folder / "links").symlink_to(outside)
    os.mkfifo(folder / "pipe")
    assert (
        await both(root, pattern="needle", output_mode="count")
        == ("folder/a.txt:1\nfolder/z.txt:1\n\n2 matches in 2 files",) * 2
    )
    assert opened[:2] == ["folder/a.txt", "folder/z.txt"]
    assert len(opened) == 2 + 7  # with ripgrep only what matches
    put_large_file(folder / "large", MAX_FILE_BYTES)
    put_large_file(folder / "m below" / "too large", MAX_FILE_BYTES + 1)
    (folder / "m below" / "hay too large").write_bytes(b"hay\n" * (MAX_FILE_BYTES // 4 + 1))
    del opened[:]
    with_it, without = await both(root, pattern="needle", output_mode="files_with_matches")
    assert with_it == without
    assert with_it.endswith("\n\n3 files (2 files over 5 MiB skipped)")
    assert len(opened) == 5 + 10


@needs_ripgrep
@pytest.mark.usefixtures("small_batches")
@pytest.mark.clause("T13.6", "T15.8")
@pytest.mark.parametrize("in_each", [120, 10])
async def test_limits_and_their_notes_are_the_same(tmp_path: Path, in_each: int) -> None:
    for number in range(120):
        folder = tmp_path / f"d{number // in_each:02}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number:03}.txt").write_text("needle\n" if number % 3 == 0 else "hay\n")
    for limit in (1, 2, 11, 12, 39, 40, 1000):
        with_it, without = await both(tmp_path, pattern="needle", max_results=limit)
        assert with_it == without
    visited = 1 + 120 // in_each + 120
    for entries in (1, 2, 3, 8, 9, 30, visited - 1, visited, visited + 1):
        with_it, without = (limited(tmp_path, entries, sieve=sieve) for sieve in (True, False))
        assert with_it == without, entries
        assert ("scan limit reached" in without) == (entries < visited)


def limited(root: Path, entries: int, *, sieve: bool) -> str:
    """The text of a search that may visit so many entries."""
    walk = Walk(root, max_entries=entries, use_global_excludes=False)
    report = GrepReport(
        "needle",
        SearchRoot(root, root),
        OutputMode.CONTENT,
        max_results=1000,
        max_per_file=10,
        max_output_bytes=64_000,
    )
    program = None
    if sieve and RG is not None:
        program = RipgrepSieve.create(
            RG, "needle", root=root, literal=True, case_sensitive=True, max_file_bytes=10_000
        )
    return search_tree(walk, LineMatcher("needle"), None, report, program).text


@needs_ripgrep
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pattern=st.text(alphabet=list(r"ab \dwsSWb.^$*+?|()[]{}-,12é")) .filter(bool),
    content=st.lists(st.text(alphabet=list("ab 12é\r_-()[]{}$^\\")), max_size=6),
    case_sensitive=st.booleans(),
)  # fmt: skip
@pytest.mark.clause("T15.2", "T15.3")
def test_whatever_matches_is_let_through(
    tmp_path: Path, pattern: str, content: list[str], case_sensitive: bool
) -> None:
    try:
        matcher = LineMatcher(pattern, case_sensitive=case_sensitive)
    except ToolError:
        return
    data = "\n".join(content).encode()
    if not any(matcher.matches(data)):
        return
    translated = ripgrep_pattern(pattern, literal=False, case_sensitive=case_sensitive)
    if translated is None or RG is None:
        return
    path = tmp_path / "file"
    path.write_bytes(data)
    case = "--case-sensitive" if case_sensitive else "--ignore-case"
    command = [str(RG), *engine._OPTIONS, case, "--regexp", translated, "--", str(path)]
    result = subprocess.run(command, capture_output=True, check=False)
    # 2 is a refused pattern: the files are then read
    assert result.returncode == 2 or result.stdout.startswith(os.fsencode(path) + b"\0")


@pytest.mark.clause("T15.2")
def test_only_what_is_known_to_mean_the_same_is_translated() -> None:
    def regex(pattern: str, *, case_sensitive: bool = True) -> str | None:
        return ripgrep_pattern(pattern, literal=False, case_sensitive=case_sensitive)

    assert regex(r"foo\(\w+\)$") == r"foo\([0-9A-Za-z_]+\)(?:\r?$)"
    assert regex("a{2,3} {x}") == r"a{2,3} \{x\}"
    assert regex(r"[^\d\]-]") == r"[^0-9\x5d\x2d]"
    assert regex(r"\<a\>") == "<a>"  # a word boundary in ripgrep, plain characters here
    for uncertain in (r"\Aa", r"a\z", r"\pL", "(?i)a", "(?P<n>a)", "[[:alpha:]]", r"\x41", "[]a]"):
        assert regex(uncertain) is None
    assert regex("é") == "é"
    assert regex("é", case_sensitive=False) is None
    assert ripgrep_pattern("a\nb", literal=True, case_sensitive=True) is None


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!{sys.executable}\nimport sys\n{textwrap.dedent(body)}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(
    "body",
    [
        "sys.exit(2)",
        "sys.exit(99)",
        "import os; os.kill(os.getpid(), 9)",
        "sys.stdout.write('/etc/passwd\\0')",
        "sys.stdout.write('not separated')",
        "sys.stdout.write('/etc/passwd\\0\\n30 files searched\\n')",
        "sys.stdout.write('1 matches\\n')",
        "print('30 files searched'); sys.exit(2)",
    ],
)
@pytest.mark.clause("T15.3")
async def test_a_program_that_misbehaves_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, body: str
) -> None:
    root, elsewhere = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("bin")
    for number in range(30):
        (root / f"f{number:02}").write_text("needle\n")
    broken = ToolCalls(GrepTool(ripgrep=script(elsewhere / "rg", body)), root)
    output = await broken.run(pattern="needle", output_mode="files_with_matches")
    assert output.content.endswith("30 files")
    gone = ToolCalls(GrepTool(ripgrep=elsewhere / "nothing"), root)
    assert (await gone.run(pattern="needle", output_mode="count")).content.endswith("in 30 files")


@pytest.mark.usefixtures("small_batches")
@pytest.mark.clause("T15.3")
async def test_what_the_program_does_not_name_is_not_read(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root, elsewhere = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("bin")
    for number in range(30):
        (root / f"f{number:02}").write_text("needle\n")
    nothing = script(elsewhere / "rg", "print('30 files searched'); sys.exit(1)")
    tool = ToolCalls(GrepTool(ripgrep=nothing), root)
    output = await tool.run(pattern="needle", output_mode="files_with_matches")
    assert output.content.endswith("\n\n2 files")  # those of the direct beginning
    # with a pattern that may mean something else there, it is not asked
    output = await tool.run(pattern="(?i)needle", output_mode="files_with_matches")
    assert output.content.endswith("30 files")


@pytest.mark.usefixtures("small_batches")
@pytest.mark.clause("T15.12", "T13.6")
async def test_cancelling_ends_a_program_that_hangs(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root, elsewhere = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("bin")
    for number in range(30):
        (root / f"f{number:02}").write_text("needle\n")
    started = elsewhere / "started"
    body = f"import time; open({str(started)!r}, 'w').close(); time.sleep(60)"
    tool = ToolCalls(GrepTool(ripgrep=script(elsewhere / "rg", body)), root)

    def cancel() -> None:
        from tests.tools.shell_harness import wait_until

        wait_until(started.exists, 10)
        tool.cancellation.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    output = await tool.run(pattern="needle")
    thread.join()
    assert "cancelled" in output.content


@pytest.mark.clause("T15.12")
def test_a_program_of_the_workspace_is_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    program = script(tmp_path / "rg", f"open({str(ran)!r}, 'w'); print('ripgrep 15.0.0')")
    monkeypatch.chdir(tmp_path)
    assert find_ripgrep(".") is None
    assert find_ripgrep("") is None
    assert not ran.exists()
    options = {"root": tmp_path, "literal": True, "case_sensitive": True, "max_file_bytes": 10}
    assert RipgrepSieve.create(program, "x", **options) is None  # type: ignore[arg-type]
    other = script(tmp_path / "rg", "print('some other rg 1.0')")
    assert find_ripgrep(str(other.parent)) is None
    assert shutil.which("rg", path=str(tmp_path)) is not None
