"""`read_file` on PDF files, office documents and spreadsheets (section 7)."""

from __future__ import annotations

import asyncio
import sys
import threading
import zlib
from pathlib import Path

import psutil
import pytest

from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tools.documents.extraction import extract_document
from rho_core.tools.documents.formats import PDF, document_format
from rho_core.tools.documents.text_budget import DocumentText, TextFull
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.read_file import ReadFileTool
from tests.tools.document_samples import docx, odt, paragraph, pdf, pptx, xlsx
from tests.tools.shell_harness import wait_until
from tests.tools.tool_calls import ToolCalls


@pytest.fixture
def read(tmp_path: Path) -> ToolCalls:
    return ToolCalls(ReadFileTool(FileLedger()), tmp_path)


async def text_of(read: ToolCalls, name: str, data: bytes, **arguments: object) -> str:
    assert read.workspace is not None
    (read.workspace.root / name).write_bytes(data)
    return (await read.run(path=name, **arguments)).content


async def refusal(read: ToolCalls, name: str, data: bytes) -> str:
    assert read.workspace is not None
    (read.workspace.root / name).write_bytes(data)
    error = await read.fail(path=name)
    assert error.tool_kind is ToolErrorKind.EXECUTION
    assert error.message.startswith(f"could not read {name}: it ")
    return error.message


