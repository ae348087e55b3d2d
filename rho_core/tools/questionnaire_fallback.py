"""Answers for a host's own deadline, as the model may give them (19.13, G20).

Only for safe, reversible decisions: they are never a permission, and no duration can be asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rho_core.errors import ToolError
from rho_core.questions import HostInputRequest, HostInputResponse
from rho_core.tools.questionnaire_fields import ParsedQuestion, invalid, known_keys, text_at


def with_timeout_fallback(
    request: HostInputRequest, questions: Sequence[ParsedQuestion], value: Any
) -> HostInputRequest:
    """The request with the fallback that `value` describes. Raises `ToolError`."""
    if not isinstance(value, Mapping):
        raise _invalid("must be an object with answers and reason")
    known_keys(value, ("answers", "reason"), "on_timeout.")
    reason = text_at(value, "reason", "on_timeout.")
    if not reason:
        raise _invalid("needs a reason that says what the answers mean")
    if any(not question.has_explicit_id for question in questions):
        raise _invalid("needs an explicit id on every question")
    answers = value.get("answers")
    if not isinstance(answers, Mapping):
        raise _invalid("needs answers: an object of question ids")
    known = {question.host.id for question in questions}
    for question_id in answers:
        if question_id not in known:
            shown = question_id[:80].encode("unicode_escape").decode()
            raise _invalid(f"answers an unknown question '{shown}'")
    response = HostInputResponse()
    for question in questions:
        question_id = question.host.id
        if question_id in answers:
            response = response.answer(question_id, _answer(question, answers[question_id]))
        elif question.host.required:
            raise _invalid(f"must answer the required question '{question_id}'")
    return request.with_timeout_fallback(response, reason)


def _answer(question: ParsedQuestion, value: Any) -> list[str]:
    place = f"answers.{question.host.id}"
    if question.kind == "confirm":
        if not isinstance(value, bool):
            raise _invalid(f"{place} must be true or false")
        return ["yes" if value else "no"]
    if question.kind == "choice":
        return [_label(question, value, place)]
    if not isinstance(value, list | tuple) or not value:
        raise _invalid(f"{place} must be a non-empty array of choices")
    labels = [_label(question, item, place) for item in value]
    if len(set(labels)) != len(labels):
        raise _invalid(f"{place} names a choice twice")
    return labels


def _label(question: ParsedQuestion, value: Any, place: str) -> str:
    """An exact label; free text only where the question allows another answer (19.16)."""
    if not isinstance(value, str):
        raise _invalid(f"{place} must be the exact label of a choice")
    labels = [choice.value for choice in question.host.choices]
    if value in labels or (question.host.allow_other and value.strip()):
        return value
    raise _invalid(f"{place} is not one of the choices")


def _invalid(message: str) -> ToolError:
    return invalid(f"on_timeout {message}")
