"""The file tools of one session as a set, in registration order (1.7)."""

from __future__ import annotations

from pathlib import Path

from rho_core.tooling.contract import Tool
from rho_core.tools.edit.str_replace import StrReplaceTool
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.files.mutation import MutationSettings
from rho_core.tools.list_dir import ListDirTool
from rho_core.tools.read_file import ReadFileTool
from rho_core.tools.write import WriteTool


def file_tools(
    ledger: FileLedger, *, max_output_bytes: int = 64_000, recovery_dir: Path | None = None
) -> list[Tool]:
    """`list_dir`, `read_file`, `write` and `str_replace`, sharing one ledger.

    `recovery_dir` is where copies of originals lie while a file must be rewritten in place; it is
    created when it is first needed. Without it they lie beside the file.
    """
    settings = MutationSettings(ledger, max_output_bytes, recovery_dir)
    return [
        ListDirTool(max_output_bytes=max_output_bytes),
        ReadFileTool(ledger, max_output_bytes=max_output_bytes),
        WriteTool(settings),
        StrReplaceTool(settings),
    ]
