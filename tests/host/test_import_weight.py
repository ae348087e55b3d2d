"""Opening a conversation is cheap: what only turns need loads with the first turn, off the loop."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

from rho_core.testing import ScriptedTurn
from rho_tui.host.conversation_options import ConversationOptions
from tests.host.conversation_kit import Stage

HEAVY = (
    "pydantic", "httpx", "keyring", "tomlkit", "yaml", "re2", "pathspec", "markdown_it",
    "pygments", "textual", "rich",
)  # fmt: skip

_OPEN = f"""
import asyncio, json, sys
from pathlib import Path
from rho_tui.host.launch import Flags, prepare_launch
from rho_tui.host.workbench import Workbench

def loaded():
    return [name for name in {HEAVY!r} if name in sys.modules]

async def main():
    root = Path(sys.argv[1])
    environ = {{"RHO_HOME": str(root / "home"), "HOME": str(root)}}
    launch = prepare_launch(Flags(provider="demo"), environ=environ, cwd=root / "work")
    workbench = Workbench(launch)
    await workbench.connect()
    opened = await workbench.open()
    reader = opened.conversation.events()
    await anext(reader)
    after_opening = loaded()
    await opened.conversation.send("hello")
    after_sending = loaded()
    await opened.conversation.aclose()
    await workbench.aclose()
    print(json.dumps([after_opening, after_sending]))

asyncio.run(main())
"""


def test_an_open_conversation_has_loaded_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("Be brief.")
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, str(tmp_path)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    after_opening, after_sending = json.loads(done.stdout)
    assert after_opening == []
    # so the names are right, and a turn does advertise the tools
    assert "pydantic" in after_sending


class LoadingStage(Stage):
    """A conversation with something to load."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.threads: list[int] = []

    def conversation_options(self) -> ConversationOptions:
        return replace(
            super().conversation_options(), load=lambda: self.threads.append(threading.get_ident())
        )


async def test_the_first_turn_loads_once_and_off_the_loop(tmp_path: Path) -> None:
    stage = LoadingStage(tmp_path, [ScriptedTurn.completed("a"), ScriptedTurn.completed("b")])
    async with await stage.new() as conversation:
        assert stage.threads == []
        await stage.play(conversation, "one", "two")
    [thread] = stage.threads
    assert thread != threading.get_ident()


async def test_what_was_warmed_up_is_not_loaded_again(tmp_path: Path) -> None:
    stage = LoadingStage(tmp_path, [ScriptedTurn.completed("a")])
    async with await stage.new() as conversation:
        await conversation.warm_up()
        await stage.play(conversation, "one")
    assert len(stage.threads) == 1
