"""A session goes on with another provider: its edit tool changes, and the model hears of it."""

from __future__ import annotations

import pytest

from tests.e2e.bench import WIDE, Bench, ask
from tests.e2e.terminal import Terminal
from tests.servers import Call, Turn

LOOK = Call("read_file", {"path": "a.txt"})
NEWS = "The edit tool has changed since the last turn"
EDIT_TOOLS = {"edit", "str_replace", "apply_patch"}


def answered(terminal: Terminal, text: str) -> None:
    terminal.wait_for(text)
    terminal.wait_gone("to interrupt")


@pytest.mark.clause("T1.5", "T5.7", "APP6.8", "APP9.6")
def test_the_edit_tool_follows_the_provider(bench: Bench) -> None:
    bench.file("a.txt", "alpha\n")
    turns = [Turn(calls=(LOOK,)), Turn(text="Chat says {n}.")]
    chat = bench.model([*turns, Turn(text="Chat says {n}.")], "chat")
    claude = bench.model([Turn(calls=(LOOK,)), Turn(text="Claude says {n}.")], "anthropic")
    terminal = bench.rho(size=WIDE)
    ask(terminal, "look at a.txt")
    answered(terminal, "Chat says 1.")

    ask(terminal, "/model anthropic/claude-test")
    terminal.wait_for("edit tool: str_replace")
    terminal.wait_for(lambda text: "claude-test" in text.split("\n")[-1])
    ask(terminal, "look at it again")
    answered(terminal, "Claude says 1.")
    assert NEWS not in terminal.text
    terminal.send("\x11")
    assert terminal.wait_exit() == 0

    again = bench.rho("--resume", size=WIDE)  # with the provider that comes first
    again.wait_for("edit tool: edit")
    assert "edit tool: str_replace" in again.text
    ask(again, "and now?")
    answered(again, "Chat says 2.")

    assert [EDIT_TOOLS & set(r.tools) for r in (*chat.requests, *claude.requests)] == [
        {"edit"},
        {"edit"},
        {"edit"},
        {"str_replace"},
        {"str_replace"},
    ]
    assert chat.request(1).results == ["[a.txt#9473]\n1:alpha"]
    assert claude.request(1).results == ["[a.txt#9473]\n1:alpha", "a.txt\n1:alpha"]
    first, second = claude.request(1).prompts
    assert first == "look at a.txt"
    assert second.startswith(f"{NEWS} (this is no user input): `edit` is gone")
    assert '"name": "str_replace"' in second
    assert '"old_string"' in second
    assert second.endswith("look at it again")
    newest = chat.request(2).prompts[-1]
    assert newest.startswith(f"{NEWS} (this is no user input): `str_replace` is gone")
    assert '"name": "edit"' in newest
    assert newest.endswith("and now?")
