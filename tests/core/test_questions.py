"""Questionnaires: what can be asked, what answers count, timeout provenance (G1–G15)."""

from __future__ import annotations

import pytest

from rho_core.errors import InvalidHostResponse
from rho_core.questions import (
    DefaultSelection,
    HostChoice,
    HostInputRequest,
    HostInputResponse,
    HostInputSource,
    HostQuestion,
    SelectionMode,
)

COLOURS = (HostChoice("red", "Red"), HostChoice("blue", "Blue"))


def question(id: str = "colour", **options) -> HostQuestion:
    return HostQuestion(id, "Which?", COLOURS, **options)


MANY = question("many", selection=SelectionMode.MANY)
OTHER = question("other", allow_other=True)
OPTIONAL = question("optional", required=False)


def form(*questions: HostQuestion) -> HostInputRequest:
    return HostInputRequest.questionnaire("Title", questions or (question(),))


def answers(**values: list[str]) -> HostInputResponse:
    response = HostInputResponse()
    for question_id, given in values.items():
        response = response.answer(question_id, given)
    return response


def refused(
    request: HostInputRequest, response: HostInputResponse, match: str | None = None
) -> None:
    with pytest.raises(InvalidHostResponse, match=match):
        request.validate(response)


@pytest.mark.clause("G1", "G2")
def test_questions_that_cannot_be_asked_are_refused() -> None:
    for build in (
        lambda: HostQuestion(" \t", "p", COLOURS),
        lambda: HostQuestion("q", "p", ()),
        lambda: HostQuestion("q", "p", (HostChoice("a", "A"), HostChoice("a", "B"))),
    ):
        with pytest.raises(InvalidHostResponse):
            build()
    plain = question()
    assert plain.required
    assert plain.default_selection is DefaultSelection.SELECTED
    assert question(default_value={"not": "validated"}).default_value == {"not": "validated"}


@pytest.mark.clause("G3")
def test_a_questionnaire_requires_unique_question_ids_and_gets_its_own_id() -> None:
    with pytest.raises(InvalidHostResponse):
        HostInputRequest.questionnaire(None, ())
    with pytest.raises(InvalidHostResponse):
        form(question(), question())
    assert form().id != form().id


@pytest.mark.clause("G5", "G6")
def test_complete_typed_answers_are_valid() -> None:
    request = form(question(), MANY, OTHER, OPTIONAL)
    request.validate(answers(colour=["red"], many=["blue", "red"], other=["anything"]))
    request.validate(answers(colour=["red"], many=["red"], other=[""], optional=[]))
    request.validate(answers(colour=["red"], many=["red"], other=["x"], optional=["blue"]))


@pytest.mark.clause("G5", "G6")
def test_missing_unknown_duplicate_and_excess_answers_are_refused() -> None:
    refused(form(), answers(), "missing answer")
    refused(form(), answers(colour=["red"], stranger=["red"]), "unknown question")
    refused(form(), answers(stranger=["red"]), "unknown question")
    refused(form(), answers(colour=[]), "answer count")
    refused(form(), answers(colour=["red", "blue"]), "answer count")
    refused(form(MANY), answers(many=["red", "red"]), "duplicate answer")
    refused(form(), answers(colour=["green"]), "unknown choice")
    refused(form(), answers(colour=["Red"]), "unknown choice")
    refused(form(question("other", allow_other=True)), answers(other=["a", "b"]), "answer count")


@pytest.mark.clause("G5")
def test_omitted_optional_questions_are_fine_but_wrong_values_are_not() -> None:
    form(OPTIONAL).validate(answers())
    refused(form(OPTIONAL), answers(optional=["green"]), "unknown choice")


@pytest.mark.clause("G4", "G11")
def test_responses_compare_by_content_and_source_and_the_same_id_overwrites() -> None:
    assert answers(a=["1"]).answer("a", ["2"]) == answers(a=["2"])
    assert answers(a=["1"], b=["2"]) == answers(b=["2"], a=["1"])
    assert hash(answers(a=["1"], b=["2"])) == hash(answers(b=["2"], a=["1"]))
    tagged = answers(a=["1"]).with_source(HostInputSource.TIMEOUT_FALLBACK)
    assert tagged != answers(a=["1"])
    assert tagged.answer("b", ["x"]).source is HostInputSource.TIMEOUT_FALLBACK
    assert answers().source is HostInputSource.USER
    with pytest.raises(TypeError):
        answers(a=["1"]).answers["a"] = ("2",)  # type: ignore[index]


@pytest.mark.clause("G9", "G10", "G14")
def test_a_fallback_needs_a_reason_and_valid_answers() -> None:
    request = form(question(default_value="blue"))
    assert request.timeout_fallback is None
    assert request.timeout_reason is None
    for response, reason in (
        (answers(colour=["red"]), " "),
        (answers(), "why"),
        (answers(colour=["green"]), "why"),
        (answers(colour=["red", "blue"]), "why"),
        (answers(colour=["red"], x=["y"]), "why"),
    ):
        with pytest.raises(InvalidHostResponse):
            request.with_timeout_fallback(response, reason)
    carried = request.with_timeout_fallback(answers(colour=["red"]), "preview")
    assert carried.id == request.id
    assert carried.timeout_reason == "preview"
    assert carried.timeout_fallback == answers(colour=["red"]).with_source(
        HostInputSource.TIMEOUT_FALLBACK
    )


@pytest.mark.clause("G12", "G13")
def test_timeout_provenance_requires_the_explicit_fallback() -> None:
    fallback = answers(colour=["red"]).with_source(HostInputSource.TIMEOUT_FALLBACK)
    refused(form(), fallback, "no timeout fallback")
    request = form().with_timeout_fallback(fallback, "preview")
    request.validate(fallback)
    request.validate(answers(colour=["red"]))
    request.validate(answers(colour=["blue"]))
    refused(request, answers(colour=["blue"]).with_source(HostInputSource.TIMEOUT_FALLBACK))
    refused(request, answers().with_source(HostInputSource.TIMEOUT_FALLBACK))
    assert request.timeout_fallback is not None
    form().with_timeout_fallback(request.timeout_fallback, "another request's fallback")


def test_a_dismissed_form_is_valid_for_every_request_and_carries_no_answers() -> None:
    form(question(), OPTIONAL).validate(HostInputResponse.dismissed())
    loaded = HostInputResponse.dismissed().answer("colour", ["red"])
    refused(form(), loaded, "carries no answers")
