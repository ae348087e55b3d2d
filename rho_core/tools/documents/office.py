"""Text of Word, PowerPoint and OpenDocument files, streamed out of their XML (7.8).

These formats need no library: a paragraph is a paragraph in all of them, and streaming lets the
extraction end as soon as there is enough text.
"""

from __future__ import annotations

import posixpath

from rho_core.tools.documents.archive import DamagedDocument, OfficeArchive
from rho_core.tools.documents.text_budget import DocumentText

MAX_XML_BYTES = 20 * 1024 * 1024
MANY_ENTRIES = 1_000
MAX_SLIDES = 500
_MAX_SPACES = 1_000
#: `id` alone is a number; the one with a namespace names the relationship.
_RELATION_ID = "r:id"
#: Subtrees whose text is not the document's: the second copy of a drawing, comments, old versions.
_SKIPPED = frozenset({"Fallback", "annotation", "tracked-changes", "del", "moveFrom"})
#: OpenDocument's names for what the others call differently.
_NAMES = {
    "h": "p",
    "line-break": "br",
    "cr": "br",
    "table-row": "tr",
    "table-cell": "tc",
}


class ParagraphReader:
    """Turns XML events into paragraphs and table rows.

    Args:
        bare_text: Text counts anywhere in a paragraph (OpenDocument), not only in `t` elements.
    """

    def __init__(self, target: DocumentText, *, bare_text: bool = False) -> None:
        self._target = target
        self._bare_text = bare_text
        self._open: list[str] = []
        self._skipping = 0
        self._paragraph: list[str] = []
        self._cells: list[list[str]] = []  # of the tables that are open, innermost last
        self._row: list[str] = []
        self._slides = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        name = _NAMES.get(tag, tag)
        self._open.append(name)
        self._skipping += name in _SKIPPED
        if self._skipping:
            return
        match name:
            case "tab" if self._is_in("p"):
                self._paragraph.append("\t")
            case "br":
                self._paragraph.append("<br>" if self._cells else "\n")
            case "s" if self._bare_text:
                count = attributes.get("c", "1")
                spaces = int(count) if count.isascii() and count.isdigit() else 1
                self._paragraph.append(" " * min(spaces, _MAX_SPACES))
            case "tc":
                self._cells.append([])
            case "page" if self._bare_text:
                self._slides += 1
                self._target.add(f"\n## Slide {self._slides}\n")

    def text(self, data: str) -> None:
        """Characters inside the innermost open element."""
        if self._skipping or not self._open:
            return
        if self._open[-1] == "t" or (self._bare_text and self._is_in("p")):
            self._paragraph.append(data)

    def end(self, tag: str) -> None:
        """The innermost element ends."""
        name = self._open.pop()
        if self._skipping:
            self._skipping -= name in _SKIPPED
            return
        match name:
            case "p":
                self._end_paragraph()
            case "tc" if self._cells:
                self._end_cell()
            case "tr" if not self._cells:
                cells = "".join(f"{cell} |" for cell in self._row)
                self._row = []
                self._target.add(f"|{cells}\n")

    def _is_in(self, name: str) -> bool:
        return name in self._open[-8:]

    def _end_paragraph(self) -> None:
        text = "".join(self._paragraph)
        self._paragraph = []
        if self._cells:
            self._cells[-1].append(text.replace("|", "\\|"))
        else:
            self._target.add(f"{text}\n")

    def _end_cell(self) -> None:
        cell = "<br>".join(part for part in self._cells.pop() if part)
        if self._cells:  # of a nested table: part of the cell around it
            self._cells[-1].append(cell)
        else:
            self._row.append(cell)


def read_docx(data: bytes, target: DocumentText) -> None:
    """The main text of a Word document."""
    archive = OfficeArchive(data)
    if len(archive.names()) > MANY_ENTRIES:
        target.warn(f"the document has more than {MANY_ENTRIES} parts; only its text was read")
    _read(archive, "word/document.xml", ParagraphReader(target))


def read_pptx(data: bytes, target: DocumentText) -> None:
    """The slides' texts, in the order in which they are shown."""
    archive = OfficeArchive(data)
    slides = _slides_of(archive)
    if len(slides) > MAX_SLIDES:
        target.warn(f"only the first {MAX_SLIDES} of {len(slides)} slides were read")
    for number, name in enumerate(slides[:MAX_SLIDES], 1):
        target.add(f"\n## Slide {number}\n")
        _read(archive, name, ParagraphReader(target))


def read_odf(data: bytes, target: DocumentText) -> None:
    """The text of an OpenDocument text or presentation."""
    _read(OfficeArchive(data), "content.xml", ParagraphReader(target, bare_text=True))


def _read(archive: OfficeArchive, name: str, reader: ParagraphReader) -> None:
    archive.parse(name, MAX_XML_BYTES, start=reader.start, end=reader.end, text=reader.text)


def _slides_of(archive: OfficeArchive) -> list[str]:
    targets: dict[str, str] = {}
    order: list[str] = []

    def relation(tag: str, attributes: dict[str, str]) -> None:
        if tag == "Relationship" and attributes.get("Type", "").endswith("/slide"):
            path = posixpath.normpath(posixpath.join("ppt", attributes.get("Target", "")))
            targets[attributes.get("Id", "")] = path.lstrip("/")

    def slide(tag: str, attributes: dict[str, str]) -> None:
        if tag == "sldId":
            order.append(attributes.get(_RELATION_ID, ""))

    archive.parse("ppt/_rels/presentation.xml.rels", MAX_XML_BYTES, start=relation)
    archive.parse("ppt/presentation.xml", MAX_XML_BYTES, start=slide)
    slides = [targets[id] for id in order if targets.get(id, "") in archive]
    if not slides and order:
        raise DamagedDocument("is damaged: its slides cannot be found")
    return slides
