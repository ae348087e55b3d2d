"""The readers by the names that `DocumentFormat.reader` uses; imported by the worker only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rho_core.tools.documents.office import read_docx, read_odf, read_pptx
from rho_core.tools.documents.pdf import read_pdf
from rho_core.tools.documents.sheets import read_sheets
from rho_core.tools.documents.text_budget import DocumentText

READERS: Mapping[str, Callable[[bytes, DocumentText], None]] = {
    "docx": read_docx,
    "odf": read_odf,
    "pdf": read_pdf,
    "pptx": read_pptx,
    "sheets": read_sheets,
}