@pytest.mark.clause("T7.2", "T5.4")
def test_formats_are_known_by_their_bytes_and_names() -> None:
    assert document_format(b"%PDF-1.7", "no-suffix") is PDF
    assert document_format(b"PK\x03\x04", "A.DOCX") is not None
    assert document_format(b"PK\x03\x04", "a.zip") is None
    assert document_format(b"# words", "notes.docx") is None
    assert document_format(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old.xls") is not None
    assert document_format(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old.doc") is None


@pytest.mark.clause("T7.2", "T5.4")
async def test_text_that_is_named_like_a_document_is_text(read: ToolCalls) -> None:
    assert await text_of(read, "notes.docx", b"just words\n") == "notes.docx\n1:just words"


@pytest.mark.clause("T7.7")
async def test_the_text_of_a_pdf_comes_by_page(read: ToolCalls) -> None:
    text = await text_of(read, "a.pdf", pdf(["first page", "", "third"]))
    assert text == (
        "[page 1]\nfirst page\n\n[page 3]\nthird\n\n"
        "[document warning: pages without text, possibly scanned or empty: 2]"
    )


@pytest.mark.clause("T7.8")
async def test_paragraphs_tables_and_entities_of_a_word_document(read: ToolCalls) -> None:
    inner = (
        "<w:tbl><w:tr><w:tc>" + paragraph("in1") + "</w:tc><w:tc>" + paragraph("in2")
        + "</w:tc></w:tr></w:tbl>"
    )  # fmt: skip
    body = (
        paragraph("Tom &amp; Jerry &#233;")
        + "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>"
        + "<w:p><w:del><w:r><w:t>gone</w:t></w:r></w:del></w:p>"
        + "<w:tbl><w:tr><w:tc>"
        + paragraph("one")
        + paragraph("two | 2")
        + "</w:tc><w:tc>"
        + paragraph("before")
        + inner
        + paragraph("after")
        + "</w:tc></w:tr></w:tbl>"
        + paragraph("end")
    )
    text = await text_of(read, "a.docx", docx(body))
    assert text == (
        "Tom & Jerry é\na\tb\nc\n\n|one<br>two \\| 2 |before<br>in1<br>in2<br>after |\nend"
    )


@pytest.mark.clause("T7.8")
async def test_slides_come_in_the_order_of_the_presentation(read: ToolCalls) -> None:
    data = pptx({"slide1.xml": "was first", "slide2.xml": "is first"}, ["slide2.xml", "slide1.xml"])
    text = await text_of(read, "a.pptx", data)
    assert text == "## Slide 1\nis first\n\n## Slide 2\nwas first"


@pytest.mark.clause("T7.8")
async def test_an_opendocument_text(read: ToolCalls) -> None:
    body = (
        "<text:h>Title</text:h><text:p>a<text:s text:c='3'/>b<text:tab/>"
        "<text:span>c</text:span></text:p><table:table><table:table-row>"
        "<table:table-cell><text:p>x</text:p></table:table-cell>"
        "<table:table-cell><text:p>y</text:p></table:table-cell>"
        "</table:table-row></table:table>"
    )
    assert await text_of(read, "a.odt", odt(body)) == "Title\na   b\tc\n|x |y |"


@pytest.mark.clause("T7.9")
async def test_sheets_are_tables_within_rows_and_columns(read: ToolCalls) -> None:
    rows: list[list[object]] = [["name", "a|b"], ["x", 3], ["y", 2.5]]
    wide: list[list[object]] = [list(range(45)) for _ in range(250)]
    text = await text_of(read, "a.xlsx", xlsx({"One": rows, "Empty": [], "Big": wide}))
    assert text.startswith(
        "## One\n\n| name | a\\|b |\n| --- | --- |\n| x | 3 |\n| y | 2.5 |\n\n## Big\n\n| 0 | 1 |"
    )
    assert "Empty" not in text
    assert text.count("| 38 | 39 |\n") == 200
    assert "| 40 |" not in text
    assert "[document warning: sheet Big: only the first 200 of 250 rows are shown]" in text
    assert "[document warning: sheet Big: only the first 40 of 45 columns are shown]" in text


@pytest.mark.clause("T7.1", "T7.5")
async def test_a_long_document_is_cut_with_one_notice_and_can_be_read_in_windows(
    read: ToolCalls,
) -> None:
    data = docx("".join(paragraph(f"row {n} " + "x" * 90) for n in range(1, 4_001)))
    text = await text_of(read, "a.docx", data)
    assert len(text.encode()) <= 64_000
    assert text.startswith("a.docx\n1:row 1 ")
    assert "the output limit is reached, continue with offset" in text
    notice = "[the document goes on: only its first 200000 characters were read]"
    assert text.count(notice) == 1
    window = (await read.run(path="a.docx", offset=1000, limit=2)).content
    assert window.startswith("a.docx\n1000:row 1000 ")
    assert "\n1001:row 1001 " in window
    assert "\n1002:" not in window
    assert "past the end" in (await read.fail(path="a.docx", offset=9_000)).message


@pytest.mark.clause("T7.1")
def test_text_and_warnings_are_bounded() -> None:
    target = DocumentText(limit=5)
    with pytest.raises(TextFull):
        target.add("漢字漢字漢字")
    assert target.text() == "漢字漢字漢"
    assert target.is_truncated
    for number in range(30):
        target.warn(f"{number} " + "w" * 600)
    assert len(target.warnings) == 20
    assert all(len(warning) <= 500 for warning in target.warnings)
    assert target.warnings[-1] == "further warnings are left out"


@pytest.mark.clause("T7.1")
async def test_a_document_over_the_size_limit_is_not_opened(
    read: ToolCalls, tmp_path: Path
) -> None:
    with (tmp_path / "big.pdf").open("wb") as file:
        file.write(b"%PDF-1.4\n")
        file.truncate(26_214_401)
    assert "too large" in (await read.fail(path="big.pdf")).message


@pytest.mark.clause("T7.8", "T7.9")
async def test_archives_that_expand_without_measure_are_refused(read: ToolCalls) -> None:
    bomb = docx("<w:x>" + " " * 30_000_000 + "</w:x>")
    assert len(bomb) < 100_000
    assert "expands to more than 20971520 bytes" in await refusal(read, "a.docx", bomb)
    filler = xlsx({"One": [["x"]]}, **{"xl/media/x.bin": b"\0" * (101 * 1024 * 1024)})
    assert len(filler) < 200_000
    assert "expands to more than" in await refusal(read, "a.xlsx", filler)


@pytest.mark.clause("T7.8")
async def test_entities_are_refused(read: ToolCalls) -> None:
    prolog = '<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c SYSTEM "file:///etc/passwd">]>'
    message = await refusal(read, "a.docx", docx(paragraph("&a;&c;"), prolog))
    assert "XML entities" in message
    assert "root:" not in message


@pytest.mark.clause("T7.7")
async def test_a_pdf_that_inflates_without_measure_is_refused_in_words(read: ToolCalls) -> None:
    half = zlib.compress(b"BT " + b" " * (33 * 1024 * 1024), 1)
    assert "the other page" in await text_of(read, "half.pdf", pdf([half, "the other page"]))
    message = await refusal(read, "bomb.pdf", pdf([half, half, "the other page"]))
    assert message == "could not read bomb.pdf: it expands to more than 67108864 bytes"


@pytest.mark.clause("T7.7")
async def test_a_pdf_that_nests_without_measure_is_refused_in_words(read: ToolCalls) -> None:
    depth = 100_000
    nested = b"<< /Type /Catalog /Pages " + b"[" * depth + b"]" * depth + b" >>"
    data = b"%PDF-1.4\n1 0 obj\n" + nested + b"\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"
    assert "nests more than 100 levels" in await refusal(read, "deep.pdf", data)
    fine = pdf(["[[<< not syntax"], extra=b"% " + b"[" * 5_000 + b"\n")
    assert "not syntax" in await text_of(read, "fine.pdf", fine)


@pytest.mark.clause("T7.2", "T7.6")
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", b"%PDF-1.4\nnothing that makes sense"),
        ("a.docx", b"PK\x03\x04 no archive"),
        ("a.docx", docx("")[:-30]),
        ("b.docx", xlsx({"One": []})),
        ("a.pptx", docx("<w:p/>")),
        ("a.xlsx", docx("<w:p/>")),
        ("a.ods", b"PK\x03\x04" + b"\0" * 50),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600),
    ],
    # archives hold the time of their making: as ids the workers would not agree on them
    ids=["pdf", "no-zip", "cut", "no-document", "pptx", "xlsx", "ods", "xls"],
)
async def test_damaged_documents_are_refused_in_words(
    read: ToolCalls, name: str, data: bytes
) -> None:
    message = await refusal(read, name, data)
    assert "Traceback" not in message
    assert len(message) < 300


