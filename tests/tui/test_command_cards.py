"""What a command printed looks the same while it runs, when it is done, and when it is resumed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core import events as run
from rho_core.errors import ToolErrorKind
from rho_core.history.messages import ToolCall
from rho_core.ids import ToolCallId
from rho_core.json_values import freeze
from rho_core.tooling.execution import interrupted
from rho_core.tooling.values import (
    ToolCompletion,
    ToolFailed,
    ToolMetadata,
    ToolOutput,
    ToolProgress,
    ToolSucceeded,
)
from rho_core.tools.shell.capture import OutputCapture
from rho_core.tools.shell.command import CommandExit
from rho_core.tools.shell.report import shell_report
from rho_core.tools.shell.run import ShellResult
from rho_tui.host.live_output import LOOK_BACK, MAX_OUTPUT_TAIL, output_tail
from rho_tui.transcript.blocks import ShellBody, ToolCard
from rho_tui.transcript.layout import Space, lay_out
from rho_tui.transcript.reducer import TranscriptReducer
from rho_tui.transcript.rows import Run, all_rows
from rho_tui.transcript.sink import BlockList
from rho_tui.transcript.tool_cards import MAX_LIVE_OUTPUT, CallFacts, tool_card

COLOURED = "\x1b[32mok\x1b[0m    pricing\n\x1b[1;38;5;200mnow\x1b[m\tand \x1b[7mthen\n"


def completion_of(stdout: str, stderr: str = "", code: int = 0) -> ToolCompletion:
    """What `bash` makes of this output."""
    capture = OutputCapture(64_000)
    capture.feed(0, stdout.encode())
    capture.feed(1, stderr.encode())
    report = shell_report(
        ShellResult(CommandExit(code, 0.5), capture, False), 64_000, timeout_seconds=None
    )
    metadata = ToolMetadata().with_details(**report.facts)
    if code == 0:
        return ToolSucceeded(ToolOutput(report.text, metadata))
    return ToolFailed(ToolErrorKind.EXECUTION, report.text, metadata)


def body_of(card: ToolCard) -> list[tuple[Run, ...]]:
    """The runs of the output's rows, the header and the facts left out."""
    rows = all_rows(lay_out(card, Space(60, max_card_rows=99)))
    facts = 1 + len(card.facts)
    return [tuple(run for run in row.runs if run[0].strip()) for row in rows[facts:]]


def bash(completion: ToolCompletion | None = None, live: str = "") -> ToolCard:
    return tool_card(CallFacts("bash", {"command": "x"}, completion=completion, live_output=live))


@pytest.mark.clause("APP2.29")
@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_finished_command_looks_as_it_did_while_it_ran(code: int, stream: str) -> None:
    live = body_of(bash(live=COLOURED))
    finished = body_of(bash(completion_of(code=code, **{"stdout": "", stream: COLOURED})))
    assert finished == live
    assert {key for row in live for _, key in row} == {
        "fg:2",
        "",
        "bold fg:200",
        "reverse",
    }


def test_labels_of_two_streams_have_no_colour_of_theirs() -> None:
    rows = body_of(bash(completion_of("\x1b[31mout", "\x1b[34merr")))
    assert rows == [
        (("stdout:", ""),),
        (("out", "fg:1"),),
        (),
        (("stderr:", ""),),
        (("err", "fg:4"),),
    ]


def test_a_background_process_shows_its_colours() -> None:
    from rho_core.tools.process.managed import ProcessState, ProcessStatus
    from rho_core.tools.process.notice import snapshot_text
    from rho_core.tools.process.output import OutputWindow

    window = OutputWindow(COLOURED, "", next=1, first=None, pending=False)
    status = ProcessStatus(ProcessState.RUNNING, 1.0)
    styled = snapshot_text("id", status, window)
    metadata = ToolMetadata().with_details(state="running", styles=styled.styles())
    completion = ToolSucceeded(ToolOutput(styled.text, metadata))
    card = tool_card(CallFacts("process", {"action": "poll"}, completion=completion))
    assert body_of(card) == body_of(bash(live=COLOURED))


@settings(max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 99) | st.text("0;m\x1b[]:", max_size=4),
        lambda inner: st.lists(inner, max_size=4),
        max_leaves=12,
    )
)
def test_a_session_file_cannot_smuggle_escapes_in_by_the_colours(styles: Any) -> None:
    metadata = ToolMetadata(details=freeze({"duration_seconds": 1, "styles": styles}))
    card = bash(ToolFailed(ToolErrorKind.EXECUTION, "stdout:\nhello\n\ntime: 1.0s", metadata))
    (body,) = card.bodies
    assert isinstance(body, ShellBody)
    assert re.sub(r"\x1b\[[0-9;:]*m", "", body.text) == "hello"
    assert "".join(text for row in body_of(card) for text, _ in row) == "hello"


def drawn(*events: Any) -> ToolCard:
    sink = BlockList()
    reducer = TranscriptReducer(sink)
    reducer.fold(run.ToolProposed(ToolCall.of("c", "bash", {"command": "x"})))
    reducer.fold(run.ToolStarted(ToolCallId("c"), "bash", ToolMetadata()))
    for event in events:
        reducer.fold(event)
    (card,) = sink.blocks.values()
    assert isinstance(card, ToolCard)
    return card


def printed(text: str) -> run.ToolUpdated:
    return run.ToolUpdated(ToolCallId("c"), ToolProgress(output_delta=text))


@pytest.mark.clause("case:A8")
def test_the_card_of_a_command_that_never_stops_printing_is_bounded() -> None:
    piece = "y\n" * 8_192
    card = drawn(*[printed(piece)] * 100)
    (body,) = card.bodies
    assert isinstance(body, ShellBody)
    assert MAX_LIVE_OUTPUT / 2 < len(body.text) <= 2 * MAX_LIVE_OUTPUT + len(piece)
    short = drawn(*[printed("one\n")] * 3)
    assert short.bodies == (ShellBody("one\n" * 3),)


def test_an_interrupted_command_shows_what_the_session_keeps_of_it() -> None:
    output = "".join(f"\x1b[3{n % 8}mline {n}\x1b[0m\n" for n in range(5_000))
    end = run.ToolFinished(ToolCallId("c"), interrupted())
    live = drawn(printed(output), end)
    resumed = drawn(printed(output_tail(output)), end)
    assert live == resumed
    (body,) = live.bodies
    assert isinstance(body, ShellBody)
    assert body.text.endswith("line 4999\x1b[0m\n")
    assert body.text.startswith("\x1b[3")
    assert MAX_OUTPUT_TAIL * 3 / 4 < len(body.text) <= MAX_OUTPUT_TAIL


@settings(max_examples=60)
@given(st.integers(0, 12), st.sampled_from(["\x1b[1;31m", "\x1b[0m", "\x9b4m", "漢"]))
def test_the_cut_is_never_inside_an_escape_sequence(shift: int, token: str) -> None:
    output = "x" * 500 + token + "y" * (100 - shift)
    tail = output_tail(output, 100).lstrip("x")
    assert set(tail) <= {"y", "漢"} or tail.startswith(token)
    assert output_tail(output[-100 - LOOK_BACK :], 100) == output_tail(output, 100)
