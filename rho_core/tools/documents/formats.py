"""Which files are documents, and what it takes to read them (7.2)."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

SNIFF_BYTES = 8
EXTRA = "rho-agent[documents]"
_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A format: its name for people, its reader in the worker, the package that reader needs."""

    name: str
    reader: str
    package: str | None = None

    @property
    def missing_package(self) -> str | None:
        """The package that is needed and not installed."""
        if self.package is None or importlib.util.find_spec(self.package) is not None:
            return None
        return self.package


PDF = DocumentFormat("PDF", "pdf", "pypdf")
_SHEETS = "python_calamine"
_ZIPPED = {
    "docx": DocumentFormat("Word", "docx"),
    "pptx": DocumentFormat("PowerPoint", "pptx"),
    "odt": DocumentFormat("OpenDocument text", "odf"),
    "odp": DocumentFormat("OpenDocument presentation", "odf"),
    "xlsx": DocumentFormat("Excel", "sheets", _SHEETS),
    "xlsm": DocumentFormat("Excel", "sheets", _SHEETS),
    "xlsb": DocumentFormat("Excel", "sheets", _SHEETS),
    "ods": DocumentFormat("OpenDocument spreadsheet", "sheets", _SHEETS),
}
_OLD_EXCEL = DocumentFormat("Excel 97-2003", "sheets", _SHEETS)


def document_format(head: bytes, name: str) -> DocumentFormat | None:
    """The format of a file by its first bytes and its name; None for what is no document.

    The bytes must agree: text that is named like a document stays text.
    """
    if head.startswith(b"%PDF-"):
        return PDF
    suffix = name.rpartition(".")[2].lower()
    if head.startswith(_ZIP):
        return _ZIPPED.get(suffix)
    if head.startswith(_OLE) and suffix == "xls":
        return _OLD_EXCEL
    return None
