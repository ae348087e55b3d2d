"""`glob` and its patterns (section 14)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.authority.capabilities import CapabilityKind, ReadPath
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tooling.contract import ToolExecutionPolicy
from rho_core.tooling.resources import DirectoryTree, ToolResourceAccess
from rho_core.tooling.values import ToolOperation
from rho_core.tools.search.glob import GlobTool, find_files
from rho_core.tools.search.globs import PathGlob
from rho_core.tools.search.tree_tool import SearchRoot
from rho_core.tools.search.walk import Walk
from tests.tools.test_walk import put
from tests.tools.tool_calls import ToolCalls


@pytest.fixture
def glob(tmp_path: Path) -> ToolCalls:
    return ToolCalls(GlobTool(use_global_excludes=False), tmp_path)


async def found(glob: ToolCalls, **arguments: object) -> list[str]:
    text = (await glob.run(**arguments)).content
    return [] if text.startswith("no files") else text.split("\n\n")[0].split("\n")


@pytest.mark.clause("T14.2")
@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/er/a.py", True),
        ("*.PY", "a.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/b/c/a.py", True),
        ("src/**", "src/b/c", True),
        ("src/**", "srcs/b", False),
        ("**/c", "a/b/c", True),
        ("./src/*.py", "src/a.py", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a?c", "aéc", True),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[!a]b", "/b", False),
        ("[]x]y", "]y", True),
        ("*.{ts,js}", "m.js", True),
        ("{a,b/{c,d}}/x", "b/d/x", True),
        (r"\*.py", "*.py", True),
        (r"\*.py", "a.py", False),
        ("a.b", "aXb", False),
        ("a|b", "a|b", True),
        ("x**y", "xzzy", True),
        ("*", "new\nline", True),
    ],
)
def test_pattern_syntax(pattern: str, path: str, matches: bool) -> None:
    assert PathGlob(pattern).matches(path) is matches


@pytest.mark.clause("T14.2", "T30.5")
@pytest.mark.parametrize("pattern", ["[a", "{a,b", "a}", "a\\", "[z-a]", "{" * 40, "x" * 5_000])
async def test_an_invalid_pattern_is_refused_before_any_authority(
    glob: ToolCalls, pattern: str
) -> None:
    with pytest.raises(ToolError, match="invalid glob '") as caught:
        await glob.prepare(pattern=pattern)
    assert caught.value.tool_kind is ToolErrorKind.EXECUTION


@settings(max_examples=100)
@given(st.text("ab*?[]!{},/\\-.", max_size=16), st.text("ab/.-", max_size=12))
def test_hostile_patterns_compile_or_are_refused(pattern: str, path: str) -> None:
    outcome = _match_or_refusal(pattern, path)
    assert outcome in (True, False) or "invalid glob" in str(outcome)


def _match_or_refusal(pattern: str, path: str) -> bool | str:
    try:
        return PathGlob(pattern).matches(path)
    except ToolError as error:
        return error.message


@settings(max_examples=100)
@given(st.text("ab*?.", min_size=1, max_size=8), st.text("ab.", min_size=1, max_size=8))
def test_simple_patterns_agree_with_a_plain_reference(pattern: str, name: str) -> None:
    reference = re.escape(pattern).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    expected = re.fullmatch(reference, name) is not None or pattern == name
    assert PathGlob(pattern).matches(name) is expected


@pytest.mark.clause("T14.6", "T2.11")
async def test_the_plan_declares_one_read_of_the_tree(glob: ToolCalls, tmp_path: Path) -> None:
    put(tmp_path, "src/a.py")
    plan = await glob.prepare(pattern="*.py", path="src")
    assert plan.policy is ToolExecutionPolicy.RESOURCE_AWARE
    assert plan.accesses == (ToolResourceAccess.shared(DirectoryTree(tmp_path / "src")),)
    (request,) = plan.capabilities
    assert isinstance(request.operation, ReadPath)
    assert request.operation.path == tmp_path / "src"
    assert plan.metadata.operation is ToolOperation.READ
    assert plan.metadata.affected_paths == ("src",)
    assert glob.tool.security().classes == (CapabilityKind.READ,)


@pytest.mark.clause("T14.4", "T30.3")
async def test_paths_are_joined_with_the_root_and_counted(glob: ToolCalls, tmp_path: Path) -> None:
    put(tmp_path, "src/b.py", "src/a.py", "src/c.txt")
    output = await glob.run(pattern="*.py", path="src")
    assert output.content == "src/a.py\nsrc/b.py\n\n2 files"
    assert output.metadata.details["files"] == 2
    nothing = await glob.run(pattern="*.rs", path="src")
    assert nothing.content == "no files matching '*.rs' under src"


@pytest.mark.clause("T14.1", "T14.5")
async def test_the_result_limit_is_clamped_and_reported(glob: ToolCalls, tmp_path: Path) -> None:
    put(tmp_path, "a", "b", "c")
    note = "(result limit reached; narrow the pattern or path)"
    assert (await glob.run(pattern="*", max_results=2)).content == f"a\nb\n\n2 files {note}"
    assert (await glob.run(pattern="*", max_results=0)).content == f"a\n\n1 files {note}"
    assert len(await found(glob, pattern="*", max_results=10**9)) == 3
    for bad in (-1, True, "2", 1.5):
        error = await glob.fail(pattern="*", max_results=bad)
        assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS


@pytest.mark.clause("T14.5")
def test_each_early_stop_is_told_even_without_results(tmp_path: Path) -> None:
    put(tmp_path, "a", "b")
    root = SearchRoot(tmp_path, tmp_path)

    def text(**options: object) -> str:
        walk = Walk(tmp_path, use_global_excludes=False, **options)  # type: ignore[arg-type]
        return find_files(walk, PathGlob("z"), root, 10, 64_000).text

    start = "no files matching 'z' under ."
    assert text() == start
    assert text(max_entries=1) == f"{start} (scan limit reached; narrow the pattern or path)"
    assert text(max_seconds=-1) == f"{start} (time limit reached)"
    assert text(is_cancelled=lambda: True) == f"{start} (cancelled)"


@pytest.mark.clause("T13.6", "T14.5")
def test_the_walk_ends_with_the_last_result_that_is_wanted(tmp_path: Path) -> None:
    put(tmp_path, *(f"d{number}/{name}" for number in range(9) for name in "abc"))
    looked = 0

    def is_cancelled() -> bool:
        nonlocal looked
        looked += 1
        return False

    walk = Walk(tmp_path, use_global_excludes=False, is_cancelled=is_cancelled, max_entries=5)
    found = find_files(walk, PathGlob("a"), SearchRoot(tmp_path, tmp_path), 1, 64_000)
    assert found.text.startswith("d0/a\n\n1 files (result limit reached")
    assert 0 < looked <= 2


@pytest.mark.clause("case:C9")
async def test_every_name_can_be_found_and_none_forges_a_line(
    glob: ToolCalls, tmp_path: Path
) -> None:
    names = ["[id].tsx", "{kind} a.md", "two words.md", "emoji 😀.txt", "a\nb.txt", "x [y] z"]
    put(tmp_path, *names)
    for name in ("[id].tsx", "{kind} a.md", "two words.md", "emoji 😀.txt", "x [y] z"):
        assert await found(glob, pattern=name) == [name]
    assert await found(glob, pattern="*two words*") == ["two words.md"]
    assert await found(glob, pattern="a\nb.txt") == ['"a\\nb.txt"']
    odd = os.fsdecode(b"bad\xff.txt")
    (tmp_path / odd).write_text("x")
    assert await found(glob, pattern="bad?.txt") == ['"bad\\xff.txt"']


@pytest.mark.clause("case:C11")
async def test_what_is_asked_for_by_name_is_found_and_skips_are_told(
    glob: ToolCalls, tmp_path: Path
) -> None:
    put(tmp_path, "dist/a.js", ".github/w.yml", "src/x", ".env")
    (tmp_path / ".gitignore").write_text("dist/\n")
    assert await found(glob, pattern="dist/a.js") == ["dist/a.js"]
    assert await found(glob, pattern=".github/*.yml") == [".github/w.yml"]
    assert await found(glob, pattern=".env") == [".env"]
    text = (await glob.run(pattern="*.js")).content
    assert text.startswith("no files matching '*.js' under . (entries skipped: ")
    assert "3 hidden" in text
    assert "1 ignored" in text


async def test_a_named_path_never_leads_through_a_link_or_out(
    glob: ToolCalls, tmp_path: Path
) -> None:
    put(tmp_path, "outer/secret")
    root = tmp_path / "root"
    put(root, "a", ".git/config")
    (root / "link").symlink_to(tmp_path / "outer")
    inner = ToolCalls(glob.tool, root)
    for pattern in ("link/secret", "../outer/secret", "x/../../outer/secret", ".git/config"):
        assert await found(inner, pattern=pattern) == []


@pytest.mark.clause("T2.1", "T2.24")
async def test_bad_calls_are_refused(glob: ToolCalls) -> None:
    assert (await glob.fail()).tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert "extra" in (await glob.fail(pattern="*", extra=1)).message
    assert (await glob.fail(pattern="*", path="../x")).tool_kind is ToolErrorKind.POLICY_DENIED
    assert (await glob.fail(pattern="*", path="none")).tool_kind is ToolErrorKind.EXECUTION
    homeless = ToolCalls(glob.tool, None)
    assert "workspace is required" in (await homeless.fail(pattern="*")).message


@pytest.mark.clause("T14.5", "T2.18")
async def test_output_stays_within_its_budget(tmp_path: Path) -> None:
    put(tmp_path, *(f"{n:03}-{'x' * 90}" for n in range(60)))
    tool = GlobTool(max_output_bytes=2_000, use_global_excludes=False)
    text = (await ToolCalls(tool, tmp_path).run(pattern="*")).content
    assert len(text) <= 2_000
    assert text.endswith("(output limit reached; narrow the pattern or path)")


@pytest.mark.clause("T14.6")
async def test_a_changed_root_is_denied_and_cancellation_stops_the_thread(
    glob: ToolCalls, tmp_path: Path
) -> None:
    put(tmp_path, "d/a")
    plan = await glob.prepare(pattern="*", path="d")
    (tmp_path / "d").rename(tmp_path / "e")
    (tmp_path / "d").symlink_to("e")
    with pytest.raises(ToolError) as caught:
        await glob.execute(plan)
    assert caught.value.tool_kind is ToolErrorKind.POLICY_DENIED
    late = ToolCalls(glob.tool, tmp_path)
    plan = await late.prepare(pattern="*")
    late.cancellation.cancel()
    assert (await late.execute(plan)).content == "no files matching '*' under . (cancelled)"
