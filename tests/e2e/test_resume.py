"""Point 4: quitting, being killed and coming back."""

from __future__ import annotations

import re
import shutil
import signal
from pathlib import Path

import pytest

from tests.e2e.bench import WIDE, Bench, approve, ask, family_asleep, wait_dead
from tests.e2e.model_process import Wire
from tests.e2e.terminal import Terminal
from tests.servers import Call, Turn

CHANGE = Call("str_replace", {"path": "a.txt", "old_string": "old line", "new_string": "new line"})
LOOK = Call("bash", {"command": "printf 'to%s\\n' tal; exit 3"})


def transcript(terminal: Terminal) -> list[str]:
    """The rows above the composer that say something; how long something took may differ.

    Raw reasoning is never stored (B34), so it is left out.
    """
    lines = terminal.text.split("\n")
    top = next(number for number, line in enumerate(lines) if line.startswith("────"))
    return [
        re.sub(r"\d+(\.\d+)?m?s\b", "_s", line)
        for line in lines[:top]
        if line.strip(" ▁▂▃▄▅▆▇█") and "Think first." not in line
    ]


def session_file(bench: Bench) -> str:
    (file,) = bench.home.glob("sessions/**/*.jsonl")
    return file.read_text("utf-8")


@pytest.mark.clause("APP7.12", "APP7.19", "B34")
@pytest.mark.parametrize(("wire", "by_id"), [("chat", False), ("anthropic", True)])
def test_a_resumed_session_looks_the_same_and_goes_on(
    bench: Bench, wire: Wire, by_id: bool
) -> None:
    bench.configure('[behavior]\nedit_tool = "str_replace"\n')
    bench.file("a.txt", "old line\nother\n")
    turns = [
        Turn(reasoning="Think first.", text="I change it.", calls=(CHANGE,)),
        Turn(calls=(LOOK,)),
        Turn(text="**Changed**, and the command failed.\n\n- one\n- two"),
        Turn(text="I remember everything."),
    ]
    model = bench.model(turns, wire)
    terminal = bench.rho(size=WIDE)
    ask(terminal, "change the old line")
    approve(terminal, "str_replace")
    approve(terminal, "exit 3")
    terminal.wait_for("the command failed.")
    terminal.wait_gone("to interrupt")
    before = transcript(terminal)
    assert any("new line" in line for line in before)
    assert any("total" in line for line in before)
    terminal.send("\x11")
    assert terminal.wait_exit() == 0
    (short_id,) = re.findall(r"rho --resume (\w+)", terminal.raw.decode("utf-8", "replace"))

    again = bench.rho("--resume", *([short_id] if by_id else []), size=WIDE)
    again.wait_for(lambda _text: transcript(again) == before)
    ask(again, "what did you do?")
    again.wait_for("I remember everything.")
    request = model.request(3)
    assert request.prompts == ["change the old line", "what did you do?"]
    assert request.calls == ["str_replace", "bash"]
    assert request.results == model.request(2).results
    assert request.answers == [
        "I change it.",
        "**Changed**, and the command failed.\n\n- one\n- two",
    ]


@pytest.mark.clause("case:G1", "T16.11")
@pytest.mark.parametrize("wire", ["chat", "anthropic"])
def test_killed_while_a_tool_runs_nothing_committed_is_lost(bench: Bench, wire: Wire) -> None:
    bench.file("a.txt", "old line\n")
    sleeping = Call("bash", {"command": "printf 'as%s\\n' leep; sleep 300 & sleep 300"})
    turns = [
        Turn(text="First answer."),
        Turn(text="I wait.", calls=(Call("read_file", {"path": "a.txt"}), sleeping)),
        Turn(text="I am back."),
    ]
    model = bench.model(turns, wire)
    terminal = bench.rho("--permission-mode", "bypass")
    ask(terminal, "first question")
    terminal.wait_for("First answer.")
    terminal.wait_gone("to interrupt")
    ask(terminal, "second question")
    terminal.wait_for("asleep")
    children = family_asleep(terminal.process.pid)
    terminal.kill(signal.SIGKILL)
    assert terminal.wait_exit() == -signal.SIGKILL
    wait_dead(children)

    again = bench.rho("--resume", size=WIDE)
    screen = again.wait_for("I wait.")
    assert "First answer." in screen
    assert "Rho stopped before this turn had ended" in again.wait_for("Rho stopped")
    ask(again, "third question")
    again.wait_for("I am back.")
    request = model.request(2)
    assert request.prompts[:2] == ["first question", "second question"]
    assert "third question" in request.prompts[-1]
    assert request.calls == ["read_file", "bash"]
    read, shell = request.results
    assert "old line" in read or "interrupted" in read
    assert "tool call interrupted before completion" in shell


