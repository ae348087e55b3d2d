"""Spreadsheets as Markdown tables, through calamine (7.9)."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

from rho_core.tools.documents.archive import DamagedDocument, OfficeArchive
from rho_core.tools.documents.text_budget import DocumentText

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

MAX_ROWS = 200
MAX_COLUMNS = 40


def read_sheets(data: bytes, target: DocumentText) -> None:
    """Every sheet that holds anything: `## ‹name›` and a table, its first row as the header."""
    from python_calamine import CalamineError, CalamineWorkbook

    if data.startswith(b"PK"):
        OfficeArchive(data).check_expansion()  # the library inflates without a limit
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        for name in workbook.sheet_names:
            _read_sheet(workbook.get_sheet_by_name(name), name, target)
    except CalamineError as error:
        raise DamagedDocument(f"cannot be read: {error}") from None


def _read_sheet(sheet: CalamineSheet, name: str, target: DocumentText) -> None:
    rows = sheet.to_python(skip_empty_area=True, nrows=MAX_ROWS)
    if not rows:
        return
    title = _cell(name)
    height, width = _size(sheet)
    if height > MAX_ROWS:
        target.warn(f"sheet {title}: only the first {MAX_ROWS} of {height} rows are shown")
    if width > MAX_COLUMNS:
        target.warn(f"sheet {title}: only the first {MAX_COLUMNS} of {width} columns are shown")
    target.add(f"\n## {title}\n\n")
    for number, row in enumerate(rows):
        cells = [_cell(value) for value in row[:MAX_COLUMNS]]
        target.add(f"| {' | '.join(cells)} |\n")
        if number == 0:
            target.add(f"|{' --- |' * len(cells)}\n")


def _size(sheet: CalamineSheet) -> tuple[int, int]:
    """Rows and columns of the area that holds anything."""
    if sheet.start is None or sheet.end is None:
        return 0, 0
    return sheet.end[0] - sheet.start[0] + 1, sheet.end[1] - sheet.start[1] + 1


def _cell(value: object) -> str:
    match value:
        case bool():
            text = "TRUE" if value else "FALSE"
        case float() if value.is_integer() and abs(value) < 1e15:
            text = str(int(value))
        case datetime() if value.time() == time.min:
            text = value.date().isoformat()
        case datetime() | date() | time():
            text = value.isoformat()
        case timedelta():
            text = str(value)
        case _:
            text = str(value)
    return "<br>".join(text.strip().replace("|", "\\|").splitlines())
