"""Point 6: hostile text from everywhere is shown as text, and no escape of it gets through."""

from __future__ import annotations

import os
import re

import pytest

from tests.e2e.bench import READY, WIDE, Bench, approve, ask
from tests.e2e.terminal import Terminal
from tests.servers import Call, Turn

OSC = "\x1b]0;PWNED\x07"
CSI = "\x1b[13;37H\x1b[?7727h\x1b[2J\x1b[6n"
C1 = "\x9b31;46m\x9d0;PWNED\x9c\x90"
BIDI = "\u202eevil\u202c\u2066x\u2069\u200f"
LINK = "\x1b]8;;http://pwned.invalid\x1b\\click\x1b]8;;\x1b\\"
PLAIN = "[/red] [WARN] List<String> [@click=app.quit]x[/] <b>y</b>"
HOSTILE = f"{OSC}{CSI}{C1}{BIDI}{LINK}\x1bc\x08\x00\x7f\r{PLAIN}"
SHOWN = ("[/red]", "[WARN]", "List<String>", "[@click=app.quit]")
INJECTED = (
    b"\x1b]0;PWNED",
    b"PWNED\x07",
    b"\x1b[13;37H",
    b"\x1b[?7727h",
    b"\x1b[6n",
    b"\x1bc",
    b"\x1b]8;;http://pwned",
    "\x9b".encode(),
    "\x9d".encode(),
    "\x9c".encode(),
    "\x90".encode(),
    "\u202e".encode(),
    "\u2066".encode(),
    "\u200f".encode(),
)
MEGABYTE = 1_000_000
# the command makes the bytes itself; its text is shown too
BYTES = r"printf '\033]0;PW''NED\007\033[13;37H\302\2336n\377\376\001[/red] [WARN] List<String>\n'"
LONG_LINE = "head -c 1000000 /dev/zero | tr '\\0' z; echo"


def assert_clean(terminal: Terminal) -> None:
    raw = bytes(terminal.raw)
    assert [bad for bad in INJECTED if bad in raw] == []
    # raw C1 bytes and invalid UTF-8: all that is written decodes
    raw.decode("utf-8")


def flat(screen: str) -> str:
    """The screen without the spaces and line ends that wrapping adds."""
    return re.sub(r"\s+", "", screen)


@pytest.mark.clause("case:A11", "case:D1", "case:D4", "case:E7")
def test_hostile_text_in_answers_commands_and_output(bench: Bench) -> None:
    turns = [
        Turn(reasoning=f"thinking {HOSTILE}", text=f"answer {HOSTILE}\n\n> quoted {HOSTILE}"),
        Turn(text=f"```{PLAIN}\n{HOSTILE}\n```\n\n| a | b |\n|---|---|\n| {HOSTILE[:40]} | 1 |"),
        Turn(calls=(Call("bash", {"command": f"echo '{PLAIN}' # {HOSTILE}".replace("\x00", "")}),)),
        Turn(calls=(Call("bash", {"command": BYTES}),)),
        Turn(text="Past the commands."),
        Turn(calls=(Call("bash", {"command": LONG_LINE}),)),
        Turn(text="w" * MEGABYTE + " the end", chunk_chars=65_536),
    ]
    model = bench.model(turns)
    terminal = bench.rho(size=WIDE)
    for number, word in enumerate(("first", "second")):
        ask(terminal, word)
        model.request(number)
        idle(terminal)
        terminal.wait_for(lambda text: all(part in flat(text) for part in (*SHOWN, "PWNED")))
    ask(terminal, "third")
    prompt = approve(terminal, "bash wants")
    assert all(part in flat(prompt) for part in SHOWN)
    approve(terminal, "bash wants")
    terminal.wait_for("Past the commands.")
    output = model.request(4).results[-1]
    assert "[/red] [WARN] List<String>" in output
    assert "\x1b" not in output
    ask(terminal, "fourth")
    approve(terminal, "bash wants")
    terminal.wait_for("the end", seconds=30)
    idle(terminal)
    assert len(model.request(6).results[-1]) < 100_000
    assert_clean(terminal)
    ask(terminal, "/exit")
    assert terminal.wait_exit() == 0

    again = bench.rho("--resume", size=WIDE)
    again.wait_for("the end", seconds=30)
    again.send("\x1b[1;5H")  # ctrl+home
    again.wait_for(lambda text: all(part in flat(text) for part in SHOWN))
    assert_clean(again)


NAME = f"n{OSC}{BIDI}[red]<a>.txt".replace("/", "")


@pytest.mark.clause("case:D1", "case:D4", "case:H13")
def test_hostile_file_names_and_contents(bench: Bench) -> None:
    bench.file(NAME, f"inside {HOSTILE}\n".replace("\x00", ""))
    bench.file("binary.bin", bytes(range(256)) * 64)
    bench.file("latin.txt", b"caf\xe9 [/red]\n")
    bench.file("long.txt", b"q" * MEGABYTE + b"\n")
    raw_name = os.fsencode(bench.workspace) + b"/raw\xff\x9b6n.txt"
    with open(raw_name, "wb") as file:
        file.write(b"raw\n")
    reads = [Call("read_file", {"path": name}) for name in (NAME, "binary.bin", "long.txt")]
    odd = Call("read_file", raw_arguments='{"path": "\\ud800[/red].txt"}')
    others = [
        Call("list_dir", {"path": "."}),
        Call("glob", {"pattern": "*"}),
        Call("grep", {"pattern": "red|raw"}),
        Call(f"no_such{HOSTILE}", {}),
    ]
    question = {
        "title": f"Title {HOSTILE}",
        "questions": [
            {"question": f"Which? {HOSTILE}", "type": "choice", "choices": ["one", "[/red] two"]}
        ],
    }
    turns = [
        Turn(calls=(odd,)),  # no valid Unicode: a result says so
        Turn(calls=(*reads, *others)),
        Turn(calls=(Call("write", {"path": f"new{NAME}", "content": f"new {HOSTILE}\n"}),)),
        Turn(calls=(Call("questionnaire", question),)),
        Turn(text="All of it is over."),
    ]
    model = bench.model(turns)
    terminal = bench.rho(size=WIDE)
    ask(terminal, "look around")
    prompt = approve(terminal, "write wants")
    assert "[red]<a>.txt" in flat(prompt)
    terminal.wait_for(lambda text: "Which?" in text and "↑↓ choose" in text)
    assert "[/red] two" in terminal.text
    terminal.send("2")
    terminal.send("\r")
    terminal.wait_for("All of it is over.")
    results = model.request(4).results
    assert len(results) == 1 + len(reads) + len(others) + 2
    assert "half of a surrogate pair" in results[0]
    assert "inside" in results[1]
    assert max(len(result) for result in results) < 100_000
    assert "[/red] two" in results[-1]
    terminal.send("\x0f")
    idle(terminal)
    assert_clean(terminal)
    # what is typed and pasted is shown as text as well
    terminal.send(f"\x1b[200~pasted {HOSTILE}\x1b[201~")
    terminal.wait_for("[WARN]")
    assert_clean(terminal)


def idle(terminal: Terminal) -> None:
    terminal.wait_for(lambda text: "to interrupt" not in text and READY in text, seconds=30)
