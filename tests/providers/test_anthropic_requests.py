"""Requests of the Messages adapter, judged by the vendor's own types."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from rho_core.history.messages import (
    AbortedAssistant,
    AssistantMessage,
    EnrichedAssistant,
    Image,
    Message,
    ModelIdentity,
    ProviderContextBlock,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    tool_image_supplement,
)
from rho_core.json_values import freeze
from rho_core.providers.anthropic import AnthropicProvider
from rho_core.providers.anthropic_models import ThinkingStyle, anthropic_model
from rho_core.providers.anthropic_request import THINKING_KIND
from rho_core.providers.contract import ModelRequest, ServiceTier
from rho_core.reasoning import ReasoningLevel
from tests.providers.harness import spec
from tests.providers.sdk_params import accepted_messages_body

GO = UserMessage.of_text("go")
CALL = ToolCall.of("toolu_1", "read_file", {"path": "a.txt"})
OTHER = ToolCall.of("toolu_2", "bash", {"command": "ls"})


def provider(**options: Any) -> AnthropicProvider:
    model = options.pop("model", "claude-sonnet-4-5")
    return AnthropicProvider("https://api.example.test", "key-key-key", model, **options)


def body_of(*messages: Message, options: dict[str, Any] | None = None, **request: Any) -> Any:
    return accepted_messages_body(
        provider(**(options or {})).request_body(ModelRequest(messages, **request))
    )


def thinking(identity: ModelIdentity, number: int, position: int) -> ProviderContextBlock:
    data = {"type": "thinking", "thinking": f"t{number}", "signature": f"s{number}"}
    return ProviderContextBlock(THINKING_KIND, identity, freeze(data), position)


def kinds(message: dict[str, Any]) -> list[str]:
    return [block["type"] for block in message["content"]]


def test_a_whole_conversation_is_what_the_sdk_type_describes() -> None:
    me = provider().identity
    supplement = tool_image_supplement("read_file", "toolu_1", [Image("aGk=", "image/png")])
    assert supplement is not None
    body = body_of(
        SystemMessage("Be brief."),
        UserMessage((Text("look"), Image("aGk=", "image/jpeg"))),
        EnrichedAssistant((Text("I look."), CALL, OTHER), me, None, (thinking(me, 1, 0),)),
        ToolResult("toolu_1", True, "text"),
        ToolResult("toolu_2", False, "denied"),
        supplement,
        UserMessage.of_text("and now?"),
        tools=(spec("bash", "command"), spec("list_dir")),
        reasoning=ReasoningLevel.HIGH,
        service_tier=ServiceTier.PRIORITY,
    )
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    assert kinds(body["messages"][1]) == ["thinking", "text", "tool_use", "tool_use"]
    assert kinds(body["messages"][2]) == ["tool_result", "tool_result", "text", "image", "text"]
    assert body["messages"][2]["content"][1]["is_error"] is True
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 16_384}
    assert body["max_tokens"] > 16_384
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" in body["tools"][-1]
    assert "cache_control" not in body["tools"][0]
    assert len(re.findall("cache_control", json.dumps(body))) == 4


@pytest.mark.clause("case:H16", "B40")
def test_thinking_goes_back_in_its_place_and_only_to_the_same_model() -> None:
    me = provider().identity
    redacted = ProviderContextBlock(
        THINKING_KIND, me, freeze({"type": "redacted_thinking", "data": "zzz"}), 2
    )
    turn = EnrichedAssistant(
        (CALL, OTHER), me, None, (thinking(me, 1, 0), thinking(me, 2, 1), redacted)
    )
    history = (GO, turn, ToolResult("toolu_1", True, "x"), ToolResult("toolu_2", True, "y"))
    body = body_of(*history)
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "t1", "signature": "s1"},
        {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}},
        {"type": "thinking", "thinking": "t2", "signature": "s2"},
        {"type": "tool_use", "id": "toolu_2", "name": "bash", "input": {"command": "ls"}},
        {"type": "redacted_thinking", "data": "zzz"},
    ]
    assert "thinking" in body
    elsewhere = body_of(*history, options={"model": "claude-opus-4-5"})
    assert kinds(elsewhere["messages"][1]) == ["tool_use", "tool_use"]
    # without the signed thoughts the API refuses a thinking budget inside this tool loop
    assert "thinking" not in elsewhere


def test_a_tool_loop_that_began_with_thinking_keeps_its_budget() -> None:
    me = provider().identity
    first = EnrichedAssistant((CALL,), me, None, (thinking(me, 1, 0),))
    second = EnrichedAssistant((OTHER,), me)
    body = body_of(
        GO, first, ToolResult("toolu_1", True, "x"), second, ToolResult("toolu_2", True, "")
    )
    assert "thinking" in body


@pytest.mark.clause("C72")
def test_users_are_merged_and_roles_alternate_whatever_the_history() -> None:
    body = body_of(
        AssistantMessage((Text("left over from a compaction"),)),
        AbortedAssistant((Text("cut"),)),
        UserMessage.of_text("one"),
        UserMessage.of_text("two"),
        AssistantMessage((Text("answer"),)),
    )
    assert [m["role"] for m in body["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert [b["text"] for b in body["messages"][2]["content"]] == ["one", "two"]


def test_blank_text_makes_no_block() -> None:
    body = body_of(
        UserMessage((Text(" \n"), Text("go"))),
        AssistantMessage((Text(""), CALL)),
        ToolResult("toolu_1", True, "  "),
    )
    assert kinds(body["messages"][0]) == ["text"]
    assert kinds(body["messages"][1]) == ["tool_use"]
    assert "content" not in body["messages"][2]["content"][0]
    assert body_of(UserMessage.of_text(""))["messages"][0]["content"][0]["text"] == "Continue."


@pytest.mark.clause("case:G1")
def test_results_follow_their_calls_even_when_history_lost_them() -> None:
    body = body_of(GO, AssistantMessage((CALL, OTHER)), UserMessage.of_text("go on"))
    results = body["messages"][2]["content"]
    assert [b.get("tool_use_id") for b in results] == ["toolu_1", "toolu_2", None]
    assert results[0]["content"] == "tool call interrupted before completion"


def test_ids_of_other_vendors_are_made_acceptable_and_stay_distinct() -> None:
    calls = (ToolCall.of("functions.a:0", "a", {}), ToolCall.of("functions.a.0", "a", {}))
    body = body_of(GO, AssistantMessage(calls), ToolResult("functions.a:0", True, "x"))
    used = [b["id"] for b in body["messages"][1]["content"]]
    assert len(set(used)) == 2
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", call_id) for call_id in used)
    assert [b["tool_use_id"] for b in body["messages"][2]["content"]] == used


@pytest.mark.parametrize(
    ("model", "style", "max_tokens"),
    [
        ("claude-3-haiku-20240307", ThinkingStyle.NONE, 4_096),
        ("claude-3-5-sonnet-20241022", ThinkingStyle.NONE, 8_192),
        ("claude-3-7-sonnet-20250219", ThinkingStyle.BUDGET, 64_000),
        ("claude-sonnet-4-20250514", ThinkingStyle.BUDGET, 32_000),
        ("claude-haiku-4-5-20251001", ThinkingStyle.BUDGET, 32_000),
        ("claude-opus-4-6", ThinkingStyle.ADAPTIVE, 64_000),
        ("claude-sonnet-5", ThinkingStyle.ADAPTIVE, 64_000),
        ("claude-mythos-preview", ThinkingStyle.ADAPTIVE, 64_000),
        ("qwen3-coder", ThinkingStyle.NONE, 8_192),
    ],
)
def test_a_model_is_judged_by_its_version(
    model: str, style: ThinkingStyle, max_tokens: int
) -> None:
    known = anthropic_model(model)
    assert (known.thinking, known.max_tokens) == (style, max_tokens)


@pytest.mark.parametrize("level", list(ReasoningLevel))
@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5", "claude-sonnet-5", "claude-3-haiku-20240307"]
)
def test_every_level_makes_a_valid_request(level: ReasoningLevel, model: str) -> None:
    body = body_of(GO, options={"model": model}, reasoning=level)
    sent = body.get("thinking", {})
    if sent.get("type") == "enabled":
        assert 1_024 <= sent["budget_tokens"] < body["max_tokens"]
    if level is ReasoningLevel.OFF:
        assert sent.get("type", "disabled") == "disabled"


def test_a_small_answer_limit_leaves_no_room_for_a_budget() -> None:
    body = body_of(GO, options={"max_output_tokens": 2_000})
    assert body["max_tokens"] == 2_000
    assert "thinking" not in body
