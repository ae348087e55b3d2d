"""An image that the provider refuses is left out, and the session lives on (case:H19)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.events import ProviderImagesWithheld, ProviderRequestRetry, ProviderStreamReset
from rho_core.history.messages import (
    Image,
    Message,
    Text,
    UserMessage,
    as_tool_image_supplement,
)
from rho_core.providers.contract import ImagesWithheld
from rho_core.providers.http_errors import Redactor, error_from_status
from rho_core.providers.image_refusal import REFUSED_IMAGE_TEXT, concerns_images
from rho_core.session import SessionOptions
from tests.providers.harness import anthropic, chat, request_of, run_turn
from tests.providers.test_real_loop import both, drive, runtime
from tests.servers import AnthropicServer, Call, ChatServer, Turn
from tests.tools.test_read_file import png

pytestmark = pytest.mark.clause("case:H19")

GOOD, BAD = Image("Z29vZA==", "image/png"), Image("YmFk", "image/png")
CHAT_WORDS = "unknown variant `image_url`, expected `text`"
ANTHROPIC_WORDS = "messages.2.content.1.image.source.base64.data: Could not process image"


class TextOnlyChat(ChatServer):
    """A model that reads text alone."""

    def complaint(self, body: dict[str, Any]) -> str | None:
        return CHAT_WORDS if '"image_url"' in json.dumps(body) else super().complaint(body)


class PickyAnthropic(AnthropicServer):
    """Refuses every image."""

    def complaint(self, body: dict[str, Any]) -> str | None:
        return ANTHROPIC_WORDS if '"base64"' in json.dumps(body) else super().complaint(body)


PICKY = {ChatServer: (TextOnlyChat, CHAT_WORDS), AnthropicServer: (PickyAnthropic, ANTHROPIC_WORDS)}


def shows(*images: Image) -> tuple[Message, ...]:
    return (UserMessage((Text("look"), *images)),)


@both
async def test_the_turn_goes_on_and_so_does_the_session(
    server_type: Any, connect: Any, tmp_path: Path
) -> None:
    picky, words = PICKY[server_type]
    (tmp_path / "shot.png").write_bytes(png())
    turns = [
        Turn(calls=(Call("read_file", {"path": "shot.png"}),)),
        Turn(text="never: this request is refused"),
        Turn(text="I cannot see it."),
        Turn(text="Still here."),
        Turn(text="never: refused again"),
        Turn(text="And resumed."),
    ]
    async with picky(turns) as server:
        async with connect(server) as provider:
            rho, _, clock = runtime(provider, tmp_path)
            session = await rho.session()
            async with session.start("what is in shot.png?") as run:
                events = await drive(run)
                assert (await run.outcome()).text == "I cannot see it."
            (told,) = [e for e in events if isinstance(e, ProviderImagesWithheld)]
            assert told.count == 1
            assert words in told.reason
            assert [type(e) for e in events if isinstance(e, ProviderRequestRetry)]
            assert not [e for e in events if isinstance(e, ProviderStreamReset)]
            assert clock.slept == []
            assert REFUSED_IMAGE_TEXT in server.turns[2].raw.decode()
            assert "read_file" in server.turns[2].raw.decode()
            async with session.start("thanks") as run:
                events = await drive(run)
                assert (await run.outcome()).text == "Still here."
            assert not [e for e in events if isinstance(e, ProviderImagesWithheld)]
            assert len(server.turns) == 4
            # history keeps what the tool returned: another model may see it
            supplements = [as_tool_image_supplement(message) for message in session.history]
            assert [len(s.images) for s in supplements if s is not None] == [1]
            rho.shutdown()
        async with connect(server) as provider:
            rho, _, _ = runtime(provider, tmp_path)
            again = await rho.session(SessionOptions.from_snapshot(session.snapshot()))
            async with again.start("and now?") as run:
                await drive(run)
                assert (await run.outcome()).text == "And resumed."
            rho.shutdown()


async def test_only_what_was_never_accepted_is_left_out() -> None:
    refusal = Turn(status=400, error="Invalid image data.")
    turns = [Turn(text="nice"), refusal, Turn(text="one of two"), Turn(text="still")]
    async with ChatServer(turns) as server, chat(server) as provider:
        await run_turn(provider, request_of(shows(GOOD)))
        outcome = await run_turn(provider, request_of(shows(GOOD, BAD)))
        assert outcome.text == "one of two"
        (told,) = outcome.of(ImagesWithheld)
        assert told.count == 1
        sent = server.turns[2].body["messages"][0]["content"]
        assert [part["type"] for part in sent] == ["text", "image_url", "text"]
        assert GOOD.data in sent[1]["image_url"]["url"]
        assert sent[2]["text"] == REFUSED_IMAGE_TEXT
        later = await run_turn(provider, request_of(shows(GOOD, BAD)))
        assert not later.of(ImagesWithheld)
        assert server.turns[3].body["messages"] == server.turns[2].body["messages"]


async def test_images_that_were_accepted_go_when_nothing_else_can() -> None:
    refusal = Turn(status=400, error="image dimensions exceed the limit for many-image requests")
    turns = [Turn(text="nice"), refusal, refusal, Turn(text="without any")]
    async with ChatServer(turns) as server, chat(server) as provider:
        await run_turn(provider, request_of(shows(GOOD)))
        outcome = await run_turn(provider, request_of(shows(GOOD, BAD)))
        assert outcome.text == "without any"
        assert [told.count for told in outcome.of(ImagesWithheld)] == [1, 1]
        assert "image_url" not in server.turns[3].raw.decode()
        assert isinstance(server.turns[3].body["messages"][0]["content"], str)


async def test_images_that_were_not_to_blame_are_sent_again() -> None:
    refusal = Turn(status=404, error="model my-image-model does not exist")
    turns = [refusal, refusal, Turn(text="fine")]
    async with ChatServer(turns) as server, chat(server) as provider:
        outcome = await run_turn(provider, request_of(shows(GOOD)))
        assert outcome.error is not None
        assert "my-image-model does not exist" in outcome.error.message
        assert len(server.turns) == 2
        again = await run_turn(provider, request_of(shows(GOOD)))
        assert again.text == "fine"
        assert GOOD.data in server.turns[2].raw.decode()


@pytest.mark.parametrize(
    ("messages", "turn"),
    [
        (shows(GOOD), Turn(status=400, error="temperature is out of range")),
        (shows(GOOD), Turn(status=401, error="this key has no access to image models")),
        (shows(), Turn(status=400, error="the image is too big")),
    ],
)
async def test_other_refusals_are_not_asked_again(
    messages: tuple[Message, ...], turn: Turn
) -> None:
    async with ChatServer(turn) as server, chat(server) as provider:
        outcome = await run_turn(provider, request_of(messages))
        assert outcome.error is not None
        assert turn.error in outcome.error.message
        assert not outcome.of(ImagesWithheld)
        assert len(server.turns) == 1


async def test_an_image_alone_leaves_a_message_that_is_not_empty() -> None:
    turns = [Turn(status=400, error="Could not process image"), Turn(text="what was it?")]
    async with AnthropicServer(turns) as server, anthropic(server) as provider:
        outcome = await run_turn(provider, request_of((UserMessage((BAD,)),)))
        assert outcome.text == "what was it?"
        (message,) = server.turns[1].body["messages"]
        assert [block["text"] for block in message["content"]] == [REFUSED_IMAGE_TEXT]


def refusal(status: int, message: str) -> ProviderError:
    body = json.dumps({"error": {"message": message}})
    return error_from_status(status, body, host="h", redact=Redactor())


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"),
        (400, "Image dimensions exceed max allowed size: 8000 pixels"),
        (400, "Invalid content type. image_url is only supported by certain models."),
        (400, "Failed to deserialize: unknown variant `image_url`, expected `text`"),
        (400, "llama-3 is not a multimodal model"),
        (400, "'messages.1.content' must be a string"),
        (404, "No endpoints found that support image input"),
        (422, "body.messages.0.content.list: value is not an image"),
        (413, "Request exceeds the maximum size"),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
    ],
)
def test_refusals_of_images_are_known_by_their_words(status: int, message: str) -> None:
    assert concerns_images(refusal(status, message))


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "max_tokens is too large"),
        (400, "prompt is too long: 210000 tokens"),
        (401, "no access to image models"),
        (429, "too many images a minute"),
        (500, "internal error while loading the image of the container"),
        (529, "overloaded"),
    ],
)
def test_other_errors_are_not_taken_for_them(status: int, message: str) -> None:
    assert not concerns_images(refusal(status, message))
    assert not concerns_images(ProviderError(ProviderErrorKind.INTERRUPTED, "image"))
