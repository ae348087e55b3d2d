"""`python -m tests.clauses`: which tests prove which clause of docs/contracts, and what is missing.

Reads the pages and the tests' sources; nothing is imported or run. Exits with 1 when a clause
has no test, when a test cites a clause that does not exist, or when a row of the inventory at the
end of a page names a test that does not exist, or neither a test nor a reason.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parents[1]

#: `- C47 · text`, or `- C14 · n/a: why`
_CLAUSE = re.compile(r"^- (?P<id>[A-Z]+\d+(?:\.\d+)*) · (?P<na>n/a: *)?(?P<text>.+)$")
#: `| what the reference calls it | file::test, file::test |`
_NAMED_TEST = re.compile(r"`(?P<file>[\w/]+)::(?P<test>test_\w+)`")
_INVENTORY_ROW = re.compile(r"^\| (?P<theirs>.+?) \| (?P<ours>.+) \|$")

#: page -> the ids that it defines; ids of a page that does not exist yet are checked for form only
_PAGES = {
    "core.md": re.compile(r"(?:[A-JLX]|DI)\d+"),
    "tools.md": re.compile(r"T\d+(?:\.\d+)*"),
    "app.md": re.compile(r"APP\d+(?:\.\d+)*"),
    "": re.compile(r"case:[A-Z]\d+"),
}


@dataclass(frozen=True)
class Page:
    """The clauses of one page: id -> whether it applies; and the tests that it names.

    `bare_rows` are the rows of its inventory that name no test and have no dash either.
    """

    name: str
    clauses: dict[str, bool]
    named_tests: tuple[tuple[str, str], ...]
    bare_rows: tuple[str, ...] = ()


@dataclass
class Report:
    """What cites what, and everything that is wrong."""

    proofs: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def read_page(path: Path) -> Page:
    """Parse a contract page. A clause that is defined twice raises ValueError."""
    clauses: dict[str, bool] = {}
    text = path.read_text("utf-8")
    for line in text.splitlines():
        match = _CLAUSE.match(line)
        if match is None:
            continue
        if match["id"] in clauses:
            raise ValueError(f"{path.name} defines {match['id']} twice")
        clauses[match["id"]] = match["na"] is None
    named = tuple((m["file"], m["test"]) for m in _NAMED_TEST.finditer(text))
    return Page(path.name, clauses, named, tuple(_bare_rows(text)))


def _bare_rows(page: str) -> Iterator[str]:
    for table in page.split("| theirs | ours |\n|---|---|\n")[1:]:
        for line in itertools.takewhile(lambda line: line.startswith("|"), table.splitlines()):
            row = _INVENTORY_ROW.match(line)
            if row is None or not (row["ours"].startswith("— ") or _NAMED_TEST.search(row["ours"])):
                yield line


def cited(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Each test function of a module with the clauses that it cites."""
    inherited = [
        clause
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets)
        for clause in _marks([node.value])
    ]
    yield from _cited_in(tree.body, inherited)


def _cited_in(body: Sequence[ast.stmt], inherited: list[str]) -> Iterator[tuple[str, list[str]]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _cited_in(node.body, [*inherited, *_marks(node.decorator_list)])
        elif _is_test(node):
            yield node.name, [*inherited, *_marks(node.decorator_list)]


def _is_test(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")


def _marks(nodes: Sequence[ast.expr]) -> Iterator[str]:
    """The arguments of every `pytest.mark.clause(...)` among decorators and what they hold."""
    for part in (part for node in nodes for part in ast.walk(node)):
        if not (isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)):
            continue
        if part.func.attr != "clause":
            continue
        for argument in part.args:
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                raise ValueError(f"line {argument.lineno}: a clause is cited by a plain string")
            yield argument.value


def check(pages: Sequence[Page], tests: Path) -> Report:
    """Compare the pages with the tests below a folder."""
    report = Report({clause: [] for page in pages for clause in page.clauses})
    existing: set[tuple[str, str]] = set()
    for path in sorted(tests.rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"), str(path))
        where = path.relative_to(tests).with_suffix("").as_posix()
        for test, clauses in cited(tree):
            existing.add((where, test))
            for clause in clauses:
                if problem := _misquoted(clause, pages):
                    report.problems.append(f"{where}::{test} cites {clause}: {problem}")
                report.proofs.setdefault(clause, []).append(f"{where}::{test}")
    for page in pages:
        report.problems += _unproved(page, report.proofs)
        report.problems += (f"{page.name}: neither test nor reason: {r}" for r in page.bare_rows)
        for file, test in page.named_tests:
            if (file, test) not in existing:
                report.problems.append(f"{page.name} names {file}::{test}, which does not exist")
    return report


def _misquoted(clause: str, pages: Sequence[Page]) -> str | None:
    home = next((name for name, form in _PAGES.items() if form.fullmatch(clause)), None)
    if home is None:
        return "no contract has ids of that form"
    page = next((page for page in pages if page.name == home), None)
    if page is not None and clause not in page.clauses:
        return f"{home} has no such clause"
    if page is not None and not page.clauses[clause]:
        return f"{home} says it does not apply"
    return None


def _unproved(page: Page, proofs: dict[str, list[str]]) -> Iterator[str]:
    for clause, applies in page.clauses.items():
        if applies and not proofs[clause]:
            yield f"{page.name}: {clause} has no test"


def main() -> int:
    """Print clause and tests, then the problems."""
    folder = ROOT / "docs" / "contracts"
    pages = [read_page(path) for path in sorted(folder.glob("*.md"))]
    report = check(pages, ROOT / "tests")
    lines: list[str] = []
    for page in pages:
        for clause, applies in page.clauses.items():
            tests = ", ".join(report.proofs[clause]) if applies else "does not apply"
            lines.append(f"{clause:6} {tests or '-'}")
    applying = sum(sum(page.clauses.values()) for page in pages)
    lines.append(f"{applying} clauses, {len(report.problems)} problems")
    sys.stdout.write("\n".join((*lines, *report.problems, "")))
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
