"""Handing a conversation to another model (B40–B44)."""

from __future__ import annotations

import pytest

from rho_core.history.handoff import (
    is_portable_fallback,
    portable_fallback,
    prepare_assistant,
    replays_to,
    report_message_omissions,
    with_portable_fallback,
)
from rho_core.history.messages import (
    PORTABLE_FALLBACK_KIND,
    AbortedAssistant,
    AssistantMessage,
    EnrichedAssistant,
    ModelIdentity,
    ProviderContextBlock,
    Text,
    UserMessage,
)

HERE = ModelIdentity("acme", "chat", "m1")
THERE = ModelIdentity("acme", "chat", "m2")
OPAQUE = ProviderContextBlock("signature", HERE, {"s": 1}, 0)
SUMMARY = Text("<reasoning_summary>\nthought hard\n</reasoning_summary>")


def turn(*context: ProviderContextBlock, summary: str | None = "thought hard") -> EnrichedAssistant:
    return EnrichedAssistant((Text("answer"),), HERE, summary, context)


@pytest.mark.clause("B40")
@pytest.mark.parametrize(
    ("target", "replays"),
    [
        (HERE, True),
        (THERE, False),
        (ModelIdentity("acme", "responses", "m1"), False),
        (ModelIdentity("other", "chat", "m1"), False),
    ],
)
def test_opaque_context_replays_only_to_the_exact_identity(target, replays) -> None:
    assert replays_to(OPAQUE, target) is replays
    prepared = prepare_assistant(turn(OPAQUE, summary=None), target)
    assert prepared.replay == ((OPAQUE,) if replays else ())
    assert prepared.content == (Text("answer"),)


@pytest.mark.clause("B42")
def test_reasoning_summaries_are_portable_but_opaque_context_is_not() -> None:
    assert prepare_assistant(turn(OPAQUE), HERE).content == (Text("answer"),)
    foreign = prepare_assistant(turn(OPAQUE), THERE)
    assert foreign.content == (Text("answer"), SUMMARY)
    assert foreign.replay == ()
    assert prepare_assistant(turn(OPAQUE, summary=" \n"), THERE).content == (Text("answer"),)


@pytest.mark.clause("B42")
def test_a_mix_keeps_what_replays_and_adds_no_text() -> None:
    foreign = ProviderContextBlock("other", THERE, 1)
    prepared = prepare_assistant(turn(OPAQUE, foreign), HERE)
    assert prepared.replay == (OPAQUE,)
    assert prepared.content == (Text("answer"),)


@pytest.mark.clause("B42", "B43")
def test_the_portable_fallback_is_sent_only_when_nothing_replays_and_beats_the_summary() -> None:
    message = with_portable_fallback(turn(OPAQUE), "stand-in")
    assert prepare_assistant(message, HERE).content == (Text("answer"),)
    assert prepare_assistant(message, HERE).replay == (OPAQUE,)
    assert prepare_assistant(message, THERE).content == (Text("answer"), Text("stand-in"))
    blank = with_portable_fallback(turn(OPAQUE), "  ")
    assert prepare_assistant(blank, THERE).content == (Text("answer"), SUMMARY)


@pytest.mark.clause("B43")
def test_setting_a_fallback_replaces_the_earlier_one() -> None:
    twice = with_portable_fallback(with_portable_fallback(turn(OPAQUE), "one"), "two")
    assert portable_fallback(twice) == "two"
    assert len(twice.provider_context) == 2
    assert twice.provider_context[1].identity == HERE
    unknown = with_portable_fallback(EnrichedAssistant(()), "x")
    assert unknown.provider_context[0].identity == ModelIdentity("", "", "")


@pytest.mark.clause("B43")
@pytest.mark.parametrize(("data", "position"), [(1, None), (None, None), ("text", 0)])
def test_malformed_portable_metadata_remains_provider_context(data, position) -> None:
    block = ProviderContextBlock(PORTABLE_FALLBACK_KIND, HERE, data, position)
    message = turn(block)
    assert not is_portable_fallback(block)
    assert portable_fallback(message) is None
    assert prepare_assistant(message, HERE).replay == (block,)
    assert report_message_omissions([message], THERE).omitted_kinds == (PORTABLE_FALLBACK_KIND,)


@pytest.mark.clause("B40")
def test_a_portable_fallback_never_replays_as_context() -> None:
    message = with_portable_fallback(turn(summary=None), "stand-in")
    prepared = prepare_assistant(message, HERE)
    assert prepared.replay == ()
    assert prepared.content == (Text("answer"), Text("stand-in"))


@pytest.mark.clause("B41")
def test_the_report_counts_blocks_and_names_kinds_once() -> None:
    other = ProviderContextBlock("a-kind", HERE, 1)
    history = [
        UserMessage.of_text("hi"),
        AssistantMessage((Text("legacy"),)),
        with_portable_fallback(turn(OPAQUE, other), "x"),
        AbortedAssistant((), provider_context=(OPAQUE,)),
    ]
    report = report_message_omissions(history, THERE)
    assert report.omitted_count == 3
    assert report.omitted_kinds == ("a-kind", "signature")
    assert report.has_omissions
    assert not report_message_omissions(history, HERE).has_omissions


@pytest.mark.clause("B42")
def test_an_aborted_turn_hands_over_its_summary_and_a_legacy_turn_is_left_alone() -> None:
    aborted = AbortedAssistant((Text("par"),), "thought hard", (OPAQUE,))
    assert prepare_assistant(aborted, THERE).content == (Text("par"), SUMMARY)
    assert prepare_assistant(aborted, HERE).replay == (OPAQUE,)
    legacy = AssistantMessage((Text("old"),))
    assert prepare_assistant(legacy, THERE).content == (Text("old"),)


@pytest.mark.clause("B44", "D46")
@pytest.mark.parametrize("target", [HERE, THERE])
def test_an_async_marker_is_neither_replayed_nor_omitted_and_suppresses_text(target) -> None:
    message = turn(ProviderContextBlock.async_tool_call(HERE, "call"))
    prepared = prepare_assistant(message, target)
    assert prepared.content == (Text("answer"),)
    assert prepared.replay == ()
    assert not report_message_omissions([message], target).has_omissions
