"""The file tools of one session as a set, in registration order (1.7)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from rho_core.tooling.contract import Tool
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.files.mutation import MutationSettings
from rho_core.tools.files.view_header import HeaderStyle, plain_header, tagged_header
from rho_core.tools.list_dir import ListDirTool
from rho_core.tools.read_file import ReadFileTool
from rho_core.tools.write import WriteTool


class EditFormat(StrEnum):
    """How a model writes changes of files; a session has one of them (1.3)."""

    HASHLINE = "hashline"
    APPLY_PATCH = "apply_patch"
    STR_REPLACE = "str_replace"

    @classmethod
    def parse(cls, text: str) -> EditFormat:
        """The format of that name, whatever its case. Raises ValueError that names all (1.4)."""
        try:
            return cls(text.strip().lower())
        except ValueError:
            accepted = ", ".join(item.value for item in cls)
            raise ValueError(f"unknown edit format; use one of: {accepted}") from None

    @property
    def tool_name(self) -> str:
        """The name of the tool that takes this format."""
        return "edit" if self is EditFormat.HASHLINE else self.value

    @property
    def header(self) -> HeaderStyle:
        """How views introduce a file, so that edits of this format can be based on them (3.3)."""
        return tagged_header if self is EditFormat.HASHLINE else plain_header


def file_tools(
    ledger: FileLedger,
    *,
    max_output_bytes: int = 64_000,
    recovery_dir: Path | None = None,
    edit_format: EditFormat | str = EditFormat.STR_REPLACE,
) -> list[Tool]:
    """`list_dir`, `read_file`, `write` and the one edit tool, sharing one ledger.

    `recovery_dir` is where copies of originals lie while a file must be rewritten in place or
    several files change together; it is created when it is first needed. Without it they lie
    beside the file. `edit_format` also chooses how views introduce files: give a `GrepTool` of
    the same session its `header`. Raises ValueError for a format that does not exist.
    """
    chosen = EditFormat.parse(edit_format)
    settings = MutationSettings(ledger, max_output_bytes, recovery_dir, chosen.header)
    return [
        ListDirTool(max_output_bytes=max_output_bytes),
        ReadFileTool(ledger, max_output_bytes=max_output_bytes, header=chosen.header),
        WriteTool(settings),
        _edit_tool(chosen, settings),
    ]


def _edit_tool(chosen: EditFormat, settings: MutationSettings) -> Tool:
    # each brings a grammar along: only the one that is used is loaded
    match chosen:
        case EditFormat.HASHLINE:
            from rho_core.tools.edit.hashline.tool import EditTool

            return EditTool(settings)
        case EditFormat.APPLY_PATCH:
            from rho_core.tools.edit.apply_patch.tool import ApplyPatchTool

            return ApplyPatchTool(settings)
        case EditFormat.STR_REPLACE:
            from rho_core.tools.edit.str_replace import StrReplaceTool

            return StrReplaceTool(settings)
