"""Small real documents, written by hand so that each test says what is in its file."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PKG = "http://schemas.openxmlformats.org/package/2006"


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return stream.getvalue()


def docx(body: str, prolog: str = "", **parts: str) -> bytes:
    """A Word document; `w:` is the usual namespace."""
    xml = f'<?xml version="1.0"?>{prolog}<w:document xmlns:w="{_W}"><w:body>{body}</w:body>'
    return archive({"word/document.xml": f"{xml}</w:document>", **parts})


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def pptx(slides: Mapping[str, str], order: Sequence[str]) -> bytes:
    """A presentation: file name to text, and the order in which they are shown."""
    relations = "".join(
        f'<Relationship Id="rId{n}" Type="{_R}/slide" Target="slides/{name}"/>'
        for n, name in enumerate(slides)
    )
    place = {name: n for n, name in enumerate(slides)}
    ids = "".join(
        f'<p:sldId id="{256 + n}" r:id="rId{place[name]}"/>' for n, name in enumerate(order)
    )
    parts: dict[str, str | bytes] = {
        "ppt/_rels/presentation.xml.rels": (
            f'<Relationships xmlns="{_PKG}/relationships">{relations}</Relationships>'
        ),
        "ppt/presentation.xml": (
            f'<p:presentation xmlns:p="{_P}" xmlns:r="{_R}"><p:sldIdLst>{ids}</p:sldIdLst>'
            "</p:presentation>"
        ),
    }
    for name, text in slides.items():
        parts[f"ppt/slides/{name}"] = (
            f'<p:sld xmlns:p="{_P}" xmlns:a="{_A}"><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>'
        )
    return archive(parts)


def odt(body: str) -> bytes:
    """An OpenDocument text; `text:` and `table:` are its namespaces."""
    ns = "urn:oasis:names:tc:opendocument:xmlns"
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": (
                f'<office:document-content xmlns:office="{ns}:office:1.0" '
                f'xmlns:text="{ns}:text:1.0" xmlns:table="{ns}:table:1.0">'
                f"<office:body><office:text>{body}</office:text></office:body>"
                "</office:document-content>"
            ),
        }
    )


def xlsx(sheets: Mapping[str, Sequence[Sequence[object]]], **parts: bytes) -> bytes:
    """A workbook of inline strings and numbers."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    types = (
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        'relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
    )
    listed, relations = "", ""
    files: dict[str, str | bytes] = dict(parts)
    for n, (name, rows) in enumerate(sheets.items(), 1):
        listed += f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>'
        target = f'Target="worksheets/sheet{n}.xml"'
        relations += f'<Relationship Id="rId{n}" Type="{_R}/worksheet" {target}/>'
        files[f"xl/worksheets/sheet{n}.xml"] = (
            f'<worksheet xmlns="{_S}"><sheetData>{_rows(rows)}</sheetData></worksheet>'
        )
    files["xl/workbook.xml"] = (
        f'<workbook xmlns="{_S}" xmlns:r="{_R}"><sheets>{listed}</sheets></workbook>'
    )
    files["xl/_rels/workbook.xml.rels"] = (
        f'<Relationships xmlns="{_PKG}/relationships">{relations}</Relationships>'
    )
    files["_rels/.rels"] = (
        f'<Relationships xmlns="{_PKG}/relationships"><Relationship Id="rId1" '
        f'Type="{_R}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    )
    files["[Content_Types].xml"] = f'<Types xmlns="{_PKG}/content-types">{types}</Types>'
    return archive(files)


def _rows(rows: Sequence[Sequence[object]]) -> str:
    xml = ""
    for number, row in enumerate(rows, 1):
        cells = ""
        for column, value in enumerate(row):
            reference = f'r="{_letters(column)}{number}"'
            if isinstance(value, str):
                cells += f'<c {reference} t="inlineStr"><is><t>{value}</t></is></c>'
            else:
                cells += f"<c {reference}><v>{value}</v></c>"
        xml += f'<row r="{number}">{cells}</row>'
    return xml


def _letters(column: int) -> str:
    high, low = divmod(column, 26)
    return (chr(64 + high) if high else "") + chr(65 + low)


def pdf(pages: Sequence[str | bytes], filters: str = "/FlateDecode", extra: bytes = b"") -> bytes:
    """A PDF with one text line a page; bytes are a page's raw, already encoded content."""
    count = len(pages)
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(count))
    font = 3 + 2 * count
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
    ]
    for n, page in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * n} 0 R "
            f"/Resources << /Font << /F1 {font} 0 R >> >> >>".encode()
        )
        raw = page
        if isinstance(raw, str):
            shown = raw.encode("latin-1")
            raw = zlib.compress(b"BT /F1 12 Tf 72 720 Td (" + shown + b") Tj ET" if shown else b"")
        head = f"<< /Length {len(raw)} /Filter {filters} >>".encode()
        objects.append(head + b"\nstream\n" + raw + b"\nendstream")
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    data = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    data += extra
    table = len(data)
    rows = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode()
    data += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n".encode()
    return bytes(data + f"startxref\n{table}\n%%EOF\n".encode())


def modern_pdf(text: str) -> bytes:
    """A one-page PDF 1.5: all but the page's content in an object stream, found by a table that is
    a stream itself."""
    shown = zlib.compress(b"BT /F1 12 Tf 72 720 Td (" + text.encode("latin-1") + b") Tj ET")
    inner = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
        b"/Resources << /Font << /F1 4 0 R >> >> >>",
        4: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    places, bodies = b"", b""
    for number, body in inner.items():
        places += f"{number} {len(bodies)} ".encode()
        bodies += body + b" "
    packed = zlib.compress(places + bodies)
    data = bytearray(b"%PDF-1.5\n")
    offsets = {}
    for number, head, raw in (
        (5, b"", shown),
        (6, f"/Type /ObjStm /N {len(inner)} /First {len(places)} ".encode(), packed),
    ):
        offsets[number] = len(data)
        length = f"/Length {len(raw)} /Filter /FlateDecode >>".encode()
        data += f"{number} 0 obj\n<< ".encode() + head + length
        data += b"\nstream\n" + raw + b"\nendstream\nendobj\n"
    table = offsets[7] = len(data)
    # kind, and then offset and generation, or object stream and index in it
    entries = [(0, 0, 255), *((2, 6, index) for index in range(len(inner)))]
    entries += [(1, offsets[number], 0) for number in (5, 6, 7)]
    rows = zlib.compress(b"".join(struct.pack(">BIB", *entry) for entry in entries))
    head = f"/Type /XRef /Size {len(entries)} /W [1 4 1] /Root 1 0 R /Length {len(rows)}"
    data += f"7 0 obj\n<< {head} /Filter /FlateDecode >>\nstream\n".encode()
    return bytes(data + rows + f"\nendstream\nendobj\nstartxref\n{table}\n%%EOF\n".encode())
