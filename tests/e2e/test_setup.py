"""The first run without a provider, and the commands that every session needs."""

from __future__ import annotations

import stat

import pytest

from tests.e2e.bench import READY, WIDE, Bench, ask
from tests.e2e.terminal import RHO, Terminal
from tests.servers import Call, Scenario, Turn

WELCOME = "Which model should it use?"
PASTED_KEY = "sk-pasted-0123456789-nobody-sees-it"


def choose(terminal: Terminal, digit: str) -> None:
    terminal.wait_for(WELCOME)
    terminal.send(digit)


@pytest.mark.clause("APP9.8", "APP9.9")
def test_a_local_server_is_asked_for_its_models_and_kept(bench: Bench) -> None:
    model = bench.model(Turn(text="The local server speaks."), use=False)
    terminal = bench.rho(until=WELCOME)
    choose(terminal, "3")
    terminal.wait_for("Address, up to and including /v1")
    terminal.send("\x15")  # ctrl+u: without the suggested address
    terminal.wait_gone("localhost:11434")
    terminal.send(model.base_url)
    terminal.wait_for(model.base_url)
    terminal.send("\r")
    terminal.wait_for("test-model")
    terminal.send("\r")
    terminal.wait_gone(WELCOME)
    ask(terminal, "hello local")
    terminal.wait_for("The local server speaks.")
    assert model.request(0).body["model"] == "test-model"
    assert "test-model" in terminal.text.split("\n")[-1]
    ask(terminal, "/exit")
    assert terminal.wait_exit() == 0
    config = (bench.home / "config.toml").read_text("utf-8")
    assert model.base_url in config

    again = bench.rho(until="local")  # no questions this time
    ask(again, "hello again")
    again.wait_for("The local server speaks.")
    assert len(model.requests) == 2


@pytest.mark.clause("APP9.9")
def test_a_pasted_key_is_used_kept_privately_and_never_shown(bench: Bench) -> None:
    model = bench.model(Turn(text="The key fits."))
    del bench.environment["OPENAI_API_KEY"]
    bench.environment["OPENAI_BASE_URL"] = model.base_url
    bench.configure('[model]\nprovider = "anthropic"\n[behavior]\ncredential_store = "file"\n')
    terminal = bench.rho(until=WELCOME)
    choose(terminal, "1")
    terminal.wait_for("API key (it is not shown)")
    terminal.send(f"\x1b[200~{PASTED_KEY}\x1b[201~")
    terminal.wait_for("••••")
    terminal.send("\r")
    terminal.wait_gone(WELCOME)
    ask(terminal, "does it fit?")
    terminal.wait_for("The key fits.")
    assert len(model.requests) == 1
    assert PASTED_KEY.encode() not in terminal.raw
    kept = bench.home / "credentials.toml"
    assert PASTED_KEY in kept.read_text("utf-8")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    others = [file for file in bench.home.rglob("*") if file.is_file() and file != kept]
    assert all(PASTED_KEY.encode() not in file.read_bytes() for file in others)


@pytest.mark.clause("case:J5")
def test_whatever_the_umask_nobody_else_reads_what_the_first_login_and_a_session_leave(
    bench: Bench,
) -> None:
    model = bench.model([Turn(calls=(Call("bash", {"command": "seq 40000"}),)), Turn(text="Done.")])
    bench.file("big.txt", "x")
    bench.home = bench.home / "not" / "yet"  # every folder is made by Rho
    bench.environment |= {"RHO_HOME": str(bench.home), "OPENAI_BASE_URL": model.base_url}
    bench.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    del bench.environment["OPENAI_API_KEY"]
    loose = ("sh", "-c", 'umask 000; exec "$@"', "sh", *RHO)
    terminal = bench.rho("--permission-mode", "bypass", command=loose)
    ask(terminal, "/login")
    choose(terminal, "1")
    terminal.wait_for("API key (it is not shown)")
    terminal.send(f"\x1b[200~{PASTED_KEY}\x1b[201~")
    terminal.wait_for("••••")
    terminal.send("\r")
    terminal.wait_gone(WELCOME)
    ask(terminal, "count")
    idle_after(terminal, "Done.")
    left = list(bench.home.parent.rglob("*"))
    kinds = {path.suffix or path.name for path in left if path.is_file()}
    assert kinds >= {".toml", ".jsonl", ".lock", ".holder", ".txt"}, left
    modes = {
        str(path.relative_to(bench.home.parent)): stat.S_IMODE(path.stat().st_mode)
        for path in (bench.home.parent, *left)
    }
    loosened = {name: oct(mode) for name, mode in modes.items() if mode not in (0o600, 0o700)}
    assert loosened == {}
    ask(terminal, "/exit")
    assert terminal.wait_exit() == 0


@pytest.mark.clause("APP9.8", "APP9.9")
def test_the_demo_needs_nothing_and_escape_skips_the_question(bench: Bench) -> None:
    bench.file("a.txt", "what it says\n")
    terminal = bench.rho(until=WELCOME)
    terminal.send("\x1b")
    terminal.wait_for(lambda text: WELCOME not in text and "no provider is configured" in text)
    ask(terminal, "/login")
    terminal.wait_for(WELCOME)
    terminal.send("\x1b")
    terminal.wait_gone(WELCOME)
    # a prompt asks again and is not lost
    ask(terminal, "read a.txt")
    choose(terminal, "4")
    terminal.wait_gone(WELCOME)
    terminal.wait_for("> read a.txt")
    terminal.send("\r")
    terminal.wait_for("what it says", seconds=20)


@pytest.mark.clause("APP5.1", "APP7.15")
def test_the_commands_of_a_session(bench: Bench) -> None:
    model = bench.model(Scenario.of(Turn(text="Answer {n} it is.")))
    terminal = bench.rho("--model", "one-model", "--prompt", "first session", size=WIDE)
    idle_after(terminal, "Answer 0 it is.")

    ask(terminal, "/help")
    screen = terminal.wait_for("/resume")
    for command in ("/model", "/new", "/exit"):
        assert command in screen
    terminal.send("\x1b")
    terminal.wait_gone("Keys and commands")

    ask(terminal, "/model other-model")
    terminal.wait_for(lambda text: "other-model" in text.split("\n")[-1])
    ask(terminal, "/new")
    terminal.wait_gone("Answer 0 it is.")
    ask(terminal, "second session")
    idle_after(terminal, "Answer 1 it is.")
    assert [r.body["model"] for r in model.requests] == ["one-model", "other-model"]
    assert model.request(1).prompts == ["second session"]

    ask(terminal, "/resume")
    terminal.wait_for("Resume a session")
    terminal.wait_for("first session")
    terminal.send("\r")
    terminal.wait_for("Answer 0 it is.")
    assert "second session" not in terminal.text
    ask(terminal, "!printf 'in%s\\n' line")
    terminal.wait_for("inline")
    ask(terminal, "back again")
    idle_after(terminal, "Answer 2 it is.")
    first, second = model.request(2).prompts
    assert first == "first session"
    assert "inline" in second  # the user's own command goes along with the next prompt
    assert second.endswith("back again")

    ask(terminal, "/nonsense")
    terminal.wait_for("there is no command /nonsense")
    ask(terminal, "/exit")
    assert terminal.wait_exit() == 0


def idle_after(terminal: Terminal, answer: str) -> None:
    terminal.wait_for(lambda text: answer in text and "to interrupt" not in text and READY in text)
