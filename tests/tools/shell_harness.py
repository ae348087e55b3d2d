"""A shell tool over a real folder, and a look at the real processes of the machine."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable

import psutil

_numbers = itertools.count(1)


def unique_sleep(seconds: int = 30) -> str:
    """A `sleep` that outlasts every test and whose arguments no other process has."""
    return f"sleep {seconds}.{os.getpid()}{next(_numbers):04}"


def is_alive(marker: str) -> bool:
    """Whether some process has `marker` in its command line."""
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        if marker in " ".join(process.info["cmdline"] or ()):
            return True
    return False


def runs(process: psutil.Process) -> bool:
    """Whether the process still runs; one that only waits to be reaped does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether the condition became true within the deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
