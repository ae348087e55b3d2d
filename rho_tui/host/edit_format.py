"""Which edit tool a conversation gets (T1.3, T1.4, APP6.8)."""

from __future__ import annotations

from rho_core.tools.file_tools import EditFormat
from rho_tui.host.config import EditToolName


def edit_format_for(setting: EditToolName) -> EditFormat:
    """The format of `behavior.edit_tool`; `auto` is what every model knows.

    Behind Chat Completions stand models of any kind and behind Messages those that were taught to
    replace exact text, so both get `str_replace` (we depart from APP6.8 here: a format that a
    local model has never seen costs it failed edits). The others are there to be chosen.
    """
    return EditFormat.STR_REPLACE if setting == "auto" else EditFormat.parse(setting)