@pytest.mark.clause("APP5.54", "case:G1")
def test_what_the_user_ran_is_there_after_a_kill_and_goes_with_the_next_prompt(
    bench: Bench,
) -> None:
    model = bench.model([Turn(text="Hello."), Turn(text="I have seen it.")])
    terminal = bench.rho(size=WIDE)
    ask(terminal, "who are you?")
    terminal.wait_for("Hello.")
    terminal.wait_gone("to interrupt")
    ask(terminal, "!printf 'from %s\\n' me; exit 4")
    terminal.wait_for("exit 4 ·")
    before = transcript(terminal)
    assert any("from me" in line for line in before)
    terminal.kill(signal.SIGKILL)
    assert terminal.wait_exit() == -signal.SIGKILL

    again = bench.rho("--resume", size=WIDE)
    again.wait_for(lambda _text: transcript(again) == before)
    ask(again, "what did I run?")
    again.wait_for("I have seen it.")
    prompt = model.request(1).prompts[-1]
    assert "$ printf 'from %s\\n' me; exit 4" in prompt
    assert "stdout:\nfrom me\n" in prompt
    assert prompt.endswith("what did I run?")
    assert "The user ran" not in again.text


@pytest.mark.clause("case:G4")
def test_a_session_that_somebody_writes_is_read_only(bench: Bench) -> None:
    model = bench.model(Turn(text="Here I am."))
    writer = bench.rho()
    ask(writer, "are you there?")
    writer.wait_for("Here I am.")
    writer.wait_gone("to interrupt")
    kept = session_file(bench)

    reader = bench.rho("--resume")
    reader.wait_for("Here I am.")
    ask(reader, "and me?")
    reader.wait_for(lambda text: "read-only" in text or "read only" in text)
    reader.wait_for(lambda text: "> and me?" in text)
    assert len(model.requests) == 1
    assert session_file(bench) == kept
    ask(writer, "still there?")
    model.request(1)


@pytest.mark.clause("APP7.12")
def test_an_unknown_session_is_a_usage_error(bench: Bench) -> None:
    terminal = bench.rho("--provider", "demo", "--resume", "00000000", until=None)
    assert terminal.wait_exit() == 2
    assert "00000000" in terminal.text
    nothing_here = bench.rho("--provider", "demo", "--resume", until=None)
    assert nothing_here.wait_exit() == 2
    assert "rho: " in nothing_here.text


@pytest.mark.clause("case:G6", "APP7.12")
def test_a_session_from_another_folder_runs_there_and_says_when_it_is_gone(
    bench: Bench, tmp_path: Path
) -> None:
    bench.file("f.txt", "the one of work\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / "f.txt").write_text("the one of other\n", "utf-8")
    look = (Call("read_file", {"path": "f.txt"}), Call("bash", {"command": "pwd"}))
    turns = [Turn(text="Hello."), Turn(calls=look), Turn(text="I looked."), Turn(text="I moved.")]
    model = bench.model(turns)
    terminal = bench.rho()
    ask(terminal, "who are you?")
    terminal.wait_for("Hello.")
    terminal.wait_gone("to interrupt")
    terminal.send("\x11")
    assert terminal.wait_exit() == 0
    (short_id,) = re.findall(r"rho --resume (\w+)", terminal.raw.decode("utf-8", "replace"))

    again = bench.rho("--resume", short_id, "--permission-mode", "bypass", cwd=other, size=WIDE)
    again.wait_for("Hello.")
    assert "~/work" in again.text
    ask(again, "look around")
    again.wait_for("I looked.")
    read, pwd = model.request(2).results
    assert "the one of work" in read
    assert f"stdout:\n{bench.workspace}\n" in pwd
    again.wait_gone("to interrupt")
    again.send("\x11")
    assert again.wait_exit() == 0

    shutil.rmtree(bench.workspace)
    gone = f"the folder of this session is gone: {bench.workspace}"
    last = bench.rho("--resume", short_id, cwd=other, size=WIDE)
    last.wait_for(lambda text: gone in " ".join(text.split()) and "folder is gone" in text)
    ask(last, "go on")
    last.wait_for(lambda text: " ".join(text.split()).count(gone) == 2 and "> go on" in text)
    assert len(model.requests) == 3
    last.send("\x03")
    ask(last, "/move")
    last.wait_for(f"this session works in {other} from here on")
    ask(last, "and now?")
    last.wait_for("I moved.")
    assert f'Working directory: "{other}"' in str(model.request(3).messages[0]["content"])
