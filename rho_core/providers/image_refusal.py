"""A provider refused an image: ask again without it, so that no session dies of one (case:H19).

History keeps the image; only what is sent changes. A provider object remembers what was refused
and what was accepted for as long as it lives: another model may see what this one cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.history.messages import ContentBlock, Image, Message, Text, UserMessage
from rho_core.providers.contract import ModelRequest

REFUSED_IMAGE_TEXT = "[there was an image here; the provider refused it, so you cannot see it]"

_NAMES_IMAGES = re.compile(
    r"image|\bvision\b|multi-?modal|mmproj"
    # servers of models that read text alone speak of the type of the content
    r"|content\b.{0,60}\bstring|HTTP 413",
    re.IGNORECASE | re.DOTALL,
)
_SAYS_NO = re.compile(
    r"not? (support|enabled|allowed|a multi)|unsupported|n't support|cannot|mmproj", re.IGNORECASE
)

ImageKey: TypeAlias = tuple[str, int, int]
"""Tells images apart within one process."""


class ImageMemory:
    """Which images the provider took and which it refused."""

    def __init__(self) -> None:
        self._accepted: set[ImageKey] = set()
        self._refused: set[ImageKey] = set()

    def without_refused(self, request: ModelRequest) -> ModelRequest:
        """The request with a note in place of every refused image."""
        if not self._refused:
            return request
        messages = tuple(self._cleared(message) for message in request.messages)
        return replace(request, messages=messages)

    def refuse(self, sent: ModelRequest, error: ProviderError) -> frozenset[ImageKey]:
        """The images of `sent` to leave out because of `error`; empty if it is not about images.

        Nobody says which image is meant: those that were never accepted are, else all of them.
        """
        keys = frozenset(_key(image) for image in _images(sent))
        if not keys or not concerns_images(error):
            return frozenset()
        refused = keys - self._accepted or keys
        self._refused |= refused
        return refused

    def accept(self, sent: ModelRequest) -> None:
        """The provider answered this request."""
        self._accepted.update(_key(image) for image in _images(sent))

    def forgive(self, keys: frozenset[ImageKey]) -> None:
        """The request was refused without them too: they were not to blame."""
        self._refused -= keys

    def _cleared(self, message: Message) -> Message:
        if not isinstance(message, UserMessage):
            return message
        content: list[ContentBlock] = []
        for block in message.content:
            refused = isinstance(block, Image) and _key(block) in self._refused
            content.append(Text(REFUSED_IMAGE_TEXT) if refused else block)
        return replace(message, content=tuple(content))


def concerns_images(error: ProviderError) -> bool:
    """Whether a refusal may be about the images of a request; asked again, the provider tells."""
    said = f"{error.message}\n{error.diagnostic or ''}"
    match error.provider_kind:
        case ProviderErrorKind.OTHER | ProviderErrorKind.CONTEXT_OVERFLOW:
            return not error.retryable and _NAMES_IMAGES.search(said) is not None
        case ProviderErrorKind.UNAVAILABLE:  # some local servers answer 500 to an image
            named = _NAMES_IMAGES.search(error.message)
            return named is not None and _SAYS_NO.search(error.message) is not None
        case _:
            return False


def _images(request: ModelRequest) -> Iterator[Image]:
    for message in request.messages:
        if isinstance(message, UserMessage):
            for block in message.content:
                if isinstance(block, Image):
                    yield block


def _key(image: Image) -> ImageKey:
    """Python keeps the hash of a text: megabytes are read once, not at every request."""
    return image.mime_type, len(image.data), hash(image.data)
