"""`rho`: the app in the terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rho_tui.cli.early_input import EarlyInput, early_terminal
from rho_tui.cli.exit_codes import EXIT_FAILED, EXIT_USAGE

if TYPE_CHECKING:
    from rho_tui.host.launch import Launch


def run_chat(options: argparse.Namespace) -> int:
    """Open the app; returns its exit code."""
    with early_terminal() as typed:
        return _chat(options, typed)


def _chat(options: argparse.Namespace, typed: EarlyInput) -> int:
    from rho_tui.cli.launching import complain, launch_from
    from rho_tui.host.config import ConfigError

    try:
        launch = launch_from(options)
        resume = None if options.resume is None else _session_file(launch, options.resume)
    except (ConfigError, LookupError) as error:
        complain(error)
        return EXIT_USAGE
    from rho_tui.app import RhoApp
    from rho_tui.cli import event_loop
    from rho_tui.widgets.terminal_input import install_terminal_input

    install_terminal_input()
    app = RhoApp(
        launch, prompt=options.prompt, resume=resume, typed=typed.text, entered=typed.entered
    )
    code = event_loop.run(app.run_async())
    if app.return_code and code is None:
        where = f"; what happened is in {app.crash_log}" if app.crash_log else ""
        complain(f"rho stopped because of a fault of its own{where}")
        _say_how_to_resume(app.chat.last_session)
        return EXIT_FAILED
    _say_how_to_resume(app.chat.last_session)
    return code or 0


def _session_file(launch: Launch, wanted: str) -> Path:
    """The session to go on with. Raises `LookupError` with a line for the user."""
    from rho_tui.host.sessions.index import SessionNotFound, find_session, latest_session

    folder, cwd = launch.paths.sessions_dir, str(launch.cwd)
    try:
        if wanted:
            return find_session(folder, wanted, cwd=cwd).path
        return latest_session(folder, cwd).path
    except SessionNotFound as error:
        raise LookupError(str(error)) from None


def _say_how_to_resume(session_id: str | None) -> None:
    if session_id is not None:
        print(f"to go on: rho --resume {session_id[:8]}", file=sys.stderr)
