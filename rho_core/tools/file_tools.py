"""The file tools of one session as a set, in registration order (1.7)."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from rho_core.tooling.contract import Tool
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.files.mutation import MutationSettings
from rho_core.tools.files.view_header import (
    HeaderStyle,
    LiveHeader,
    plain_header,
    tagged_header,
)
from rho_core.tools.list_dir import ListDirTool
from rho_core.tools.read_file import ReadFileTool
from rho_core.tools.write import WriteTool


class EditFormat(StrEnum):
    """How a model writes changes of files; a session has one of them at a time (1.3)."""

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


class FileTools:
    """The file tools of one session: `list_dir`, `read_file`, `write` and the one edit tool.

    Args:
        ledger: What the session has read and written; all of them share it.
        recovery_dir: Where copies of originals lie while a file must be rewritten in place or
            several files change together; it is created when it is first needed. Without it they
            lie beside the file.
        edit_format: Which edit tool it is, and with it how views introduce files. Raises
            ValueError for a format that does not exist.

    Attributes:
        header: How views introduce files. Give it to the `GrepTool` of the same session; it
            follows `switch_format`.
    """

    def __init__(
        self,
        ledger: FileLedger,
        *,
        max_output_bytes: int = 64_000,
        recovery_dir: Path | None = None,
        edit_format: EditFormat | str = EditFormat.STR_REPLACE,
    ) -> None:
        self._format = EditFormat.parse(edit_format)
        self.header = LiveHeader(self._format.header)
        self._settings = MutationSettings(ledger, max_output_bytes, recovery_dir, self.header)
        self._others: list[Tool] = [
            ListDirTool(max_output_bytes=max_output_bytes),
            ReadFileTool(ledger, max_output_bytes=max_output_bytes, header=self.header),
            WriteTool(self._settings),
        ]
        self._edit_tool = _edit_tool(self._format, self._settings)

    @property
    def tools(self) -> list[Tool]:
        """The tools in registration order (1.7)."""
        return [*self._others, self._edit_tool]

    @property
    def edit_tool(self) -> Tool:
        """The tool that takes `edit_format`."""
        return self._edit_tool

    @property
    def edit_format(self) -> EditFormat:
        """The format that edits have now."""
        return self._format

    def switch_format(
        self, edit_format: EditFormat | str, replace_tool: Callable[[str, Tool], Tool | None]
    ) -> EditFormat:
        """Give the session another edit tool, and its views that style; the format before (1.5).

        `replace_tool` is the session's; views change once it has accepted the new tool, so that a
        session which is busy, or has no edit tool, stays as it is. Nothing is done when the format
        is the same. Raises ValueError for a format that does not exist, and what `replace_tool`
        raises.
        """
        chosen, before = EditFormat.parse(edit_format), self._format
        if chosen is before:
            return before
        tool = _edit_tool(chosen, self._settings)
        if replace_tool(before.tool_name, tool) is not None:
            self._format, self._edit_tool = chosen, tool
            self.header.style = chosen.header
        return before


def file_tools(
    ledger: FileLedger,
    *,
    max_output_bytes: int = 64_000,
    recovery_dir: Path | None = None,
    edit_format: EditFormat | str = EditFormat.STR_REPLACE,
) -> list[Tool]:
    """The tools of `FileTools` for a session that keeps its edit format; same arguments.

    Give a `GrepTool` of the same session the `header` of the format.
    """
    return FileTools(
        ledger,
        max_output_bytes=max_output_bytes,
        recovery_dir=recovery_dir,
        edit_format=edit_format,
    ).tools


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
