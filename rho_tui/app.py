"""The application: one chat screen over a workbench, and a clean end whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.app import App
from textual.binding import BindingType
from textual.driver import Driver

from rho_core.private_files import make_private_folder, open_private_file
from rho_core.version import __version__
from rho_tui.host.launch import Launch
from rho_tui.host.workbench import Workbench
from rho_tui.screens.chat import ChatScreen
from rho_tui.terminal_driver import lasting

_EXIT_SIGNALS = ("SIGTERM", "SIGHUP")


class RhoApp(App[int]):
    """Runs a conversation in the terminal; returns the exit code.

    Args:
        launch: Configuration, folders and flags.
        prompt: Sent at the start.
        resume: The session file to go on with.
        typed: What was typed before the app had the terminal; `entered` when Enter followed.
        bench: Where conversations come from; None: one made for `launch`.
        version: Shown in the session header.
        clock: Monotonic clock in seconds, for everything on screen that counts time.
    """

    TITLE = "rho"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self,
        launch: Launch,
        *,
        prompt: str | None = None,
        resume: Path | None = None,
        typed: str = "",
        entered: bool = False,
        bench: Workbench | None = None,
        version: str = __version__,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._launch = launch
        self.chat = ChatScreen(
            bench or Workbench(launch),
            prompt=prompt,
            resume=resume,
            typed=typed,
            entered=entered,
            version=version,
            clock=clock,
        )
        self.crash_log: Path | None = None

    def get_driver_class(self) -> type[Driver]:
        """The platform's driver, which does not fall with its terminal."""
        return lasting(super().get_driver_class())

    def get_default_screen(self) -> ChatScreen:
        """The chat is the app's only permanent screen."""
        return self.chat

    def on_mount(self) -> None:
        """Theme, and an orderly end for signals."""
        wanted = self._launch.config.display.theme
        if wanted in self.available_themes:
            self.theme = wanted
        else:
            self.chat.say(f"there is no theme {wanted!r}")
        loop = asyncio.get_running_loop()
        for name in _EXIT_SIGNALS:
            number = getattr(signal, name, None)
            if number is not None:
                with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                    loop.add_signal_handler(number, self._leave_on, int(number))

    def _leave_on(self, number: int) -> None:
        self.chat.run_worker(self.chat.leave(128 + number), group="leaving")

    def _fatal_error(self) -> None:
        """An unhandled exception: keep the trace in the log, without the values of variables.

        Textual would print every local variable, keys and hostile text included.
        """
        path = self._launch.paths.log_file
        try:
            make_private_folder(path.parent)
            with open(
                path, "a", encoding="utf-8", errors="replace", opener=open_private_file
            ) as log:
                log.write(traceback.format_exc())
            self.crash_log = path
        except OSError:
            self.crash_log = None
        self._close_messages_no_wait()
