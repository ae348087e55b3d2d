"""The arguments of the edit tools: `edit`, `str_replace` and `apply_patch` (10.1, 11.1, 12.1).

Imported when a call is prepared or a specification is asked for: pydantic takes a while to load.
"""

from __future__ import annotations

from pydantic import Field

from rho_core.tools.arguments import ToolArguments


class EditArguments(ToolArguments):
    """What the model passes to `edit`."""

    input: str = Field(
        description="Sections, each a header line [path#TAG] followed by PUT and CUT operations."
    )


class StrReplaceArguments(ToolArguments):
    """What the model passes to `str_replace`."""

    path: str = Field(description="File to change, relative to the workspace.")
    old_string: str = Field(
        description="The text to replace, exactly as in the file, without row numbers."
    )
    new_string: str = Field(description="The text to put in its place; may be empty.")
    replace_all: bool = Field(
        default=False, description="Replace every occurrence instead of exactly one."
    )


class ApplyPatchArguments(ToolArguments):
    """What the model passes to `apply_patch`."""

    input: str = Field(description="The whole patch, from *** Begin Patch to *** End Patch.")
