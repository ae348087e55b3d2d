"""`grep`: matching, limits, summaries and hostile trees (section 15)."""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tools.search.grep import GrepTool
from rho_core.tools.search.regex import LineMatcher
from tests.tools.test_walk import put
from tests.tools.tool_calls import ToolCalls

MAX_RESULTS_NOTE = "result limit reached; narrow the pattern, path, or glob"
PER_FILE_NOTE = "files truncated by max_per_file; raise max_per_file or narrow the pattern"


@pytest.fixture
def grep(tmp_path: Path) -> ToolCalls:
    return ToolCalls(GrepTool(use_global_excludes=False), tmp_path)


async def text_of(grep: ToolCalls, **arguments: object) -> str:
    return (await grep.run(**arguments)).content


@pytest.mark.clause("T15.5", "T15.9")
async def test_content_mode_groups_lines_under_their_file(grep: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("def f():\n    hit = 1\n\thit\n")
    (tmp_path / "b.txt").write_text("no\nhit\n")
    output = await grep.run(pattern="hit")
    assert output.content == (
        "b.txt\n2 | hit\nsrc/a.py\n2 |     hit = 1\n3 | \thit\n\n3 matches in 2 files"
    )
    assert output.metadata.details["matches"] == 3
    assert output.metadata.details["files"] == 2
    under = await text_of(grep, pattern="hit", path="src")
    assert under.startswith("src/a.py\n2 | ")


@pytest.mark.clause("T15.11", "T15.6")
async def test_lines_beyond_max_per_file_are_counted_and_headers_can_be_styled(
    tmp_path: Path,
) -> None:
    (tmp_path / "hits.rs").write_text("hit\nhit\nhit\n")

    def header(path: str, text: str) -> str:
        return f"[{path}#{len(text)}]"

    grep = ToolCalls(GrepTool(header=header, use_global_excludes=False), tmp_path)
    assert await text_of(grep, pattern="hit", max_per_file=1) == (
        "[hits.rs#12]\n1 | hit\n... +2 more in this file\n\n"
        f"1 matches shown (3 total) in 1 files (1 {PER_FILE_NOTE})"
    )


@pytest.mark.clause("T15.8", "T15.9")
async def test_max_results_splits_a_file_and_reports_the_remainder(
    grep: ToolCalls, tmp_path: Path
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("hit\nhit\nhit\n")
    assert await text_of(grep, pattern="hit", max_results=4) == (
        "a\n1 | hit\n2 | hit\n3 | hit\nb\n1 | hit\n... +2 more in this file\n\n"
        f"4 matches shown (6 total) in 2 files ({MAX_RESULTS_NOTE})"
    )


@pytest.mark.clause("T15.8", "T15.9")
async def test_max_results_may_be_reached_at_the_end_of_a_file(
    grep: ToolCalls, tmp_path: Path
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("hit\n")
    assert await text_of(grep, pattern="hit", max_results=2) == (
        f"a\n1 | hit\nb\n1 | hit\n\n2 matches in 2 files ({MAX_RESULTS_NOTE})"
    )


@pytest.mark.clause("T13.3", "T13.4", "T13.5", "T15.4")
async def test_hidden_files_are_searched_when_asked_for_and_ignored_ones_never(
    grep: ToolCalls, tmp_path: Path
) -> None:
    put(tmp_path, "a", ".env", ".config/b", ".git/config", "out/c", "sub/d.log")
    (tmp_path / ".gitignore").write_text("out/\n*.log\n")
    files = {"pattern": "x", "output_mode": "files_with_matches"}
    assert await text_of(grep, **files) == "a\n\n1 files"
    assert await text_of(grep, **files, include_hidden=True) == ".config/b\n.env\na\n\n3 files"


@pytest.mark.clause("T15.10", "T15.12")
async def test_a_cancelled_search_is_not_read_as_no_matches(
    grep: ToolCalls, tmp_path: Path
) -> None:
    put(tmp_path, "a")
    plan = await grep.prepare(pattern="x")
    grep.cancellation.cancel()
    assert (await grep.execute(plan)).content == "no matches for 'x' under . (cancelled)"


@pytest.mark.clause("T15.7", "T15.9")
async def test_the_other_modes_list_files_and_counts(grep: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hit\nhit\n")
    (tmp_path / "b").write_text("hit\n")
    assert await text_of(grep, pattern="hit", output_mode="files_with_matches") == "a\nb\n\n2 files"
    assert (
        await text_of(grep, pattern="hit", output_mode="count")
        == "a:2\nb:1\n\n3 matches in 2 files"
    )
    limited = await text_of(grep, pattern="hit", output_mode="count", max_results=1)
    assert limited == f"a:2\n\n2 matches in 1 files ({MAX_RESULTS_NOTE})"


@pytest.mark.clause("T15.10")
async def test_no_match_is_a_success_that_tells_what_was_skipped(
    grep: ToolCalls, tmp_path: Path
) -> None:
    put(tmp_path, "a")
    assert await text_of(grep, pattern="z+") == "no matches for 'z+' under ."
    put(tmp_path, ".hidden/b")
    assert "1 hidden" in await text_of(grep, pattern="z+")


@pytest.mark.clause("T15.2", "case:C8")
@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("(", "literal"),
        ("a(?=b)", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "back-references"),
        ("a{2000}", "literal"),
        ("((a{100}){100}){100}", "repetition"),
        ("[z-a]", "literal"),
    ],
)
async def test_an_invalid_pattern_is_refused_before_any_authority(
    grep: ToolCalls, pattern: str, hint: str
) -> None:
    with pytest.raises(ToolError, match="invalid pattern") as caught:
        await grep.prepare(pattern=pattern)
    assert caught.value.tool_kind is ToolErrorKind.EXECUTION
    assert hint in caught.value.message


@pytest.mark.clause("T15.2")
async def test_other_bad_arguments_are_refused(grep: ToolCalls) -> None:
    assert "invalid output_mode" in (await grep.fail(pattern="a", output_mode="lines")).message
    assert "invalid glob '[a'" in (await grep.fail(pattern="a", glob="[a")).message
    for bad in ({"max_per_file": -1}, {"literal": 1}, {"regex": "a"}, {"pattern": None}):
        error = await grep.fail(**{"pattern": "a", **bad})
        assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS


@pytest.mark.clause("case:C8")
async def test_patterns_that_look_like_options_are_text(grep: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x = -42\n--pre=./x.sh\n")
    assert "1 | x = -42" in await text_of(grep, pattern="-42")
    assert "2 | --pre=./x.sh" in await text_of(grep, pattern="--pre=./x.sh")
    assert "no matches for '(' under a" in await text_of(grep, pattern="(", literal=True, path="a")
    error = await grep.fail(pattern="x", path="-rf")
    assert error.tool_kind is ToolErrorKind.EXECUTION


@pytest.mark.clause("T15.1")
async def test_literal_case_and_glob_options(grep: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("f(x.y)\nF(X.Y)\nfaxby\n")
    (tmp_path / "b.txt").write_text("f(x.y)\n")
    assert "3 matches" not in await text_of(grep, pattern="f(x.y)", literal=True)
    found = await text_of(grep, pattern="f(x.y)", literal=True, case_sensitive=False, glob="*.py")
    assert found == "a.py\n1 | f(x.y)\n2 | F(X.Y)\n\n2 matches in 1 files"
    (tmp_path / "u").write_text("CAFÉ\n")
    assert "1 | CAFÉ" in await text_of(grep, pattern="café", case_sensitive=False)


@pytest.mark.clause("T15.3", "T3.1")
@pytest.mark.parametrize(
    ("content", "pattern", "numbers"),
    [
        (b"a\r\nb\r\n", r"a$", [1]),
        (b"a\nb\n", r"a\nb", []),
        (b"a\nb\n", r"a\sb", []),
        (b"a\nb\n", r"a[^x]*b", []),
        (b"ab\nb\n", r"[^x]*b", [1, 2]),
        (b"\n\nx\n", r"^$", [1, 2]),
        (b"", r"^$", []),
        (b"\n", r"^$", [1]),
        (b"a\nb", r"b$", [2]),
        (b"a\nb\r", r"b$", [2]),
        (b"ab\nac\n", r"\Aa", [1, 2]),
        (b"ab\ncb\n", r"b\z", [1, 2]),
        (b"a\nb\n", r"(?s)a.b", []),
        (b"x\x0by\xe2\x80\xa8z\n", r"x.y.z", [1]),
        ("é漢\n".encode(), r"^.{2}$", [1]),
        (b"aXa\nX\n", r"(?-m)^X", [2]),
    ],
)
def test_lines_are_matched_by_themselves(content: bytes, pattern: str, numbers: list[int]) -> None:
    assert [match.number for match in LineMatcher(pattern).matches(content)] == numbers


@settings(max_examples=100)
@given(
    st.text("ab \n\r", max_size=40),
    st.sampled_from(
        ["a", "^a", "b$", r"a\s*b", r"[^a]+b", "^$", "a|b", r"\bb", r"(?s)a.*b", r"\s", "a*"]
    ),
)
def test_matching_agrees_with_a_line_by_line_reference(text: str, pattern: str) -> None:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    lines = [line.removesuffix("\r") for line in lines]
    expected = [
        n for n, line in enumerate(lines, 1) if re.search(pattern.replace("$", r"\Z"), line)
    ]
    found = list(LineMatcher(pattern).matches(text.encode()))
    assert [match.number for match in found] == expected
    assert [match.line.decode() for match in found] == [lines[n - 1] for n in expected]


async def test_a_tree_agrees_with_a_naive_reference(grep: ToolCalls, tmp_path: Path) -> None:
    for index in range(30):
        path = tmp_path / f"d{index % 4}" / f"f{index:02}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"line {n} {(n * index) % 7}\n" for n in range(index)))
    expected = {}
    for path in sorted(tmp_path.rglob("*.txt")):
        count = sum(bool(re.search("[35]$", line)) for line in path.read_text().splitlines())
        if count:
            expected[str(path.relative_to(tmp_path))] = count
    text = await text_of(grep, pattern="[35]$", output_mode="count")
    rows = dict(row.rsplit(":", 1) for row in text.split("\n\n")[0].split("\n"))
    assert {path: int(count) for path, count in rows.items()} == expected


@pytest.mark.clause("T15.4", "case:C1", "case:C6")
async def test_what_is_no_text_is_passed_over(grep: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"hit\0hit")
    (tmp_path / "latin").write_bytes(b"hit \xe9\n")
    (tmp_path / "late").write_bytes(b"hit " + b"x" * 10_000 + b"\0\n")
    (tmp_path / "big").write_bytes(b"hit\n" + b"y" * (5 * 1024 * 1024))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "ok")
    (tmp_path / "ok").write_text("hit\n")
    started = time.monotonic()
    text = await text_of(grep, pattern="hit", output_mode="files_with_matches")
    assert text == "late\nok\n\n2 files (1 files over 5 MiB skipped)"
    assert time.monotonic() - started < 3
    assert (await grep.fail(pattern="x", path="../p")).tool_kind is ToolErrorKind.POLICY_DENIED


@pytest.mark.clause("T15.5", "case:C4")
async def test_long_lines_are_cut_around_the_match(grep: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "a.min.js").write_text("x" * 400_000 + "stats" + "y" * 400_000)
    (tmp_path / "b").write_text("é" * 250 + "\n")
    text = await text_of(grep, pattern="stats")
    row = text.split("\n")[1]
    assert len(row) == len("1 | ……") + 200
    assert "xxstatsyy" in row
    start = await text_of(grep, pattern="^é", glob="b")
    assert start.split("\n")[1] == "1 | " + "é" * 200 + "…"
    exact = tmp_path / "c"
    exact.write_text("z" * 200)
    assert "…" not in await text_of(grep, pattern="z", glob="c")


@pytest.mark.clause("T15.2", "case:C5")
async def test_a_pattern_that_would_explode_elsewhere_is_linear(
    grep: ToolCalls, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("a" * 200_000 + "\n")
    started = time.monotonic()
    assert "no matches" in await text_of(grep, pattern="(a*)*(a|aa)+b")
    assert time.monotonic() - started < 5


@pytest.mark.clause("T30.2")
async def test_a_file_as_path_is_searched_even_when_ignored(
    grep: ToolCalls, tmp_path: Path
) -> None:
    (tmp_path / "a.log").write_text("hit\n")
    (tmp_path / ".gitignore").write_text("*.log\n")
    text = await text_of(grep, pattern="hit", path="a.log")
    assert text == "a.log\n1 | hit\n\n1 matches in 1 files"


@pytest.mark.clause("case:C9")
async def test_a_file_name_cannot_forge_a_result_line(grep: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "a\nb.txt:9").write_text("hit\n")
    (tmp_path / os.fsdecode(b"bad\xff")).write_text("hit\n")
    rows = (await text_of(grep, pattern="hit", output_mode="files_with_matches")).split("\n")
    assert rows[:2] == ['"a\\nb.txt:9"', '"bad\\xff"']


@pytest.mark.clause("T15.8", "T2.18")
async def test_output_stays_within_its_budget(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(("hit " + "é" * 300 + "\n") * 100)
    tool = GrepTool(max_output_bytes=3_000, use_global_excludes=False)
    text = (await ToolCalls(tool, tmp_path).run(pattern="hit", max_per_file=100)).content
    assert len(text.encode()) <= 3_000
    assert "more in this file" in text
    assert "output limit reached" in text


@pytest.mark.clause("T15.12")
async def test_the_event_loop_stays_free_and_cancellation_is_seen(
    grep: ToolCalls, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("\n" * 3_000_000)
    plan = await grep.prepare(pattern="^", max_per_file=1)
    running = asyncio.create_task(grep.execute(plan))
    ticks = 0
    while not running.done() and ticks < 5:
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks == 5
    grep.cancellation.cancel()
    text = (await asyncio.wait_for(running, 5)).content
    assert "cancelled" in text
