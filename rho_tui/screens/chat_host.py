"""What helpers of the chat screen need of it, so that they need not import the screen."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Protocol

from textual.app import App

from rho_tui.host.kinds import Severity
from rho_tui.host.workbench import Workbench
from rho_tui.screens.presenter import Presenter
from rho_tui.screens.session_control import SessionControl
from rho_tui.widgets.composer import Composer


class ChatHost(Protocol):
    """The chat screen, as its commands see it."""

    bench: Workbench
    presenter: Presenter
    control: SessionControl
    composer: Composer

    @property
    def app(self) -> App[Any]:
        """The app that shows it."""

    def run_worker(
        self, work: Coroutine[Any, Any, Any], *, name: str = "", group: str = "default"
    ) -> object:
        """Run something as a worker of the screen."""

    def say(self, text: str, severity: Severity = Severity.INFO) -> None:
        """A remark in the transcript."""

    def show_help(self) -> None:
        """Keys and commands."""

    async def set_up(self) -> None:
        """Ask for a provider, and open a conversation with it."""

    async def open_session(self, path: Path | None, folder: Path | None = None) -> None:
        """Open a new session, or the one in `path`; with `folder`, it works there from now on."""

    async def leave(self, code: int = 0) -> None:
        """End everything."""
