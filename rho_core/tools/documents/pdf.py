"""The text layer of PDF files, through pypdf (7.7)."""

from __future__ import annotations

import io
import logging

from rho_core.tools.documents.archive import DamagedDocument
from rho_core.tools.documents.pdf_preflight import check_pdf
from rho_core.tools.documents.text_budget import DocumentText, TextFull

MAX_PAGES = 1_000


def read_pdf(data: bytes, target: DocumentText) -> None:
    """The pages' texts under `[page n]` lines; there is no OCR.

    Raises `DamagedDocument`, also for a file that may cost too much. Where that cannot be told
    beforehand the library's own limits and those of the process hold.
    """
    check_pdf(data)
    import pypdf
    from pypdf.errors import PyPdfError

    logging.disable(logging.CRITICAL)  # the library logs every oddity of a file
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DamagedDocument("is encrypted with a password")
        pages = len(reader.pages)
    except PyPdfError as error:
        raise DamagedDocument(f"cannot be read: {error}") from None
    if pages > MAX_PAGES:
        target.warn(f"only the first {MAX_PAGES} of {pages} pages were read")
    empty, failed = [], []
    for number in range(1, min(pages, MAX_PAGES) + 1):
        try:
            text = reader.pages[number - 1].extract_text().strip()
        except TextFull:
            raise
        except Exception:  # noqa: BLE001 - a damaged page fails in many ways; the others count
            failed.append(number)
            continue
        if text:
            target.add(f"[page {number}]\n{text}\n\n")
        else:
            empty.append(number)
    if failed:
        target.warn(f"pages that cannot be read: {_shown(failed)}")
    if empty:
        target.warn(f"pages without text, possibly scanned or empty: {_shown(empty)}")


def _shown(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:20]))
    return f"{shown} and {len(numbers) - 20} more" if len(numbers) > 20 else shown
