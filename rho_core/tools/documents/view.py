"""How `read_file` shows a document's text (7.5)."""

from __future__ import annotations

from rho_core.text import truncate_utf8
from rho_core.tooling.values import ToolMetadata, ToolOutput
from rho_core.tools.documents.extraction import ExtractedDocument
from rho_core.tools.files.numbered import content_lines, window_view

_NOTICE_RESERVE = 512


def document_output(
    document: ExtractedDocument,
    shown: str,
    metadata: ToolMetadata,
    *,
    offset: int | None,
    limit: int | None,
    max_bytes: int,
) -> ToolOutput:
    """The whole text as it is if it fits, else a window of its lines, numbered as for text files.

    Notices follow below a blank line. Raises `ToolError` for an offset past the end.
    """
    lines = content_lines(document.text)
    notices = "\n".join(document.notices)
    ending = f"\n\n{notices}" if notices else ""
    whole = f"{document.text}{ending}".lstrip("\n")
    if offset is None and limit is None and len(whole.encode("utf-8", "replace")) <= max_bytes:
        facts = {"lines": len(lines), "total_lines": len(lines)}
        return ToolOutput.text(whole, metadata.with_details(**facts))
    room = max(_NOTICE_RESERVE, max_bytes - len(ending.encode()))
    view = window_view(shown, lines, offset=offset, limit=limit, max_bytes=room)
    facts = {
        "lines": view.end_line - view.start_line + 1 if view.total_lines else 0,
        "start_line": view.start_line,
        "end_line": view.end_line,
        "total_lines": view.total_lines,
    }
    text = truncate_utf8(f"{view.text}{ending}", max_bytes)
    return ToolOutput.text(text, metadata.with_details(**facts))
