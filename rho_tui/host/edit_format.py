"""Which edit tool a conversation gets (T1.3, T1.4, APP6.8)."""

from __future__ import annotations

from rho_core.tools.file_tools import EditFormat
from rho_tui.host.catalogue import ProviderChoice
from rho_tui.host.config import EditToolName


def edit_format_for(setting: EditToolName, choice: ProviderChoice) -> EditFormat:
    """The format of `behavior.edit_tool`; `auto` is what the models of the provider know best.

    Models reached over Anthropic Messages replace exact text, and so does the demo; all others
    edit by line numbers.
    """
    if setting != "auto":
        return EditFormat.parse(setting)
    return EditFormat.HASHLINE if choice.wire == "chat" else EditFormat.STR_REPLACE
