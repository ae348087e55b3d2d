"""The contract pages and the tests agree, and the checker that says so can be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clauses import ROOT, check, read_page

PAGE = """# Page

- C1 · It works.
- C2 · n/a: not here.

| theirs | ours |
|---|---|
| `works` | `test_it::test_works` |
"""
TEST = """
import pytest

@pytest.mark.clause("C1", "APP2.1", "case:A6", "T3.4")
def test_works(): ...
"""


def report_of(tmp_path: Path, *, page: str = PAGE, test: str = TEST) -> list[str]:
    (tmp_path / "core.md").write_text(page)
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_it.py").write_text(test)
    return check([read_page(tmp_path / "core.md")], tests).problems


def test_every_clause_of_every_page_is_proved_and_every_citation_exists() -> None:
    pages = [read_page(path) for path in sorted((ROOT / "docs" / "contracts").glob("*.md"))]
    assert pages
    assert check(pages, ROOT / "tests").problems == []


def test_a_complete_page_has_no_problems(tmp_path: Path) -> None:
    assert report_of(tmp_path) == []


@pytest.mark.parametrize(
    ("page", "test", "problem"),
    [
        (PAGE + "- C3 · Unproved.\n", TEST, "C3 has no test"),
        (PAGE, TEST.replace('"C1"', '"C1", "C9"'), "cites C9: core.md has no such clause"),
        (PAGE, TEST.replace('"C1"', '"C1", "C2"'), "cites C2: core.md says it does not apply"),
        (PAGE, TEST.replace("case:A6", "case:6"), "cites case:6: no contract has ids of that"),
        (PAGE.replace("test_works", "test_other"), TEST, "names test_it::test_other"),
        (PAGE + "| `more` | later |\n", TEST, "neither test nor reason: | `more` | later |"),
        (PAGE + "| `more` |\n", TEST, "neither test nor reason: | `more` |"),
    ],
)
def test_a_gap_is_reported(tmp_path: Path, page: str, test: str, problem: str) -> None:
    problems = report_of(tmp_path, page=page, test=test)
    assert len(problems) == 1
    assert problem in problems[0]


def test_a_reason_stands_for_a_test(tmp_path: Path) -> None:
    page = PAGE + "| `more` | — not here; see `test_it::test_works` |\n\n| other | table |\n"
    assert report_of(tmp_path, page=page) == []


def test_marks_of_modules_and_classes_count_for_their_tests(tmp_path: Path) -> None:
    test = (
        "import pytest\npytestmark = [pytest.mark.clause('C1')]\n"
        "@pytest.mark.clause('C3')\nclass TestIt:\n    def test_works(self): ...\n"
        "def test_works(): ...\n"
    )
    assert report_of(tmp_path, page=PAGE + "- C3 · Too.\n", test=test) == []


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="defines C1 twice"):
        report_of(tmp_path, page=PAGE + "- C1 · Again.\n")
    (tmp_path / "again").mkdir()
    with pytest.raises(ValueError, match="plain string"):
        report_of(tmp_path / "again", test=TEST.replace('"C1"', "NAME"))
