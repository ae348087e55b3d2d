"""Questions that a tool puts to the host, and their validated answers (section G).

`HostInputRequest.validate` is the only judge of an answer; a timeout fallback is an answer that
the request itself carries, never a timer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from rho_core.errors import InvalidHostResponse
from rho_core.ids import HostInputId


class HostInputDismissed(InvalidHostResponse):
    """The user closed the form without answering. Raised to whoever asked; the run goes on."""

    def __init__(self) -> None:
        super().__init__("the user dismissed the form without answering")


class SelectionMode(StrEnum):
    """Whether one or many choices may be picked."""

    ONE = "one"
    MANY = "many"


class DefaultSelection(StrEnum):
    """How a default is presented: preselected, or only focused. Never an automatic answer."""

    SELECTED = "selected"
    FOCUSED = "focused"


class HostInputSource(StrEnum):
    """Where an answer came from."""

    USER = "user"
    TIMEOUT_FALLBACK = "timeout_fallback"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True)
class HostChoice:
    """One option: the `value` that is answered and the `label` that is shown."""

    value: str
    label: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class HostQuestion:
    """One question of a form. Raises `InvalidHostResponse` when it cannot be asked (G2).

    `default_value` is presentation only and not validated: a string, or a list of strings.
    """

    id: str
    prompt: str
    choices: tuple[HostChoice, ...]
    selection: SelectionMode = SelectionMode.ONE
    allow_other: bool = False
    header: str | None = None
    help: str | None = None
    default_value: Any = None
    default_selection: DefaultSelection = DefaultSelection.SELECTED
    required: bool = True

    def __post_init__(self) -> None:
        if not self.id.strip():
            raise InvalidHostResponse("question id must not be blank")
        if not self.choices:
            raise InvalidHostResponse(f"question {self.id!r} has no choices")
        values = [choice.value for choice in self.choices]
        if len(set(values)) != len(values):
            raise InvalidHostResponse(f"question {self.id!r} has duplicate choice values")


@dataclass(frozen=True, slots=True)
class HostInputResponse:
    """Answers by question id, with their source. Compares by content."""

    answers: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    source: HostInputSource = HostInputSource.USER

    @classmethod
    def dismissed(cls) -> HostInputResponse:
        """The person closed the form without answering. Valid for every request, always empty.

        Whoever asked gets `HostInputDismissed`; it is never an answer and never consent.
        """
        return cls(source=HostInputSource.DISMISSED)

    def answer(self, question_id: str, values: Sequence[str]) -> HostInputResponse:
        """A copy with one more answer; the same id overwrites (G4)."""
        answers = {**self.answers, question_id: tuple(values)}
        return replace(self, answers=MappingProxyType(answers))

    def with_source(self, source: HostInputSource) -> HostInputResponse:
        """The same answers, tagged with another source."""
        return replace(self, source=source)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HostInputResponse):
            return NotImplemented
        return dict(self.answers) == dict(other.answers) and self.source is other.source

    def __hash__(self) -> int:
        return hash((frozenset(self.answers.items()), self.source))


@dataclass(frozen=True, slots=True)
class HostInputRequest:
    """A form put to the host. Build it with `questionnaire`."""

    id: HostInputId
    title: str | None
    questions: tuple[HostQuestion, ...]
    _fallback: HostInputResponse | None = None
    _fallback_reason: str | None = None

    @classmethod
    def questionnaire(
        cls, title: str | None, questions: Sequence[HostQuestion]
    ) -> HostInputRequest:
        """A form with a fresh id: at least one question, ids unique (G3)."""
        if not questions:
            raise InvalidHostResponse("a questionnaire needs at least one question")
        ids = [question.id for question in questions]
        if len(set(ids)) != len(ids):
            raise InvalidHostResponse("question ids must be unique")
        return cls(HostInputId(), title, tuple(questions))

    def with_timeout_fallback(self, response: HostInputResponse, reason: str) -> HostInputRequest:
        """Attach the answers a host may submit at its own deadline, and why (G9).

        Starts no timer. Only for safe, reversible decisions, never for authorization.
        """
        if not reason.strip():
            raise InvalidHostResponse("a timeout fallback needs a reason")
        self._validate_answers(response)
        tagged = response.with_source(HostInputSource.TIMEOUT_FALLBACK)
        return replace(self, _fallback=tagged, _fallback_reason=reason)

    @property
    def timeout_fallback(self) -> HostInputResponse | None:
        """The tagged fallback answers, if the request carries any (G10)."""
        return self._fallback

    @property
    def timeout_reason(self) -> str | None:
        """What the fallback means, in the asker's words."""
        return self._fallback_reason

    def validate(self, response: HostInputResponse) -> None:
        """Raise `InvalidHostResponse` unless `response` answers this request (G5, G12)."""
        if response.source is HostInputSource.TIMEOUT_FALLBACK:
            if self._fallback is None:
                raise InvalidHostResponse("the request carries no timeout fallback")
            if response != self._fallback:
                raise InvalidHostResponse("a timeout answer must equal the request's fallback")
            return
        if response.source is HostInputSource.DISMISSED:
            if response.answers:
                raise InvalidHostResponse("a dismissed form carries no answers")
            return
        self._validate_answers(response)

    def _validate_answers(self, response: HostInputResponse) -> None:
        known = {question.id for question in self.questions}
        for question_id in response.answers:
            if question_id not in known:
                raise InvalidHostResponse(f"answer for unknown question {question_id!r}")
        for question in self.questions:
            _validate_count(question, response.answers.get(question.id))
        for question in self.questions:
            _validate_values(question, response.answers.get(question.id, ()))


def _validate_count(question: HostQuestion, values: tuple[str, ...] | None) -> None:
    if values is None:
        if question.required:
            raise InvalidHostResponse(f"missing answer for required question {question.id!r}")
        return
    if not values and question.required:
        raise InvalidHostResponse(f"invalid answer count for question {question.id!r}")
    if len(values) > 1 and question.selection is SelectionMode.ONE:
        raise InvalidHostResponse(f"invalid answer count for question {question.id!r}")


def _validate_values(question: HostQuestion, values: tuple[str, ...]) -> None:
    if len(set(values)) != len(values):
        raise InvalidHostResponse(f"duplicate answer for question {question.id!r}")
    if question.allow_other:
        return
    allowed = {choice.value for choice in question.choices}
    for value in values:
        if value not in allowed:
            raise InvalidHostResponse(f"unknown choice for question {question.id!r}")
