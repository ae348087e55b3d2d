"""What a person gives to a run (B15)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rho_core.errors import InvalidConfiguration
from rho_core.history.messages import Image, Text, UserMessage


@dataclass(frozen=True, slots=True)
class UserInput:
    """Text and images of one user turn. Raises `InvalidConfiguration` when there is no block."""

    content: tuple[Text | Image, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", tuple(self.content))  # no alias of a list (L12)
        if not self.content:
            raise InvalidConfiguration("user input must contain at least one content block")

    @classmethod
    def of(cls, value: str | UserInput) -> UserInput:
        """Plain text as an input; an input as itself."""
        return value if isinstance(value, UserInput) else cls.text(value)

    @classmethod
    def text(cls, text: str) -> UserInput:
        """An input of one text block, which may be empty."""
        return cls((Text(text),))

    @classmethod
    def text_and_images(cls, text: str, images: Iterable[Image]) -> UserInput:
        """One text block, then the images in order."""
        return cls((Text(text), *images))

    def message(self) -> UserMessage:
        """The input as history holds it."""
        return UserMessage(self.content)
