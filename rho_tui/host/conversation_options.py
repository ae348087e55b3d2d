"""What a conversation needs besides the runtime, and the error of one that may only be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rho_core.errors import PersistenceError
from rho_tui.host.approvals import InteractiveApprovals
from rho_tui.host.permissions import ModePolicy

if TYPE_CHECKING:
    from rho_core.tools.file_tools import FileTools
    from rho_core.tools.process.notice import ProcessNotice
    from rho_tui.host.user_shell import ShellSettings


class SessionReadOnly(PersistenceError):
    """The session can be looked at, not continued; the message says why and what can be done."""


@dataclass(frozen=True, slots=True)
class ConversationOptions:
    """What a conversation needs besides the runtime.

    Attributes:
        cwd: The folder that the session works in, as it is listed.
        folder: Where session files are; None: nothing is written (APP8.10).
        version: Rho's version, for the record.
        approvals: The handler that the runtime was built with, if a person answers approvals.
        policy: The policy that the runtime was built with, if its mode can be changed.
        take_notice: Gives what is to be told of background processes that ended unseen.
        files: The file tools that the runtime was built with, if their edit format can change.
        system_prompt: The prompt that the runtime was built with, for a session that comes from
            another folder.
        folder_is_missing: `cwd` is gone: the session is only to be read.
        shell: What the user's own commands run with, if they may run some.
        load: Loads what turns need and an open conversation does not. Called in a thread.
    """

    cwd: str
    folder: Path | None = None
    version: str = ""
    approvals: InteractiveApprovals | None = None
    policy: ModePolicy | None = None
    take_notice: Callable[[], ProcessNotice | None] | None = None
    files: FileTools | None = None
    system_prompt: str = ""
    folder_is_missing: bool = False
    shell: ShellSettings | None = None
    load: Callable[[], object] | None = None
