"""The scripted servers themselves: rules, strictness, and running as a process or in a thread."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.servers import AnthropicServer, Call, ChatServer, Facts, Rule, Scenario, Turn

ROOT = Path(__file__).resolve().parents[2]
HELLO = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def post(url: str, body: dict[str, Any]) -> tuple[int, str]:
    request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_rules_look_at_results_and_prompt() -> None:
    scenario = Scenario.from_json(
        {
            "rules": [
                {"user_contains": "stop", "turn": {"text": "stopped"}},
                {
                    "tool_results_below": 2,
                    "turn": {"calls": [{"name": "read", "arguments": {"path": "f{results}"}}]},
                },
            ],
            "otherwise": {"text": "read {results} in request {n}"},
        }
    )
    assert scenario.answer(Facts(0, 0, "stop")).text == "stopped"
    call = scenario.answer(Facts(4, 1, "go")).calls[0]
    assert (call.id, call.arguments) == ("call_4_0", {"path": "f1"})
    assert scenario.answer(Facts(5, 2, "go")).text == "read 2 in request 5"


def test_an_answer_can_use_the_tag_of_the_last_view() -> None:
    edit = Turn(calls=(Call("edit", {"input": "[a.py#{tag}]\nCUT 1"}),))
    views = ("[a.py#00FF]\n1:x", "[a.py#1A2B]\n1:y\n2:[b#1111] is no header")
    [call] = Scenario.of(edit).answer(Facts(1, 2, "go", views)).calls
    assert call.arguments == {"input": "[a.py#1A2B]\nCUT 1"}


def test_a_misspelt_scenario_is_refused() -> None:
    with pytest.raises(ValueError, match="textt"):
        Scenario.from_json({"turns": [{"textt": "x"}]})


def test_turns_come_in_order_and_the_last_repeats() -> None:
    scenario = Scenario.of([Turn(text="a"), Turn(text="b")])
    assert [scenario.answer(Facts(n, 0, "")).text for n in range(3)] == ["a", "b", "b"]


def test_a_server_in_a_thread_serves_synchronous_code() -> None:
    with ChatServer(Turn(text="hi")).in_thread() as server:
        status, body = post(server.base_url + "/chat/completions", HELLO)
        assert status == 200
        assert body.endswith("data: [DONE]\n\n")
        assert server.requests[0].body == HELLO


@pytest.mark.clause("C72")
@pytest.mark.parametrize(
    "messages",
    [
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": "{}"}}],
            }
        ],
        [{"role": "tool", "tool_call_id": "a", "content": "x"}],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": "{"}}],
            },
            {"role": "tool", "tool_call_id": "a", "content": "x"},
        ],
    ],
)
def test_a_strict_chat_server_refuses_unpaired_calls(messages: list[Any]) -> None:
    with ChatServer(Turn(text="hi")).in_thread() as server:
        status, _ = post(server.base_url + "/chat/completions", {"messages": messages})
    assert status == 400


@pytest.mark.clause("C72")
@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": [{"type": "text", "text": "x"}]}],
        [{"role": "user", "content": [{"type": "text", "text": " "}]}],
        [{"role": "user", "content": [{"type": "text", "text": "x"}]}] * 2,
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}],
    ],
)
def test_a_strict_messages_server_refuses_what_the_vendor_refuses(messages: list[Any]) -> None:
    with AnthropicServer(Turn(text="hi")).in_thread() as server:
        status, _ = post(server.base_url + "/v1/messages", {"messages": messages})
    assert status == 400


def test_facts_count_the_results_since_the_last_prompt() -> None:
    chat = ChatServer(Turn()).facts(
        3,
        {
            "messages": [
                {"role": "user", "content": "one"},
                {"role": "tool", "content": "old"},
                {"role": "user", "content": [{"type": "text", "text": "two"}]},
                {"role": "assistant", "content": None},
                {"role": "tool", "content": "new"},
            ]
        },
    )
    assert chat == Facts(3, 1, "two", ("new",))
    result = {"type": "tool_result", "tool_use_id": "a", "content": "new"}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "two"}]},
        {"role": "assistant", "content": [{"type": "tool_use"}]},
        {"role": "user", "content": [result, result]},
    ]
    found = AnthropicServer(Turn()).facts(3, {"messages": messages})
    assert found == Facts(3, 2, "two", ("new", "new"))


@pytest.mark.parametrize(
    ("kind", "path"), [("chat", "/chat/completions"), ("anthropic", "/v1/messages")]
)
def test_the_command_serves_a_scenario_from_a_file(tmp_path: Path, kind: str, path: str) -> None:
    scenario = tmp_path / "scenario.json"
    scenario.write_text('{"turns": [{"text": "from the file", "chunk_chars": 100}]}', "utf-8")
    record = tmp_path / "requests.jsonl"
    command = [sys.executable, "-m", "tests.servers", kind, "--scenario", str(scenario)]
    command += ["--record", str(record), "--until-stdin-closes"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        base_url = json.loads(process.stdout.readline())["base_url"]
        status, body = post(base_url + path, HELLO)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 0
    assert status == 200
    assert "from the file" in body
    assert json.loads(record.read_text("utf-8")) == HELLO


def test_interleaved_calls_take_turns() -> None:
    calls = (Call("a", {"x": "1"}, "i"), Call("b", {"y": "2"}, "j"))
    server = ChatServer(Scenario(rules=(Rule(Turn()),)))
    turn = Turn(calls=calls, argument_chars=5, interleave_calls=True)
    content, _ = server.events(turn, {})
    indexes = [json.loads(e[6:])["choices"][0]["delta"].get("tool_calls") for e in content[1:]]
    assert [entry[0]["index"] for entry in indexes] == [0, 1, 0, 1, 0, 1]


def test_a_request_that_makes_no_sense_is_answered_all_the_same() -> None:
    with AnthropicServer(Turn(text="hi")).in_thread() as server:
        status, body = post(server.base_url + "/v1/messages", {"messages": [5]})
        assert status == 400
        assert "malformed request" in body
        assert post(server.base_url + "/elsewhere", {})[0] == 404
