"""Events become blocks: in place, in order, corrected by what is authoritative."""

from __future__ import annotations

from typing import Any

import pytest

from rho_core import events as run
from rho_core.errors import ProviderErrorKind, ToolErrorKind
from rho_core.history.messages import ToolCall
from rho_core.ids import HostInputId, ToolCallId
from rho_core.tooling.values import (
    ToolFailed,
    ToolMetadata,
    ToolOutput,
    ToolProgress,
    ToolSucceeded,
)
from rho_tui.host import facts
from rho_tui.transcript.blocks import (
    AssistantBlock,
    Block,
    CardStatus,
    DiffBody,
    ErrorBlock,
    NoticeBlock,
    ReasoningBlock,
    ShellBody,
    ToolCard,
    UserBlock,
)
from rho_tui.transcript.reducer import TranscriptReducer
from rho_tui.transcript.sink import BlockList

DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


def fold(*events: facts.ConversationEvent) -> list[Block]:
    sink = BlockList()
    reducer = TranscriptReducer(sink)
    for event in events:
        reducer.fold(event)
    return list(sink.blocks.values())


def call(name: str, call_id: str = "c1", **arguments: Any) -> run.ToolProposed:
    return run.ToolProposed(ToolCall.of(call_id, name, arguments))


def started(name: str, call_id: str = "c1", **metadata: Any) -> run.ToolStarted:
    return run.ToolStarted(ToolCallId(call_id), name, ToolMetadata(**metadata))


def succeeded(content: str = "", call_id: str = "c1", **metadata: Any) -> run.ToolFinished:
    output = ToolOutput(content, ToolMetadata(**metadata))
    return run.ToolFinished(ToolCallId(call_id), ToolSucceeded(output))


def only_card(blocks: list[Block]) -> ToolCard:
    (card,) = [block for block in blocks if isinstance(block, ToolCard)]
    return card


@pytest.mark.clause("APP2.15")
def test_text_reasoning_and_tools_keep_their_order() -> None:
    blocks = fold(
        facts.PromptAccepted("do it"),
        run.StepStarted(1, 10),
        run.ReasoningDelta("hm"),
        facts.ReasoningClosed(1.5),
        run.AssistantTextDelta("I "),
        run.AssistantTextDelta("read."),
        call("read_file", path="a"),
        facts.AssistantSettled("I read."),
    )
    assert [type(block) for block in blocks] == [
        UserBlock,
        ReasoningBlock,
        AssistantBlock,
        ToolCard,
    ]
    assert blocks[1] == ReasoningBlock("hm", elapsed=1.5)
    assert blocks[2] == AssistantBlock("I read.")


@pytest.mark.clause("APP2.14")
@pytest.mark.parametrize(
    ("streamed", "authoritative"),
    [("abc", "abc"), ("ab", "abc"), ("xyz", "abc"), ("", "abc")],
)
def test_the_settled_text_replaces_what_was_shown(streamed: str, authoritative: str) -> None:
    deltas = [run.AssistantTextDelta(streamed)] if streamed else []
    blocks = fold(run.StepStarted(1, 0), *deltas, facts.AssistantSettled(authoritative))
    assert blocks == [AssistantBlock(authoritative)]


def test_settling_reconciles_text_on_both_sides_of_reasoning() -> None:
    blocks = fold(
        run.AssistantTextDelta("one "),
        run.ReasoningDelta("hm"),
        run.AssistantTextDelta("two"),
        facts.AssistantSettled("one two!"),
    )
    assert [b.text for b in blocks if isinstance(b, AssistantBlock)] == ["one ", "two!"]


@pytest.mark.clause("APP2.38")
def test_a_stream_reset_takes_back_only_its_own_attempt() -> None:
    reset = run.ProviderStreamReset(
        run.RetryableFailureReset(ProviderErrorKind.UNAVAILABLE), "attempt 1 of 4"
    )
    blocks = fold(
        facts.PromptAccepted("p"),
        run.StepStarted(1, 0),
        run.AssistantTextDelta("kept"),
        facts.AssistantSettled("kept"),
        run.StepStarted(2, 0),
        run.ReasoningDelta("gone"),
        run.AssistantTextDelta("gone"),
        run.ToolCallUpdated(0, "c", "bash", '{"command":"ls'),
        reset,
        run.AssistantTextDelta("again"),
        facts.AssistantSettled("again"),
    )
    assert blocks == [UserBlock("p"), AssistantBlock("kept"), AssistantBlock("again")]


