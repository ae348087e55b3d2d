"""The edit tool of a conversation: which one it has now, and which one its model knows of (T1.5).

The two differ between a change and the next prompt. What the model knows is read from a stored
session by the order of its records: every prompt carries the news there are (`prompt_news`), so
a tool that was changed before a prompt is known after it.
"""

from __future__ import annotations

import json

from rho_core.history.messages import History, SystemMessage, tool_calls_of
from rho_core.history.messages import completed_assistant_content as answer_of
from rho_core.json_values import thaw
from rho_core.providers.contract import ToolSpec
from rho_core.session import Session
from rho_core.tools.file_tools import EditFormat, FileTools
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.recovery import StoredSession

#: How every notice to the model begins; it tells a notice from what a person wrote.
EDIT_NOTICE_HEAD = "The edit tool has changed since the last turn (this is no user input):"
_EDIT_TOOLS = frozenset(edit_format.tool_name for edit_format in EditFormat)


class ConversationEditTool:
    """Changes the edit tool of one conversation, and knows what is to be told of that.

    Args:
        files: The conversation's file tools.
        stored: The session that is continued; None: a new one.
    """

    def __init__(self, files: FileTools, stored: StoredSession | None = None) -> None:
        self._files = files
        # empty: unknown, and nothing is told
        self._known = self._shown = self.name
        if stored is not None:
            self._known, self._shown = _told(stored)

    @property
    def name(self) -> str:
        """The tool that there is now."""
        return self._files.edit_format.tool_name

    def switch(self, session: Session, wanted: EditFormat) -> None:
        """Use another format in later turns. Raises `SessionBusy`."""
        self._files.switch_format(wanted, session.replace_tool)

    def take_change(self) -> str | None:
        """The tool there is now, once, if the user was shown another one before."""
        before, self._shown = self._shown, self.name
        return self.name if before and before != self.name else None

    def is_news_to(self, history: History) -> bool:
        """Whether a model with this history takes another edit tool for granted."""
        if all(isinstance(message, SystemMessage) for message in history):
            return False  # it has not seen any
        return bool(self._known) and self._known != self.name

    def notice(self) -> str:
        """What the model has to be told of the change. Makes a schema: it takes a while."""
        return _notice(self._known, self._files.edit_tool.spec())

    def told(self) -> None:
        """A prompt went out, and with it the notice if one was due."""
        self._known = self.name


def _notice(old: str, new: ToolSpec) -> str:
    """Old name, new name and the whole definition of the new tool (1.5)."""
    definition = {
        "name": new.name,
        "description": new.description,
        "input_schema": thaw(new.input_schema),
    }
    return (
        f"{EDIT_NOTICE_HEAD} `{old}` is gone; change files with `{new.name}` from now on. Views "
        "of files may be headed differently than before: read a file again before you edit it. "
        f"The definition of `{new.name}`:\n{json.dumps(definition, ensure_ascii=False)}"
    )


def _told(stored: StoredSession) -> tuple[str, str]:
    """Which edit tool the model knew and which the user, at the end of a stored session."""
    known = shown = stored.header.edit_tool or _last_used(stored.snapshot.history)
    for line in stored.lines:
        match line.record:
            case r.SettingChanged(setting=r.Setting.EDIT_TOOL, value=name):
                shown = name
            case r.MessageAppended(origin=r.MessageOrigin.PROMPT):
                known = shown
    return known, shown


def _last_used(history: History) -> str:
    """For files that do not say which tool they began with: the last one that was called."""
    for message in reversed(history):
        for call in reversed(tool_calls_of(answer_of(message) or ())):
            if call.name in _EDIT_TOOLS:
                return call.name
    return ""
