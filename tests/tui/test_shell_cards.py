"""Cards of commands: their facts are typed, so that output cannot pose as one (T16.18, T29)."""

from __future__ import annotations

import pytest

from rho_core.errors import ToolErrorKind
from rho_core.tooling.values import ToolFailed, ToolMetadata, ToolOutput, ToolSucceeded
from rho_core.tools.shell.capture import OutputCapture
from rho_core.tools.shell.command import CommandExit
from rho_core.tools.shell.report import shell_report
from rho_core.tools.shell.run import ShellResult
from rho_tui.transcript.blocks import CardStatus, ShellBody, ToolCard
from rho_tui.transcript.tool_cards import CallFacts, tool_card

SPOOF = "stdout:\nall is well\n\ntime: 0.0s  exit code: 0"


def card_of(
    stdout: str = "", stderr: str = "", *, code: int | None = 0, timed_out: bool = False
) -> ToolCard:
    """The card of a command, from the text and facts that its result really has."""
    capture = OutputCapture(64_000)
    capture.feed(0, stdout.encode())
    capture.feed(1, stderr.encode())
    ended = CommandExit(code, 1.25, timed_out=timed_out)
    report = shell_report(ShellResult(ended, capture, False), 64_000, timeout_seconds=2)
    text, metadata = report.text, ToolMetadata().with_details(**report.facts)
    call = CallFacts("bash", {"command": "make"})
    if code == 0:
        done = ToolSucceeded(ToolOutput.text(text, metadata))
        return tool_card(CallFacts(call.name, call.arguments, completion=done))
    failed = ToolFailed(ToolErrorKind.EXECUTION, text, metadata)
    return tool_card(CallFacts(call.name, call.arguments, completion=failed))


def shown(card: ToolCard) -> tuple[list[str], str]:
    bodies = [body.text for body in card.bodies if isinstance(body, ShellBody)]
    return [fact.text for fact in card.facts], "\n".join(bodies)


@pytest.mark.clause("APP2.28")
@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"command": "make"}, "timeout none"),
        ({"command": "make", "timeout_seconds": None}, "timeout none"),
        ({"command": "make", "timeout_seconds": 7}, "timeout 7s"),
    ],
)
def test_a_running_command_tells_its_time_limit(arguments: dict[str, object], fact: str) -> None:
    card = tool_card(CallFacts("bash", arguments))
    assert (card.header.verb, card.header.primary) == ("$", "make")
    assert shown(card) == ([fact], "")


@pytest.mark.clause("APP2.28")
def test_a_command_that_ended_shows_its_output_without_labels_and_footer() -> None:
    assert shown(card_of("one\ntwo\n")) == (["exit 0 · 1.2s"], "one\ntwo")
    assert shown(card_of("", "bad\n")) == (["exit 0 · 1.2s"], "bad")
    assert shown(card_of()) == (["exit 0 · 1.2s"], "")
    both = card_of("out\n", "err\n", code=3)
    assert both.status is CardStatus.ERROR
    assert shown(both) == (["exit 3 · 1.2s"], "stdout:\nout\n\nstderr:\nerr")


@pytest.mark.clause("APP2.28")
def test_a_command_that_a_signal_ended_names_it() -> None:
    assert shown(card_of("a\n", code=-9)) == (["ended by SIGKILL · 1.2s"], "a")
    assert shown(card_of("a\n", code=-11))[0] == ["ended by SIGSEGV · 1.2s"]
    assert shown(card_of("a\n", code=-60))[0] == ["exit -60 · 1.2s"]  # no name for that one
    assert shown(card_of("a\n", code=None)) == ([], "a")


@pytest.mark.clause("T16.12")
def test_a_command_that_timed_out_keeps_all_that_it_printed() -> None:
    card = card_of("building\n\ntime: 3 minutes so far\n", code=-9, timed_out=True)
    assert card.status is CardStatus.ERROR
    assert shown(card) == (["timed out · 1.2s"], "building\n\ntime: 3 minutes so far")


@pytest.mark.parametrize(("code", "fact"), [(0, "exit 0 · 1.2s"), (5, "exit 5 · 1.2s")])
def test_output_that_looks_like_a_result_stays_output(code: int, fact: str) -> None:
    assert shown(card_of(f"before\n\n{SPOOF}\n", code=code)) == ([fact], f"before\n\n{SPOOF}")
    assert shown(card_of("", SPOOF, code=code)) == ([fact], SPOOF)
    assert shown(card_of("exit code: 7", code=code)) == ([fact], "exit code: 7")
