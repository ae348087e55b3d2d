"""Point 2: from a prompt to a finished, approved change, over both wires, in two sizes."""

from __future__ import annotations

import pytest

from rho_core.tools.files.view_header import file_tag
from tests.e2e.bench import APPROVAL_ARMED, NARROW, WIDE, Bench, approve, ask, draft
from tests.e2e.model_process import Wire
from tests.servers import Call, Turn

SOURCE = 'def greet(name):\n    return "hallo " + name\n\n\nprint(greet("rho"))\n'
# the words on the screen differ from the words of the command, which the prompt shows
COMMAND = (
    "printf 'run%s\\n' ning; while [ ! -e go ]; do sleep 0.05; done; python3 greet.py; "
    "printf 'all%s\\n' done"
)
CHANGE = Call(
    "str_replace", {"path": "greet.py", "old_string": '"hallo "', "new_string": '"good day "'}
)
# what `auto` means on the Messages wire; on the other one it has to be chosen
EXACT_TEXT = '[behavior]\nedit_tool = "str_replace"\n'
JOB = [
    Turn(
        reasoning="First look, then change.",
        text="I read the file and look for other places.",
        calls=(
            Call("read_file", {"path": "greet.py"}),
            Call("grep", {"pattern": "hallo", "path": "."}),
        ),
        interleave_calls=True,
    ),
    Turn(calls=(CHANGE,)),
    Turn(text="Now I run it.", calls=(Call("bash", {"command": COMMAND}),)),
    Turn(text="The greeting is **changed** and the program runs."),
]


@pytest.mark.clause("APP2.31", "APP3.9", "APP3.20", "T11.3", "T16.3")
@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x36"])
@pytest.mark.parametrize("wire", ["chat", "anthropic"])
def test_a_prompt_leads_to_an_approved_change(
    bench: Bench, wire: Wire, size: tuple[int, int]
) -> None:
    if wire == "chat":
        bench.configure(EXACT_TEXT)
    file = bench.file("greet.py", SOURCE)
    model = bench.model(JOB, wire)
    terminal = bench.rho(size=size)
    ask(terminal, "make the greeting polite")

    before = terminal.wait_for(lambda text: "str_replace" in text and APPROVAL_ARMED in text)
    assert '-     return "hallo " + name' in before
    assert '+     return "good day " + name' in before
    assert file.read_text("utf-8") == SOURCE
    terminal.send("1")

    approve(terminal, "while [ ! -e go ]")
    assert file.read_text("utf-8") == SOURCE.replace("hallo", "good day")
    running = terminal.wait_for("running")
    assert "alldone" not in running
    bench.file("go", "")
    terminal.wait_for("The greeting is changed and the program runs.")
    ended = terminal.wait_for(lambda text: "interrupt" not in text and "Type a message" in text)
    assert "good day rho" in ended

    last = model.request(3)
    assert last.calls == ["read_file", "grep", "str_replace", "bash"]
    read, grep, change, shell = last.results
    assert '"hallo "' in read
    assert "greet.py" in grep
    assert "greet.py" in change
    assert "running\ngood day rho\nalldone" in shell
    assert last.prompts == ["make the greeting polite"]
    assert len(model.requests) == 4


@pytest.mark.clause("APP6.8", "T1.4", "T3.3", "T10.2", "T10.30")
def test_without_configuration_chat_completions_edits_by_line_and_tag(bench: Bench) -> None:
    file = bench.file("greet.py", SOURCE)
    document = '[greet.py#{tag}]\nPUT 2:\n+    return "good day " + name'
    model = bench.model(
        [
            Turn(calls=(Call("read_file", {"path": "greet.py"}),)),
            Turn(calls=(Call("edit", {"input": document}),)),
            Turn(text="The greeting is **changed**."),
        ]
    )
    terminal = bench.rho()
    ask(terminal, "make the greeting polite")
    before = terminal.wait_for(
        lambda text: "edit wants to write" in text and APPROVAL_ARMED in text
    )
    assert '-     return "hallo " + name' in before
    assert '+     return "good day " + name' in before
    assert file.read_text("utf-8") == SOURCE
    terminal.send("1")
    terminal.wait_for("The greeting is changed.")
    assert file.read_text("utf-8") == SOURCE.replace("hallo", "good day")

    assert {"edit", "str_replace", "apply_patch"} & set(model.request(0).tools) == {"edit"}
    last = model.request(2)
    assert last.calls == ["read_file", "edit"]
    read, change = last.results
    assert read.startswith(f"[greet.py#{file_tag(SOURCE)}]\n1:def greet(name):\n")
    assert change.startswith("PUT 2: (1 → 1 line(s))\n[greet.py#")


@pytest.mark.clause("APP3.20")
def test_a_denial_with_feedback_reaches_the_model(bench: Bench) -> None:
    bench.configure(EXACT_TEXT)
    file = bench.file("greet.py", SOURCE)
    model = bench.model([Turn(calls=(CHANGE,)), Turn(calls=(CHANGE,)), Turn(text="As you like.")])
    terminal = bench.rho()
    ask(terminal, "make the greeting polite")
    for number, (key, feedback) in enumerate((("4", "say moin instead"), ("f", "no, moin"))):
        approve(terminal, "str_replace", key)
        terminal.wait_for("Enter deny with this feedback")
        terminal.send(feedback)
        terminal.wait_for(feedback)
        terminal.send("\r")
        assert feedback in model.request(number + 1).results[number]
    terminal.wait_for("As you like.")
    assert file.read_text("utf-8") == SOURCE


@pytest.mark.clause("APP3.20", "case:E4")
def test_keys_typed_while_the_prompt_appears_do_not_answer_it(bench: Bench) -> None:
    """A person types on while the model works: digits, letters, and an Enter at the wrong time."""
    bench.configure(EXACT_TEXT)
    file = bench.file("greet.py", SOURCE)
    model = bench.model([Turn(calls=(CHANGE,), first_delay=0.6), Turn(text="It is done.")])
    terminal = bench.rho()
    ask(terminal, "make the greeting polite")
    terminal.wait_for("interrupt")
    typed = ""
    while "str_replace wants" not in terminal.text:
        terminal.send("1")
        typed += "1"
        terminal.pump(0.05)
        assert len(typed) < 400, terminal.text
    for key in "1y\r2a\r":
        terminal.send(key)
        typed += key.strip()
        terminal.pump(0.1)
    terminal.wait_for(lambda text: draft(text) == typed)
    terminal.wait_for(APPROVAL_ARMED)
    assert file.read_text("utf-8") == SOURCE
    assert len(model.requests) == 1

    terminal.send("1")
    terminal.wait_for("It is done.")
    assert file.read_text("utf-8") != SOURCE
    assert draft(terminal.text) == typed
    assert model.request(1).prompts == ["make the greeting polite"]
