"""Strict parsing of questionnaires into what the host is asked (sections 19 and G.5).

Every rejection happens here, before a form opens. Messages name the place: `questions[1].choices`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rho_core.errors import InvalidHostResponse, ToolError
from rho_core.questions import (
    DefaultSelection,
    HostChoice,
    HostInputRequest,
    HostQuestion,
    SelectionMode,
)
from rho_core.tools.questionnaire_fallback import with_timeout_fallback
from rho_core.tools.questionnaire_fields import ParsedQuestion, invalid, known_keys, text_at

MAX_QUESTIONS = 8
MAX_CHOICES = 100
DEFAULT_TITLE = "questionnaire"
KINDS = ("choice", "multi_select", "confirm")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_YES = frozenset({"yes", "y", "true"})
_NO = frozenset({"no", "n", "false"})
_CONFIRM_CHOICES = (HostChoice("yes", "Yes"), HostChoice("no", "No"))
_TOP_KEYS = ("title", "reason", "questions", "on_timeout", "question", "default")
_QUESTION_KEYS = (
    "id",
    "question",
    "header",
    "help",
    "reason",
    "type",
    "kind",
    "choices",
    "allow_other",
    "default",
    "default_selection",
    "required",
)


def parse_questionnaire(arguments: Mapping[str, Any]) -> HostInputRequest:
    """The form that the arguments describe. Raises `ToolError`; nothing was asked then."""
    known_keys(arguments, _TOP_KEYS, "")
    reason = text_at(arguments, "reason", "")
    questions = _questions(arguments, reason)
    title = text_at(arguments, "title", "") or DEFAULT_TITLE
    try:
        request = HostInputRequest.questionnaire(title, [question.host for question in questions])
        fallback = arguments.get("on_timeout")
        if fallback is None:
            return request
        return with_timeout_fallback(request, questions, fallback)
    except InvalidHostResponse as error:
        raise ToolError.execution(error.message) from None


def _questions(arguments: Mapping[str, Any], reason: str) -> list[ParsedQuestion]:
    values = arguments.get("questions")
    if values is not None and not isinstance(values, list | tuple):
        raise invalid("questions must be an array")
    if not values:
        if arguments.get("question") is None:
            raise invalid("questions must include at least one question")
        return [_legacy_question(arguments, reason)]
    for key in ("question", "default"):
        if arguments.get(key) is not None:
            raise invalid(f"{key} cannot be combined with questions")
    if len(values) > MAX_QUESTIONS:
        raise invalid(f"questions must include at most {MAX_QUESTIONS} questions")
    parsed: list[ParsedQuestion] = []
    for index, value in enumerate(values):
        place = f"questions[{index}]"
        if not isinstance(value, Mapping):
            raise invalid(f"{place} must be an object")
        question = _question(value, index, f"{place}.", "" if index else reason)
        if any(question.host.id == earlier.host.id for earlier in parsed):
            raise invalid(f"{place}.id '{question.host.id}' is used twice")
        parsed.append(question)
    return parsed


def _legacy_question(arguments: Mapping[str, Any], reason: str) -> ParsedQuestion:
    prompt = text_at(arguments, "question", "")
    if not prompt:
        raise invalid("question must not be empty")
    default = text_at(arguments, "default", "")
    # the host asks choices only: free text is one choice and room for another answer
    choice = HostChoice(default, default) if default else HostChoice("no answer", "No answer")
    host = HostQuestion(
        "q1",
        prompt,
        (choice,),
        allow_other=True,
        help=reason or None,
        default_value=default or None,
    )
    return ParsedQuestion(host, "text", False)


def _question(value: Mapping[str, Any], index: int, place: str, reason: str) -> ParsedQuestion:
    known_keys(value, _QUESTION_KEYS, place)
    given_id = text_at(value, "id", place)
    if given_id and _ID.fullmatch(given_id) is None:
        raise invalid(f"{place}id must be 1 to 64 ASCII letters, digits, '_' or '-'")
    prompt = text_at(value, "question", place)
    if not prompt:
        raise invalid(f"{place}question must not be empty")
    choices = _choices(value.get("choices"), place)
    kind = _kind(value, choices, place)
    allow_other = _flag(value, "allow_other", place, default=False)
    if kind == "confirm":
        if value.get("choices") or allow_other:
            raise invalid(f"{place}choices and allow_other do not fit a confirm question")
        choices = _CONFIRM_CHOICES
    elif not choices:
        raise invalid(f"{place}choices must include at least one choice")
    default = _default(value.get("default"), kind, choices, allow_other, place)
    selection = text_at(value, "default_selection", place) or "selected"
    if selection not in ("selected", "focused"):
        raise invalid(f"{place}default_selection must be selected or focused")
    if selection == "focused" and not default:
        raise invalid(f"{place}default_selection focused needs a default")
    try:
        host = HostQuestion(
            given_id or f"q{index + 1}",
            prompt,
            choices,
            SelectionMode.MANY if kind == "multi_select" else SelectionMode.ONE,
            allow_other,
            text_at(value, "header", place) or None,
            text_at(value, "help", place) or text_at(value, "reason", place) or reason or None,
            default,
            DefaultSelection(selection),
            _flag(value, "required", place, default=True),
        )
    except InvalidHostResponse as error:
        raise ToolError.execution(f"{place}choices: {error.message}") from None
    return ParsedQuestion(host, kind, bool(given_id))


def _kind(value: Mapping[str, Any], choices: tuple[HostChoice, ...], place: str) -> str:
    first, second = text_at(value, "type", place), text_at(value, "kind", place)
    if first and second and first != second:
        raise invalid(f"{place}type and kind contradict each other")
    kind = first or second or ("choice" if choices else "text")
    if kind not in KINDS:
        raise invalid(f"{place}type must be one of {', '.join(KINDS)}")
    return kind


def _choices(value: Any, place: str) -> tuple[HostChoice, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise invalid(f"{place}choices must be an array")
    if len(value) > MAX_CHOICES:
        raise invalid(f"{place}choices must have at most {MAX_CHOICES} entries")
    choices = []
    for index, item in enumerate(value):
        here = f"{place}choices[{index}]"
        if isinstance(item, str):
            item = {"label": item}
        if not isinstance(item, Mapping):
            raise invalid(f"{here} must be text or an object with a label")
        known_keys(item, ("label", "description"), f"{here}.")
        if item.get("label") is None:
            raise invalid(f"{here}.label is missing")
        label = text_at(item, "label", f"{here}.")
        if label:
            choices.append(
                HostChoice(label, label, text_at(item, "description", f"{here}.") or None)
            )
    return tuple(choices)


def _flag(value: Mapping[str, Any], key: str, place: str, *, default: bool) -> bool:
    flag = value.get(key)
    if flag is None:
        return default
    if not isinstance(flag, bool):
        raise invalid(f"{place}{key} must be true or false")
    return flag


def _default(
    value: Any, kind: str, choices: tuple[HostChoice, ...], allow_other: bool, place: str
) -> str | tuple[str, ...] | None:
    """The default in the host's terms: labels as they are written (19.6, G19)."""
    if value is None:
        return None
    if kind == "confirm":
        return _confirm_default(value, place)
    if kind == "choice":
        if not isinstance(value, str):
            raise invalid(f"{place}default must be text")
        return _label(value, choices, allow_other, place)
    items = value if isinstance(value, list | tuple) else [value]
    labels = [_label(_scalar(item, place), choices, allow_other, place) for item in items]
    found = tuple(dict.fromkeys(label for label in labels if label is not None))
    return found or None


def _confirm_default(value: Any, place: str) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str):
        raise invalid(f"{place}default must be true, false, yes or no")
    word = value.strip().lower()
    if not word:
        return None
    if word not in _YES | _NO:
        raise invalid(f"{place}default must be true, false, yes or no")
    return "yes" if word in _YES else "no"


def _scalar(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        raise invalid(f"{place}default must be text or an array of texts")
    return value


def _label(
    value: str, choices: tuple[HostChoice, ...], allow_other: bool, place: str
) -> str | None:
    text = value.strip()
    if not text:
        return None
    folded = _ascii_lower(text)
    for choice in choices:
        if _ascii_lower(choice.label) == folded:
            return choice.label
    if not allow_other:
        raise invalid(f"{place}default is not one of the choices")
    return text


def _ascii_lower(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)