@pytest.mark.clause("T7.6")
async def test_a_document_without_text_says_so(read: ToolCalls) -> None:
    assert await text_of(read, "a.docx", docx("")) == (
        "[document warning: the document holds no text]"
    )


@pytest.mark.clause("T7.1")
async def test_without_the_package_the_error_names_the_extra(
    read: ToolCalls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    (tmp_path / "a.pdf").write_bytes(pdf(["x"]))
    message = (await read.fail(path="a.pdf")).message
    assert "pypdf" in message
    assert "rho-agent[documents]" in message
    # Word files need no package
    assert await text_of(read, "a.docx", docx(paragraph("still read"))) == "still read"


def readers() -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process().children()
        if any("worker_main" in part for part in child.cmdline())
    ]


@pytest.mark.clause("T7.1")
def test_a_document_that_takes_too_long_is_given_up() -> None:
    slow = pdf(["x"] * 1_000)
    with pytest.raises(ToolError, match=r"took longer than 0\.05 seconds"):
        extract_document(slow, PDF, "slow.pdf", seconds=0.05)
    assert readers() == []


@pytest.mark.clause("T7.1", "T2.15")
async def test_cancelling_ends_the_reader(read: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "slow.pdf").write_bytes(pdf(["x"] * 1_000))
    call = asyncio.create_task(read.fail(path="slow.pdf"))
    assert await asyncio.to_thread(wait_until, lambda: bool(readers()))
    read.cancellation.cancel()
    error = await asyncio.wait_for(call, 5)
    assert error.tool_kind is ToolErrorKind.CANCELLED
    assert readers() == []


@pytest.mark.clause("T7.1")
def test_a_dropped_event_that_is_set_ends_it_at_once() -> None:
    dropped = threading.Event()
    dropped.set()
    with pytest.raises(ToolError, match="cancelled"):
        extract_document(pdf(["x"] * 1_000), PDF, "slow.pdf", dropped=dropped)
