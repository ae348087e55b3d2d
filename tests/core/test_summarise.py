"""The summarising compactor: safe cuts, what the model reads, what survives (case:G8, case:G1)."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.cancellation import CancellationToken
from rho_core.errors import (
    Cancelled,
    InvalidConfiguration,
    ProviderError,
    ProviderErrorKind,
)
from rho_core.history.compaction import CompactionRequest
from rho_core.history.cutting import recent_cut, safe_cuts
from rho_core.history.messages import (
    AbortedAssistant,
    AssistantMessage,
    EnrichedAssistant,
    Image,
    Message,
    ModelIdentity,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    tool_calls_of,
    tool_image_supplement,
)
from rho_core.history.plain_transcript import render_transcript
from rho_core.history.summarise import (
    SUMMARY_PROMPT,
    SummarisingCompactor,
    as_summary,
    summary_message,
)
from rho_core.ids import RunId, SessionId
from rho_core.providers.contract import (
    ModelProvider,
    ModelRequest,
    ModelResponse,
    OutputDelta,
    ProviderEvents,
    UsageReported,
)
from rho_core.usage import ModelUsage
from tests.core.authorization import until


class FakeModel(ModelProvider):
    """Plays a list of texts and errors; reports usage for each attempt."""

    def __init__(self, *script: str | ProviderError) -> None:
        self.script = list(script)
        self.requests: list[ModelRequest] = []
        self.hold: asyncio.Event | None = None
        self.dropped = False

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("fake", "fake", "fake")

    async def send_turn(self, request: ModelRequest) -> ModelResponse:
        raise AssertionError("the compactor streams, to learn the usage")

    async def send_turn_stream(
        self, request: ModelRequest, events: ProviderEvents
    ) -> ModelResponse:
        self.requests.append(request)
        try:
            if self.hold is not None:
                await self.hold.wait()
        except asyncio.CancelledError:
            self.dropped = True
            raise
        for _ in range(40):  # more than the channel holds: somebody must drain it
            await events.send(OutputDelta("x"))
        await events.send(UsageReported(ModelUsage(input_tokens=10, cost_usd_micros=5)))
        answer = self.script.pop(0)
        if isinstance(answer, ProviderError):
            raise answer
        return ModelResponse((Text(answer),))

    @property
    def prompt(self) -> str:
        [message] = self.requests[-1].messages
        assert isinstance(message, UserMessage)
        [block] = message.content
        assert isinstance(block, Text)
        return block.text


def user(text: str) -> UserMessage:
    return UserMessage.of_text(text)


def calls(*ids: str) -> EnrichedAssistant:
    return EnrichedAssistant(tuple(ToolCall.of(i, "tool", {"of": i}) for i in ids))


def result(call_id: str, text: str = "ok") -> ToolResult:
    return ToolResult(call_id, True, text)


def request(*messages: Message, token: CancellationToken | None = None) -> CompactionRequest:
    return CompactionRequest(messages, token or CancellationToken(), SessionId("s"), RunId("r"))


async def no_sleep(_seconds: float) -> None:
    return None


BODY = (
    user("fix the bug"),
    calls("a", "b"),
    result("a"),
    result("b"),
    EnrichedAssistant((Text("fixed"),)),
    user("now test it"),
)


@pytest.mark.clause("case:G8")
def test_a_cut_never_falls_between_a_call_and_its_result() -> None:
    assert safe_cuts(BODY) == (0, 1, 4, 5, 6)
    assert safe_cuts(()) == (0,)
    assert safe_cuts((calls("a"), user("steer"), result("a"), user("x"))) == (0, 3, 4)


@pytest.mark.clause("case:G8")
def test_images_stay_with_their_result_and_dangling_calls_bind_nothing() -> None:
    shot = tool_image_supplement("tool", "a", [Image("x", "image/png")])
    assert shot is not None
    assert safe_cuts((calls("a"), result("a"), shot, user("x"))) == (0, 3, 4)
    assert safe_cuts((calls("lost"), user("x"))) == (0, 1, 2)
    assert safe_cuts((result("orphan"), user("x"))) == (0, 1, 2)


@pytest.mark.clause("case:G8")
def test_an_id_that_is_used_again_binds_only_to_the_nearest_call() -> None:
    pair = (calls("0"), result("0"))
    assert safe_cuts((*pair, *pair, *pair)) == (0, 2, 4, 6)


_STEPS = st.lists(
    st.one_of(
        st.just(("user", "")),
        st.tuples(st.just("call"), st.sampled_from("abc")),
        st.tuples(st.just("result"), st.sampled_from("abc")),
        st.tuples(st.just("aborted"), st.sampled_from("abc")),
    ),
    max_size=14,
)


@settings(max_examples=100)
@given(_STEPS, st.integers(0, 80))
@pytest.mark.clause("case:G8")
def test_no_result_is_ever_parted_from_the_call_before_it(steps: list, keep: int) -> None:
    build = {
        "user": lambda _: user("u"),
        "call": calls,
        "result": result,
        "aborted": lambda i: AbortedAssistant(calls(i).content),
    }
    history = [build[kind](name) for kind, name in steps]
    cut = recent_cut(history, keep)
    assert cut in safe_cuts(history)
    for index, message in enumerate(history[cut:], cut):
        if isinstance(message, ToolResult):
            callers = [
                place
                for place, other in enumerate(history[:index])
                if isinstance(other, EnrichedAssistant | AbortedAssistant)
                and message.id in [call.id for call in tool_calls_of(other.content)]
            ]
            assert not callers or callers[-1] >= cut


async def test_the_older_part_becomes_a_summary_and_the_rest_stays() -> None:
    model = FakeModel("  The bug is fixed.  ")
    system = SystemMessage("be good")
    history = (system, *BODY)
    output = await SummarisingCompactor(model, keep_recent=20).compact(request(*history))
    assert output.messages[0] == system
    assert as_summary(output.messages[1]) == "The bug is fixed."
    assert output.messages[2:] == BODY[4:]
    assert output.usage == ModelUsage(input_tokens=10, cost_usd_micros=5)
    [asked] = model.requests
    assert asked.tools == ()
    assert model.prompt.startswith(SUMMARY_PROMPT)
    assert "fix the bug" in model.prompt
    assert "now test it" not in model.prompt
    assert "be good" not in model.prompt


async def test_nothing_older_means_no_request_and_no_change() -> None:
    model = FakeModel()
    history = (SystemMessage("s"), *BODY)
    output = await SummarisingCompactor(model, keep_recent=10_000).compact(request(*history))
    assert output.messages == history
    assert output.usage is None
    assert model.requests == []


async def test_unanswered_input_at_the_end_survives_any_budget() -> None:
    model = FakeModel("sum")
    output = await SummarisingCompactor(model, keep_recent=0).compact(request(*BODY))
    assert output.messages == (summary_message("sum"), BODY[-1])


async def test_the_request_in_progress_keeps_its_words_when_the_cut_passes_it() -> None:
    model = FakeModel("sum")
    history = (user("please rename foo"), calls("a"), result("a"), calls("b"), result("b"))
    output = await SummarisingCompactor(model, keep_recent=45).compact(request(*history))
    assert output.messages == (summary_message("sum", "please rename foo"), *history[3:])
    assert as_summary(output.messages[0]) == "sum"


async def test_a_second_compaction_summarises_the_first_summary_too() -> None:
    model = FakeModel("second")
    history = (summary_message("first facts"), *BODY)
    output = await SummarisingCompactor(model, keep_recent=20).compact(request(*history))
    assert "first facts" in model.prompt
    assert [as_summary(message) for message in output.messages] == ["second", None, None]


async def test_retryable_failures_are_retried_with_growing_waits_and_counted() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    busy = ProviderError(ProviderErrorKind.UNAVAILABLE, "busy", retryable=True)
    slow = ProviderError(ProviderErrorKind.RATE_LIMIT, "slow", retryable=True, retry_after=7)
    model = FakeModel(busy, slow, "sum")
    compactor = SummarisingCompactor(model, keep_recent=0, sleep=sleep)
    output = await compactor.compact(request(*BODY))
    assert waits == [1.0, 7]
    assert output.usage == ModelUsage(input_tokens=30, cost_usd_micros=15)


@pytest.mark.parametrize(
    ("script", "kind", "attempts"),
    [
        ([ProviderError(ProviderErrorKind.AUTHENTICATION, "no")], "authentication", 1),
        (
            [ProviderError(ProviderErrorKind.TIMEOUT, "t", retryable=True) for _ in range(3)],
            "timeout",
            3,
        ),
        (["   "], "invalid_response", 1),
    ],
)
async def test_what_cannot_be_retried_is_raised(script, kind, attempts) -> None:
    model = FakeModel(*script)
    with pytest.raises(ProviderError) as caught:
        await SummarisingCompactor(model, keep_recent=0, sleep=no_sleep).compact(request(*BODY))
    assert caught.value.provider_kind == kind
    assert len(model.requests) == attempts


@pytest.mark.clause("B28", "J10")
async def test_cancellation_drops_the_request() -> None:
    model = FakeModel("sum")
    model.hold = asyncio.Event()
    token = CancellationToken()
    compactor = SummarisingCompactor(model, keep_recent=0)
    task = asyncio.create_task(compactor.compact(request(*BODY, token=token)))
    await until(lambda: bool(model.requests))
    token.cancel()
    with pytest.raises(Cancelled):
        await task
    assert model.dropped


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(InvalidConfiguration):
        SummarisingCompactor(FakeModel(), keep_recent=-1)


def test_the_transcript_shows_every_kind_of_message_and_cuts_long_parts() -> None:
    shot = tool_image_supplement("tool", "a", [Image("BASE64", "image/png")])
    assert shot is not None
    text = render_transcript(
        (
            SystemMessage("sys"),
            user("ask"),
            calls("a"),
            ToolResult("a", False, "y" * 500),
            shot,
            AssistantMessage((Text("old"),)),
            AbortedAssistant((Text("par"),)),
        ),
        max_part_bytes=100,
        max_bytes=10_000,
    )
    for expected in (
        "## System\nsys", "## User\nask", '[calls tool as a: {"of":"a"}]',
        "## Tool result a (failed)\n" + "y" * 100 + "\n[truncated]", "## Tool images",
        "[image image/png]", "## Assistant\nold", "## Assistant (cut off)\npar",
    ):  # fmt: skip
        assert expected in text
    assert "BASE64" not in text


def test_a_transcript_over_its_bound_drops_the_oldest_and_says_so() -> None:
    messages = tuple(user(f"message {index}") for index in range(100))
    text = render_transcript(messages, max_part_bytes=100, max_bytes=300)
    assert text.startswith("[")
    assert "older messages left out]" in text.splitlines()[0]
    assert text.endswith("message 99")
    assert len(text) < 400


def test_only_a_summary_is_a_summary() -> None:
    for message in (user("plain"), SystemMessage("x"), user("<conversation_summary>\nopen")):
        assert as_summary(message) is None
