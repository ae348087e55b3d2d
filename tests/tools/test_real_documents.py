"""Documents as real programs write them; `fixtures/documents/README.md` says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.read_file import ReadFileTool
from tests.tools.tool_calls import ToolCalls

FIXTURES = Path(__file__).with_name("fixtures") / "documents"
SHEETS = (
    "## Prices & more\n\n"
    "| name | price | when | ok |\n"
    "| --- | --- | --- | --- |\n"
    "| tea \\| green | 2.5 | 2024-02-29 | TRUE |\n"
    "| line<br>break | 3 |  | FALSE |\n"
    "| Zürich 漢字 | -0.001 | 2024-02-29T13:45:00 |  |\n\n"
    "## Second\n\n| x |\n| --- |\n| 1 |"
)
SLIDES = (
    "## Slide 1\nFirst slide\none\ntwo | three\n\n"
    "## Slide 2\nZweite Folie 漢字\nfour  with   spaces"
)  # fmt: skip


async def shown(name: str) -> str:
    return (await ToolCalls(ReadFileTool(FileLedger()), FIXTURES).run(path=name)).content


@pytest.mark.clause("T7.7")
@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*.pdf")))
async def test_a_pdf_of_any_program_is_read(name: str) -> None:
    text = await shown(name)
    assert text == "[page 1]\nFirst page (one) endstream\n\n[page 2]\nSecond page [two] << /X"


@pytest.mark.clause("T7.9")
@pytest.mark.parametrize("name", ["xlwt.xls", "pyxlsbwriter.xlsb", "odfpy.ods"])
async def test_a_spreadsheet_of_any_kind_is_the_same_tables(name: str) -> None:
    assert await shown(name) == SHEETS


@pytest.mark.clause("T7.8")
async def test_an_opendocument_presentation_comes_by_slide() -> None:
    assert await shown("odfpy.odp") == SLIDES
