"""The history of a session on the wire, request after request (B40-B44, C72, case:G1).

A provider keeps what it rendered of earlier messages. Whatever comes in between, a request must be
the very bytes that a provider which has seen nothing would send.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
)
from rho_core.json_values import freeze
from rho_core.providers import chat_request
from rho_core.providers.anthropic import AnthropicProvider
from rho_core.providers.http_provider import HttpProvider
from rho_core.providers.openai_chat import OpenAIChatProvider
from rho_core.providers.wire_json import encode_body
from tests.core.messages_strategies import messages
from tests.providers.harness import KEY, request_of

URL = "http://127.0.0.1:1/v1"
WIRES = {
    "chat": lambda: OpenAIChatProvider(URL, KEY, "m", replay_reasoning=True),
    "anthropic": lambda: AnthropicProvider(URL, KEY, "claude-sonnet-4"),
}
both = pytest.mark.parametrize("make", WIRES.values(), ids=WIRES)

_IDS = st.sampled_from(["a", "b", "c d"])
_TEXT = st.sampled_from(["", " ", "hello", 'quote " \\ \u2028 \U0001f600', "half \ud83d"])
_BLOCK = st.one_of(
    _TEXT.map(Text),
    st.builds(ToolCall.of, _IDS, st.sampled_from(["read", "no such.tool"]), st.just({"p": [1]})),
    st.just(Image("image/png", "aGk=")),
)
_CONTENT = st.lists(_BLOCK, max_size=3).map(tuple)


def _context(identity: ModelIdentity) -> st.SearchStrategy[tuple[ProviderContextBlock, ...]]:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    blocks = [
        ProviderContextBlock("anthropic.thinking.v1", identity, freeze(thinking), 0),
        ProviderContextBlock("openai.reasoning_content.v1", identity, "hm"),
        ProviderContextBlock.async_tool_call(identity, "a"),
    ]
    return st.lists(st.sampled_from(blocks), max_size=2).map(tuple)


def _message(identity: ModelIdentity) -> st.SearchStrategy[Message]:
    """Messages of any kind, and such whose calls, results and context belong together."""
    return st.one_of(
        messages,
        st.builds(UserMessage, _CONTENT),
        st.builds(AssistantMessage, _CONTENT),
        st.builds(
            EnrichedAssistant,
            _CONTENT,
            provenance=st.just(identity),
            reasoning_summary=st.sampled_from([None, "in short"]),
            provider_context=_context(identity),
        ),
        st.builds(AbortedAssistant, _CONTENT),
        st.builds(ToolResult, _IDS, st.booleans(), _TEXT),
        st.builds(SystemMessage, _TEXT),
    )


@both
@given(data=st.data())
def test_a_request_does_not_depend_on_the_requests_before_it(
    make: Callable[[], HttpProvider], data: st.DataObject
) -> None:
    used = make()
    known: list[Message] = []
    for _ in range(data.draw(st.integers(1, 4))):
        # a step adds at the end; a compaction, a reset or another session drops what was there
        kept = data.draw(st.lists(st.sampled_from(known), unique_by=id)) if known else []
        added = data.draw(st.lists(_message(used.identity), max_size=5))
        known = [*(known if data.draw(st.booleans()) else kept), *added]
        request = request_of(known)
        sent = encode_body(used.request_body(request))
        fresh = make().request_body(request)
        assert sent == encode_body(fresh)
        plain = json.loads(json.dumps(fresh).encode("ascii").decode())
        assert json.loads(sent) == _without_surrogates(plain)


def _without_surrogates(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def test_a_message_is_rendered_once_until_its_results_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendered: list[tuple[ToolResult, ...]] = []
    real = chat_request._assistant_messages

    def counting(turn: Any, replay_reasoning: bool) -> Any:
        rendered.append(turn.results)
        return real(turn, replay_reasoning)

    monkeypatch.setattr(chat_request, "_assistant_messages", counting)
    provider = OpenAIChatProvider(URL, KEY, "m")
    answer = EnrichedAssistant((ToolCall.of("a", "read", {}),))
    asked: list[Message] = [UserMessage.of_text("go"), answer]
    result = ToolResult("a", True, "done")
    for history in ([*asked], [*asked], [*asked, result], [*asked, result]):
        body = provider.request_body(request_of(history))
    assert [[r.content for r in results] for results in rendered] == [
        ["tool call interrupted before completion"],
        ["done"],
    ]
    assert body["messages"][-1]["content"] == "done"


def test_what_was_rendered_goes_with_its_message() -> None:
    provider = OpenAIChatProvider(URL, KEY, "m")
    history: list[Message] = [UserMessage.of_text("a"), AssistantMessage((Text("b"),))]
    encode_body(provider.request_body(request_of(history)))
    assert len(provider._replay._rendered) == 2
    del history[1]
    gc.collect()
    assert len(provider._replay._rendered) == 1
