"""The arguments of `list_dir`, `read_file` and `write` (4.1, 5.1, 8.1).

Imported when a call is prepared or a specification is asked for: pydantic takes a while to load.
"""

from __future__ import annotations

from pydantic import Field

from rho_core.tools.arguments import ToolArguments


class ListDirArguments(ToolArguments):
    """What the model passes to `list_dir`."""

    path: str = Field(description="Directory, relative to the workspace; `.` is the workspace.")


class ReadFileArguments(ToolArguments):
    """What the model passes to `read_file`."""

    path: str = Field(description="File, relative to the workspace.")
    offset: int | None = Field(
        default=None, gt=0, description="First line to show, counted from 1. Not for images."
    )
    limit: int | None = Field(
        default=None, gt=0, description="How many lines to show. Not for images."
    )

    @property
    def is_ranged(self) -> bool:
        """Whether a window of lines is asked for."""
        return self.offset is not None or self.limit is not None


class WriteArguments(ToolArguments):
    """What the model passes to `write`."""

    path: str = Field(description="File to create or replace, relative to the workspace.")
    content: str = Field(
        description="The whole new content, written exactly as given, line endings included."
    )
