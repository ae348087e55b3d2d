"""Which edit tool a conversation gets (T1.3, T1.4, APP6.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rho_core.tools.file_tools import EditFormat
from rho_tui.host.config import EditToolName

#: What `auto` means for a provider of that name, whatever wire it speaks. Two of the names are
#: nobody's here until you call a custom provider so.
_BY_PROVIDER: Final[Mapping[str, EditFormat]] = {
    "anthropic": EditFormat.STR_REPLACE,
    "demo": EditFormat.STR_REPLACE,  # its rules call that tool
    "openai-codex": EditFormat.APPLY_PATCH,
    "xai": EditFormat.STR_REPLACE,
}


def edit_format_for(setting: EditToolName, provider: str, wire: str) -> EditFormat:
    """The format of `behavior.edit_tool`; `auto` is what the models of the provider know best.

    Who speaks Anthropic's wire offers models that were taught to replace exact text. Behind any
    other stands a model of any kind: lines with numbers and a tag are the shortest edits, and a
    model that copies text badly gets them right.
    """
    if setting != "auto":
        return EditFormat.parse(setting)
    usual = EditFormat.STR_REPLACE if wire == "anthropic" else EditFormat.HASHLINE
    return _BY_PROVIDER.get(provider, usual)
