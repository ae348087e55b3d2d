"""The loop that the program runs on."""

from __future__ import annotations

import asyncio
import sys

import pytest

from rho_tui.cli import event_loop


async def _kind() -> str:
    return type(asyncio.get_running_loop()).__module__


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop does not run on Windows")
def test_the_program_runs_on_uvloop() -> None:
    assert event_loop.run(_kind()).startswith("uvloop")


def test_without_uvloop_it_runs_on_the_loop_of_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert event_loop.run(_kind()).startswith("asyncio")