@pytest.mark.clause("APP2.26", "APP2.27")
def test_one_slot_from_the_first_argument_byte_to_the_result() -> None:
    sink = BlockList()
    reducer = TranscriptReducer(sink)
    reducer.fold(run.ToolCallUpdated(0, "c1", "bash", ""))
    assert not sink.blocks
    for piece in ('{"comm', 'and":"echo "', ""):
        reducer.fold(run.ToolCallUpdated(0, "c1", "bash", piece.replace('echo "', "echo ")))
    (block_id,) = sink.blocks
    assert only_card(list(sink.blocks.values())).header.primary == "echo "
    reducer.fold(call("bash", command="echo hi"))
    reducer.fold(started("bash"))
    reducer.fold(succeeded("hi\n", details={"exit_code": 0, "duration_seconds": 0.25}))
    assert list(sink.blocks) == [block_id]
    card = only_card(list(sink.blocks.values()))
    assert (card.header.primary, card.status) == ("echo hi", CardStatus.OK)
    assert [fact.text for fact in card.facts] == ["exit 0 · 0.2s"]


def test_results_out_of_order_stay_in_model_order() -> None:
    blocks = fold(
        call("read_file", "c1", path="a"),
        call("read_file", "c2", path="b"),
        started("read_file", "c1"),
        started("read_file", "c2"),
        succeeded("b", "c2", details={"lines": 1}),
        succeeded("a", "c1", details={"lines": 2}),
    )
    assert [b.header.primary for b in blocks if isinstance(b, ToolCard)] == ["a", "b"]
    assert [b.facts[0].text for b in blocks if isinstance(b, ToolCard)] == ["2 lines", "1 line"]


def test_live_output_grows_the_card() -> None:
    progress = [ToolProgress(output_delta=text) for text in ("one\n", "two\n")]
    blocks = fold(
        call("bash", command="make"),
        started("bash"),
        *[run.ToolUpdated(ToolCallId("c1"), p) for p in progress],
    )
    assert only_card(blocks).bodies == (ShellBody("one\ntwo\n"),)


def test_a_waiting_edit_leaves_its_diff_to_the_prompt_and_shows_it_again_afterwards() -> None:
    metadata = ToolMetadata(diff=DIFF, affected_paths=("x",))
    proposed = call("str_replace", path="x", old_str="a", new_str="b")
    request: Any = None
    asked = (
        proposed,
        started("str_replace"),
        facts.ApprovalAsked("a1", request, proposed.call, metadata),
    )
    card = only_card(fold(*asked))
    assert card.bodies == ()
    allowed = facts.ApprovalAnswered(
        "a1", ToolCallId("c1"), "str_replace", "x", facts.ApprovalVerdict.ALLOWED_ONCE
    )
    assert only_card(fold(*asked, allowed)).bodies == (DiffBody(DIFF, "x"),)
    assert any(fact.text == "waiting for your approval" for fact in card.facts)
    assert any(fact.text == "+1 -1 lines" for fact in card.facts)


def test_a_denial_shows_its_reason_and_keeps_no_waiting_mark() -> None:
    denial = ToolFailed(ToolErrorKind.POLICY_DENIED, "write capability denied: use tabs\nplease")
    blocks = fold(call("write", path="x", content=""), run.ToolFinished(ToolCallId("c1"), denial))
    card = only_card(blocks)
    assert card.status is CardStatus.ERROR
    assert [fact.text for fact in card.facts] == ["write capability denied: use tabs"]


@pytest.mark.clause("APP2.6")
def test_cancelling_marks_what_did_not_finish() -> None:
    blocks = fold(
        call("bash", command="sleep 9"),
        started("bash"),
        facts.TurnEnded(facts.TurnEndKind.CANCELLED),
    )
    assert only_card(blocks).status is CardStatus.INTERRUPTED
    assert blocks[-1] == NoticeBlock("model interrupted")


@pytest.mark.clause("APP2.5")
def test_a_failed_turn_keeps_partial_text_and_says_why() -> None:
    blocks = fold(
        run.AssistantTextDelta("half"),
        facts.AssistantSettled("half", aborted=True),
        facts.TurnEnded(facts.TurnEndKind.FAILED, message="provider failed: gone"),
    )
    assert blocks == [AssistantBlock("half"), ErrorBlock("provider failed: gone")]


def test_a_form_shows_its_labels_and_whether_it_timed_out() -> None:
    replies = (facts.QuestionReply("Colour?", ("blue",)), facts.QuestionReply("Why?", ()))
    timed = facts.QuestionTimedOut(ToolCallId("c1"), HostInputId("q"), replies, "reversible")
    blocks = fold(
        call("questionnaire", title="Look"),
        started("questionnaire"),
        timed,
        succeeded('{"answers":[],"source":"timeout_fallback"}'),
    )
    card = only_card(blocks)
    assert [fact.text for fact in card.facts] == [
        "no answer in time, the fallback was used: reversible",
        "Colour? blue",
        "Why? (left out)",
    ]


def test_raw_reasoning_hides_its_summary() -> None:
    blocks = fold(run.ReasoningDelta("raw"), run.ReasoningSummaryDelta("summary"))
    assert [b.text for b in blocks if isinstance(b, ReasoningBlock)] == ["raw"]
