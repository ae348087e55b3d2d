"""How a command ended, in words."""

from __future__ import annotations

import signal


def exit_code_text(exit_code: int | None) -> str:
    """`3`, or `signal` for a command that a signal ended; with its name when there is one."""
    if exit_code is None:
        return "unknown"
    if exit_code >= 0:
        return str(exit_code)
    name = signal_name(exit_code)
    return f"signal ({name})" if name else "signal"


def signal_name(exit_code: int) -> str:
    """`SIGKILL` for -9; empty for what is no signal of this system."""
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return ""
