"""`read_file` on PDF files of odd structure, with hostile filters, with too much text (7.7)."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from rho_core.tools.documents.text_budget import MAX_TEXT_CHARACTERS
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.read_file import ReadFileTool
from tests.tools.document_samples import modern_pdf, pdf
from tests.tools.tool_calls import ToolCalls


def content(text: bytes) -> bytes:
    """The drawing of one line of text."""
    return b"BT /F1 12 Tf 72 720 Td (" + text + b") Tj ET"


async def text_of(root: Path, data: bytes, *, max_output_bytes: int = 64_000) -> str:
    (root / "a.pdf").write_bytes(data)
    tool = ReadFileTool(FileLedger(), max_output_bytes=max_output_bytes)
    return (await ToolCalls(tool, root).run(path="a.pdf")).content


@pytest.mark.clause("T7.1", "T7.7")
async def test_the_text_of_a_pdf_is_cut_at_the_limit(tmp_path: Path) -> None:
    pages = [f"{number} ".encode() + b"x" * 60_000 for number in range(1, 5)]
    data = pdf([zlib.compress(content(page)) for page in pages])
    text = await text_of(tmp_path, data, max_output_bytes=1_000_000)
    body, _, notice = text.rpartition("\n\n")
    assert notice == "[the document goes on: only its first 200000 characters were read]"
    assert len(body) == MAX_TEXT_CHARACTERS
    assert body.startswith("[page 1]\n1 xxx")
    assert "[page 4]\n4 xxx" in body


@pytest.mark.clause("T7.7")
async def test_a_filter_that_is_unknown_costs_its_page(tmp_path: Path) -> None:
    data = pdf([zlib.compress(content(b"never shown"))], filters="/Nonsense")
    assert await text_of(tmp_path, data) == "[document warning: pages that cannot be read: 1]"


@pytest.mark.clause("T7.7")
async def test_the_length_of_a_stream_counts_and_not_what_looks_like_its_end(
    tmp_path: Path,
) -> None:
    body = b"% payload\nendstream\nendobj\n" + content(b"after the endstream in it")
    text = await text_of(tmp_path, pdf([body, content(b"next")], filters="[]"))
    assert text == "[page 1]\nafter the endstream in it\n\n[page 2]\nnext"


@pytest.mark.clause("T7.7")
async def test_objects_in_streams_are_found_through_a_table_that_is_one(tmp_path: Path) -> None:
    data = modern_pdf("a newer structure")
    assert b"/Catalog" not in data
    assert b"trailer" not in data
    assert await text_of(tmp_path, data) == "[page 1]\na newer structure"
