from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.cancellation import CancellationToken
from rho_core.errors import Cancelled
from rho_core.history.messages import (
    EnrichedAssistant,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from rho_core.providers.contract import ModelRequest, ToolCallDelta, ToolSpec
from rho_core.providers.demo import DEMO_IDENTITY, DemoProvider
from rho_core.providers.demo.intents import (
    AskMe,
    Find,
    Help,
    ListDir,
    Plan,
    Read,
    Replace,
    Run,
    Tour,
    parse_intent,
)
from rho_core.providers.demo.reply import fenced, file_text
from tests.providers.harness import run_turn, spec

TOOLS: tuple[ToolSpec, ...] = (
    spec("bash", "command", timeout_seconds="integer"),
    spec("grep", "pattern", path="string", literal="boolean", case_sensitive="boolean"),
    spec("list_dir", "path"),
    spec("questionnaire", "questions", title="string", on_timeout="object"),
    spec("read_file", "path", offset="integer", limit="integer"),
    spec("str_replace", "path", "old_string", "new_string", replace_all="boolean"),
    spec("write", "path", "content"),
)


class Host:
    """Plays the loop: runs the demo's calls through canned results until it stops calling."""

    def __init__(self, prompt: str, tools: tuple[ToolSpec, ...] = TOOLS) -> None:
        self.history: list[Message] = [UserMessage.of_text(prompt)]
        self.tools = tools
        self.provider = DemoProvider(seconds_per_word=0)
        self.text = ""

    async def next(self) -> ToolCall | None:
        response = await self.provider.send_turn(ModelRequest(tuple(self.history), self.tools))
        self.history.append(EnrichedAssistant(response.content, DEMO_IDENTITY))
        self.text = "".join(b.text for b in response.content if isinstance(b, Text))
        calls = [b for b in response.content if isinstance(b, ToolCall)]
        for call in calls:
            assert call.name in {tool.name for tool in self.tools}
        return calls[0] if calls else None

    def result(self, call: ToolCall, content: str, ok: bool = True) -> None:
        self.history.append(ToolResult(call.id, ok, content))

    async def expect(self, name: str, content: str, ok: bool = True) -> dict[str, Any]:
        call = await self.next()
        assert call is not None, self.text
        assert call.name == name
        self.result(call, content, ok)
        return dict(call.arguments)

    async def answer(self) -> str:
        assert await self.next() is None
        return self.text


@pytest.mark.parametrize(
    ("prompt", "intent"),
    [
        ("read README.md", Read("README.md")),
        ("Please read `src/a b.py`.", Read("src/a b.py")),
        ("cat @src/app.py", Read("src/app.py")),
        ("list", ListDir(".")),
        ("ls src", ListDir("src")),
        ("list files in src/", ListDir("src/")),
        ("list .", ListDir(".")),
        ("list ..", ListDir("..")),
        ("find TODO", Find("TODO")),
        ('search for "two words"', Find("two words")),
        ("replace foo with bar in a.py", Replace("foo", "bar", "a.py")),
        (
            "replace all 'a in b' by \"c with d\" in x.md",
            Replace("a in b", "c with d", "x.md", True),
        ),
        ("change 1 to 2 in n.txt", Replace("1", "2", "n.txt")),
        ("run ls -l | wc", Run("ls -l | wc")),
        ("$ pytest -q", Run("pytest -q")),
        ("ask me", AskMe()),
        ("Ask me something!", AskMe()),
        ("plan", Plan("")),
        ("plan a new parser", Plan("a new parser")),
        ("tour", Tour()),
        ("Take the tour!", Tour()),
        ("hello", Help()),
        ("read", Help()),
        ("", Help()),
        ("what is the meaning of life?", Help()),
    ],
)
def test_plain_requests_are_understood(prompt: str, intent: object) -> None:
    assert parse_intent(prompt) == intent


@settings(max_examples=100)
@given(st.text(max_size=60))
async def test_any_prompt_gets_an_answer(prompt: str) -> None:
    host = Host(prompt, ())
    assert await host.next() is None
    assert host.text


async def test_it_says_that_it_is_no_language_model() -> None:
    assert "not a language model" in await Host("who are you?").answer()


async def test_read_shows_the_file() -> None:
    host = Host("read src/a.py")
    assert await host.expect("read_file", "src/a.py\n1:x = 1\n2:```\n3:") == {"path": "src/a.py"}
    answer = await host.answer()
    assert "**3 lines**" in answer
    assert "````python\nx = 1\n```\n\n````" in answer


async def test_a_failed_read_is_told_and_quoted() -> None:
    host = Host("read nope")
    await host.expect("read_file", "could not open nope: no such file", ok=False)
    answer = await host.answer()
    assert "did not work" in answer
    assert "> could not open nope: no such file" in answer


async def test_list_counts_folders_and_files() -> None:
    host = Host("list")
    assert await host.expect("list_dir", "a.txt\nb/\nc.txt") == {"path": "."}
    assert "1 folder and 2 files" in await host.answer()
    empty = Host("list empty")
    await empty.expect("list_dir", "")
    assert "0 folders and 0 files" in await empty.answer()


async def test_find_searches_literally() -> None:
    host = Host("find a.b(")
    arguments = await host.expect("grep", "src/a.py\n3 | a.b(1)\n\n1 matches in 1 files")
    assert arguments == {"pattern": "a.b(", "literal": True, "case_sensitive": False}
    answer = await host.answer()
    assert "**1 matches in 1 files**" in answer
    assert "3 | a.b(1)" in answer


async def test_arguments_that_the_tool_does_not_know_are_left_out() -> None:
    host = Host("find x", (spec("grep", "pattern"),))
    assert await host.expect("grep", "no matches") == {"pattern": "x"}


async def test_replace_reads_then_edits() -> None:
    host = Host("replace foo with bar in a.py")
    await host.expect("read_file", "a.py\n1:foo")
    arguments = await host.expect("str_replace", "edited a.py; replaced 1 occurrence(s)\n\na.py")
    assert arguments == {"path": "a.py", "old_string": "foo", "new_string": "bar"}
    assert "**edited a.py; replaced 1 occurrence(s)**" in await host.answer()


async def test_replace_explains_an_ambiguous_match() -> None:
    host = Host("replace foo with bar in a.py")
    await host.expect("read_file", "a.py\n1:foo foo")
    await host.expect("str_replace", "ambiguous match: found 2 occurrences", ok=False)
    assert "replace all foo with bar in a.py" in await host.answer()


@pytest.mark.parametrize("prompt", ["run make", "replace a with b in c"])
async def test_a_denial_with_feedback_is_quoted_and_nothing_is_retried(prompt: str) -> None:
    host = Host(prompt)
    if prompt.startswith("replace"):
        await host.expect("read_file", "c\n1:a")
    name = "bash" if prompt.startswith("run") else "str_replace"
    await host.expect(name, "process capability denied: use tox instead", ok=False)
    answer = await host.answer()
    assert "said no" in answer
    assert "use tox instead" in answer


async def test_run_reports_success_and_failure() -> None:
    good = Host("run ls")
    assert await good.expect("bash", "stdout:\na\n\ntime: 0.1s") == {"command": "ls"}
    assert "**succeeded**" in await good.answer()
    bad = Host("run false")
    await bad.expect("bash", "time: 0.1s  exit code: 1", ok=False)
    assert "**failed**" in await bad.answer()


async def test_ask_me_reports_the_answers_and_their_source() -> None:
    host = Host("ask me")
    form = await host.expect(
        "questionnaire",
        '{"answers":[{"id":"language","answer":"Rust"},{"id":"wishes","answer":["a","b"]}],'
        '"source":"user"}',
    )
    ids = [question["id"] for question in form["questions"]]
    assert set(form["on_timeout"]["answers"]) <= set(ids)
    answer = await host.answer()
    assert "| language | Rust |" in answer
    assert "| wishes | a, b |" in answer
    timed = Host("ask me")
    await timed.expect("questionnaire", '{"answers":[],"source":"timeout_fallback"}')
    assert "timed out" in await timed.answer()


async def test_the_tour_leads_through_reading_question_change_and_command() -> None:
    host = Host("tour")
    await host.expect("list_dir", "a\nb/")
    assert "Welcome to Rho" in host.text
    await host.expect("questionnaire", '{"answers":[{"id":"greeting","answer":"Ahoy"}]}')
    written = await host.expect("write", "wrote")
    assert "# Ahoy!" in written["content"]
    edit = await host.expect("str_replace", "edited")
    assert edit["old_string"] in written["content"]
    await host.expect("bash", "stdout:\nx")
    answer = await host.answer()
    assert "rho --resume" in answer
    assert "run rm rho-tour.md" in answer


async def test_the_tour_goes_on_after_a_no() -> None:
    host = Host("tour")
    await host.expect("list_dir", "")
    await host.expect("questionnaire", "dismissed by the user", ok=False)
    await host.expect("write", "write capability denied: not here", ok=False)
    answer = await host.answer()
    assert "not here" in answer
    assert "That's the tour" in answer


async def test_only_offered_tools_are_called() -> None:
    answer = await Host("run ls", (spec("list_dir", "path"),)).answer()
    assert "`bash`" in answer
    assert "does not offer it" in answer
    tour = Host("tour", (spec("list_dir", "path"),))
    await tour.expect("list_dir", "a")
    assert "left out" in await tour.answer()


async def test_a_new_prompt_starts_over() -> None:
    host = Host("list")
    await host.expect("list_dir", "a")
    await host.answer()
    host.history.append(UserMessage.of_text("list b"))
    assert await host.expect("list_dir", "c") == {"path": "b"}


async def test_the_stream_is_paced_and_equals_the_answer() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    provider = DemoProvider(seconds_per_word=0.5, sleep=sleep)
    request = ModelRequest((UserMessage.of_text("tour"),), TOOLS)
    outcome = await run_turn(provider, request)
    assert outcome.response is not None
    text, call = outcome.response.content
    assert isinstance(text, Text)
    assert isinstance(call, ToolCall)
    assert outcome.text == text.text
    assert len(waits) > 20
    assert set(waits) == {0.5}
    deltas = outcome.of(ToolCallDelta)
    assert deltas[0] == ToolCallDelta(0, call.id, "list_dir")
    assert "".join(d.arguments for d in deltas) == '{"path":"."}'


async def test_cancelling_ends_the_stream_at_once() -> None:
    token = CancellationToken()
    provider = DemoProvider(seconds_per_word=60)
    request = ModelRequest((UserMessage.of_text("help"),), TOOLS, cancellation=token)
    turn = asyncio.create_task(run_turn(provider, request))
    await asyncio.sleep(0)
    token.cancel()
    with pytest.raises(Cancelled):
        await asyncio.wait_for(turn, 1)


def test_a_fence_is_longer_than_any_inside_and_cut_lines_are_counted() -> None:
    assert fenced("````", "md") == "`````md\n````\n`````"
    assert fenced("1\n2\n3", lines=2).endswith("… and 1 more lines.")
    assert file_text("[a#9DC5]\n1:x\n2:\n\n[lines 1-2 of 9]") == "x\n"
