"""Requests of the Chat Completions adapter, judged by the vendor's own types."""

from __future__ import annotations

from typing import Any

import pytest

from rho_core.history.messages import (
    AbortedAssistant,
    AssistantMessage,
    EnrichedAssistant,
    Image,
    Message,
    ModelIdentity,
    PartialToolCall,
    ProviderContextBlock,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    tool_image_supplement,
)
from rho_core.providers.chat_request import REASONING_KIND
from rho_core.providers.contract import ModelRequest, ServiceTier
from rho_core.providers.openai_chat import OpenAIChatProvider, ReasoningStyle
from rho_core.reasoning import ReasoningLevel
from tests.providers.harness import spec
from tests.providers.sdk_params import accepted_chat_body


def provider(**options: Any) -> OpenAIChatProvider:
    model = options.pop("model", "gpt-5")
    return OpenAIChatProvider("https://api.example.test/v1", "key-key-key", model, **options)


def body_of(*messages: Message, options: dict[str, Any] | None = None, **request: Any) -> Any:
    return accepted_chat_body(
        provider(**(options or {})).request_body(ModelRequest(messages, **request))
    )


CALL = ToolCall.of("call_1", "read_file", {"path": "a.txt"})
OTHER = ToolCall.of("call_2", "bash", {"command": "ls"})


def test_a_whole_conversation_is_what_the_sdk_type_describes() -> None:
    body = body_of(
        SystemMessage("Be brief."),
        UserMessage((Text("look"), Image("aGk=", "image/png"))),
        EnrichedAssistant((Text("I look."), CALL, OTHER)),
        ToolResult("call_1", True, "text"),
        ToolResult("call_2", False, "denied"),
        UserMessage.of_text("and now?"),
        tools=(spec("bash", "command"), spec("list_dir")),
        reasoning=ReasoningLevel.HIGH,
        prompt_cache_key="cache",
        service_tier=ServiceTier.PRIORITY,
    )
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    assert body["messages"][1]["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="
    assert body["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"path":"a.txt"}'
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["reasoning_effort"] == "high"
    assert body["prompt_cache_key"] == "cache"
    assert body["service_tier"] == "priority"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["bash", "list_dir"]


def test_text_only_input_is_a_plain_string_for_the_smallest_servers() -> None:
    assert body_of(UserMessage.of_text("hi"))["messages"] == [{"role": "user", "content": "hi"}]
    assert "tools" not in body_of(UserMessage.of_text("hi"))


@pytest.mark.clause("case:G1", "C72")
def test_a_call_without_result_gets_an_interrupted_one_right_after_it() -> None:
    body = body_of(AssistantMessage((CALL, OTHER)), ToolResult("call_2", True, "x"))
    tools = [(m["tool_call_id"], m["content"]) for m in body["messages"] if m["role"] == "tool"]
    assert tools == [("call_1", "tool call interrupted before completion"), ("call_2", "x")]


@pytest.mark.clause("D56")
def test_a_result_far_from_its_call_is_sent_next_to_it() -> None:
    body = body_of(
        UserMessage.of_text("go"),
        EnrichedAssistant((CALL,)),
        EnrichedAssistant((Text("meanwhile"),)),
        UserMessage.of_text("steer"),
        ToolResult("call_1", True, "late"),
    )
    assert [m["role"] for m in body["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


@pytest.mark.clause("C66", "C85")
def test_an_aborted_turn_is_replayed_as_text_without_its_calls() -> None:
    aborted = AbortedAssistant(
        (Text("I was about"), CALL), tool_calls=(PartialToolCall(None, "bash", '{"comm'),)
    )
    body = body_of(UserMessage.of_text("go"), aborted, UserMessage.of_text("again"))
    assistant = body["messages"][1]
    assert assistant["content"].startswith("I was about")
    assert "read_file, bash" in assistant["content"]
    assert "tool_calls" not in assistant
    assert [m["role"] for m in body_of(AbortedAssistant(()))["messages"]] == []


def test_tool_images_follow_the_results_as_user_content() -> None:
    supplement = tool_image_supplement("read_file", "call_1", [Image("aGk=", "image/png")])
    assert supplement is not None
    body = body_of(
        UserMessage.of_text("go"),
        AssistantMessage((CALL,)),
        ToolResult("call_1", True, ""),
        supplement,
    )
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "tool", "user"]
    assert [part["type"] for part in body["messages"][3]["content"]] == ["text", "image_url"]


@pytest.mark.clause("case:H13")
def test_an_invented_tool_name_is_replayed_in_allowed_characters() -> None:
    bad = ToolCall.of("c", "functions.bash:0 ☃", {})
    body = body_of(AssistantMessage((bad,)), ToolResult("c", False, "unavailable"))
    assert body["messages"][0]["tool_calls"][0]["function"]["name"] == "functions_bash_0__"


@pytest.mark.clause("B47")
@pytest.mark.parametrize(
    ("level", "sent"),
    [
        (ReasoningLevel.OFF, None),
        (ReasoningLevel.MINIMAL, "minimal"),
        (ReasoningLevel.MEDIUM, "medium"),
        (ReasoningLevel.MAX, "high"),
    ],
)
def test_reasoning_levels_are_moved_to_what_the_model_supports(
    level: ReasoningLevel, sent: str | None
) -> None:
    assert body_of(UserMessage.of_text("hi"), reasoning=level).get("reasoning_effort") == sent


def test_reasoning_is_not_asked_of_models_that_are_not_known_to_reason() -> None:
    assert "reasoning_effort" not in body_of(UserMessage.of_text("hi"), options={"model": "llama3"})
    forced = {"model": "llama3", "reasoning_style": ReasoningStyle.EFFORT}
    assert body_of(UserMessage.of_text("hi"), options=forced)["reasoning_effort"] == "medium"


@pytest.mark.clause("case:H17", "B40")
def test_reasoning_is_sent_back_only_where_asked_for_and_only_to_the_same_model() -> None:
    me = provider().identity
    stranger = ModelIdentity("openai", "chat_completions", "other")
    turn = EnrichedAssistant(
        (CALL,),
        me,
        provider_context=(
            ProviderContextBlock(REASONING_KIND, me, "mine"),
            ProviderContextBlock(REASONING_KIND, stranger, "theirs"),
        ),
    )
    history = (UserMessage.of_text("go"), turn, ToolResult("call_1", True, "x"))
    assert "reasoning_content" not in body_of(*history)["messages"][1]
    request = ModelRequest(history)  # no field of the vendor, hence not judged by its type
    kept = provider(replay_reasoning=True).request_body(request)["messages"][1]
    assert kept["reasoning_content"] == "mine"


@pytest.mark.clause("B42")
def test_a_summary_stands_in_for_reasoning_of_another_model() -> None:
    other = ModelIdentity("anthropic", "messages", "claude")
    turn = EnrichedAssistant((Text("done"),), other, "I weighed it.")
    body = body_of(UserMessage.of_text("go"), turn, UserMessage.of_text("next"))
    assert (
        "<reasoning_summary>\nI weighed it.\n</reasoning_summary>" in body["messages"][1]["content"]
    )
