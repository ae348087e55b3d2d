"""`questionnaire`: strict parsing before a form opens, and truthful answers (19, G16–G21)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.errors import Cancelled, ToolError, ToolErrorKind
from rho_core.questions import (
    DefaultSelection,
    HostInputDismissed,
    HostInputRequest,
    HostInputResponse,
    HostInputSource,
    SelectionMode,
)
from rho_core.tooling.contract import ToolExecutionPolicy
from rho_core.tools.questionnaire import DISMISSED_TEXT, QuestionnaireTool
from rho_core.tools.questionnaire_arguments import parse_questionnaire
from tests.tools.tool_calls import ToolCalls

COLOR = {"id": "color", "question": "Color?", "type": "choice", "choices": ["red", "blue"]}
SIZES = {"id": "sizes", "question": "Sizes?", "type": "multi_select", "choices": ["S", "M", "L"]}
SURE = {"id": "sure", "question": "Sure?", "type": "confirm"}


def form(*questions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"questions": list(questions), **more}


def refusal(arguments: dict[str, Any]) -> str:
    with pytest.raises(ToolError) as caught:
        parse_questionnaire(arguments)
    assert caught.value.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert caught.value.message.startswith("invalid arguments: ")
    return caught.value.message


class Host:
    """Answers forms; `forms` are those that were opened."""

    def __init__(self, *, source: HostInputSource = HostInputSource.USER, **answers: Any) -> None:
        self.forms: list[HostInputRequest] = []
        self._answers = answers
        self._source = source

    async def __call__(self, request: HostInputRequest) -> HostInputResponse:
        self.forms.append(request)
        response = HostInputResponse().with_source(self._source)
        for question_id, values in self._answers.items():
            response = response.answer(question_id, values)
        request.validate(response)
        return response


def asking(host: Any) -> ToolCalls:
    calls = ToolCalls(QuestionnaireTool(), None)
    calls.host_input = host
    return calls


@pytest.mark.clause("G21", "T19.8", "T19.11", "T19.12", "T30.14")
async def test_answers_come_back_in_the_order_of_the_questions() -> None:
    host = Host(sure=["yes"], sizes=["L", "S"], color=["blue"])
    calls = asking(host)
    plan = await calls.prepare(**form(SURE, SIZES, COLOR, title="Look"))
    assert plan.policy is ToolExecutionPolicy.EXCLUSIVE
    assert plan.capabilities == ()
    assert calls.tool.security().classes == ()
    assert (await calls.execute(plan)).content == (
        '{"answers":[{"id":"sure","answer":"yes"},{"id":"sizes","answer":["L","S"]},'
        '{"id":"color","answer":"blue"}],"source":"user"}'
    )
    assert host.forms[0].title == "Look"


@pytest.mark.clause("T19.10", "T19.11", "case:F2", "case:F4")
async def test_skipped_single_and_own_answers_are_distinct() -> None:
    optional = {**SIZES, "required": False, "allow_other": True}
    skipped = await asking(Host()).run(**form(optional))
    assert json.loads(skipped.content)["answers"] == []
    empty = await asking(Host(sizes=[])).run(**form(optional))
    assert json.loads(empty.content)["answers"] == [{"id": "sizes", "answer": []}]
    single = await asking(Host(sizes=["S"])).run(**form(optional))
    assert json.loads(single.content)["answers"] == [{"id": "sizes", "answer": "S"}]
    own = await asking(Host(sizes=["S", "use [x] 漢"])).run(**form(optional))
    assert json.loads(own.content)["answers"] == [{"id": "sizes", "answer": ["S", "use [x] 漢"]}]


@pytest.mark.clause("G16", "G17", "T19.2", "T19.3", "T19.9")
def test_a_question_is_mapped_with_all_its_fields() -> None:
    request = parse_questionnaire(
        form(
            {
                "question": "  Which?  ",
                "header": "Head",
                "reason": "because",
                "kind": "choice",
                "choices": [" a ", {"label": "b", "description": " second "}, "  "],
                "allow_other": True,
                "default": "B",
                "default_selection": "focused",
                "required": False,
            },
            SURE,
        )
    )
    first, second = request.questions
    assert (first.id, first.prompt, first.header, first.help) == ("q1", "Which?", "Head", "because")
    assert [(choice.value, choice.description) for choice in first.choices] == [
        ("a", None),
        ("b", "second"),
    ]
    assert first.default_value == "b"
    assert first.default_selection is DefaultSelection.FOCUSED
    assert first.allow_other
    assert not first.required
    assert [choice.value for choice in second.choices] == ["yes", "no"]
    assert request.title == "questionnaire"
    assert request.timeout_fallback is None


@pytest.mark.clause("G17", "T19.4")
def test_a_missing_type_is_choice_when_there_are_choices() -> None:
    (question,) = parse_questionnaire(form({"question": "?", "choices": ["a"]})).questions
    assert question.selection is SelectionMode.ONE
    assert "type" in refusal(form({"question": "?"}))
    assert "type" in refusal(form({"question": "?", "type": "text"}))


@pytest.mark.clause("G16", "T19.1")
def test_the_legacy_form_asks_for_free_text() -> None:
    request = parse_questionnaire({"question": " Name? ", "default": "x", "reason": "why"})
    (question,) = request.questions
    assert (question.id, question.prompt, question.default_value) == ("q1", "Name?", "x")
    assert question.help == "why"
    assert question.allow_other
    request.validate(HostInputResponse().answer("q1", ["anything"]))
    assert "combined" in refusal({"question": "Name?", **form(SURE)})


@pytest.mark.clause("G16", "G17", "G18", "T19.5", "case:F1")
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({}, "questions must include at least one question"),
        ({"questions": []}, "questions must include at least one question"),
        (form(*[{**SURE, "id": f"q{n}"} for n in range(9)]), "at most 8 questions"),
        ({"questions": "x"}, "questions must be an array"),
        (form(3), "questions[0] must be an object"),  # type: ignore[arg-type]
        (form(SURE, timeout_seconds=5), "unknown key 'timeout_seconds'"),
        (form({**SURE, "options": []}), "questions[0].unknown key 'options'"),
        (form({**COLOR, "choices": [{"label": "a", "x": 1}]}), "questions[0].choices[0].unknown"),
        (form({**SURE, "id": "a b"}), "questions[0].id"),
        (form({**SURE, "id": "é"}), "questions[0].id"),
        (form(SURE, {**SURE, "id": " sure "}), "questions[1].id 'sure' is used twice"),
        (form({**SURE, "question": "  "}), "questions[0].question must not be empty"),
        (form({**SURE, "question": 3}), "questions[0].question must be text"),
        (form({**COLOR, "choices": []}), "questions[0].choices"),
        (form({**COLOR, "choices": [3]}), "questions[0].choices[0]"),
        (form({**COLOR, "choices": [{"description": "x"}]}), "questions[0].choices[0].label"),
        (form({**COLOR, "choices": [str(n) for n in range(101)]}), "at most 100"),
        (form({**SURE, "choices": ["a"]}), "do not fit a confirm"),
        (form({**SURE, "allow_other": True}), "do not fit a confirm"),
        (form({**SURE, "required": "yes"}), "questions[0].required"),
        (form({**COLOR, "default": "green"}), "questions[0].default"),
        (form({**COLOR, "default": 3}), "questions[0].default"),
        (form({**COLOR, "default": ["red"]}), "questions[0].default"),
        (form({**SIZES, "default": [None]}), "questions[0].default"),
        (form({**SIZES, "default": ["S", "XL"]}), "questions[0].default"),
        (form({**SURE, "default": "maybe"}), "questions[0].default"),
        (form({**SURE, "default_selection": "focused"}), "focused needs a default"),
        (form({**SURE, "default_selection": "auto", "default": True}), "default_selection"),
        (form({**SURE, "type": "confirm", "kind": "choice"}), "contradict"),
        (form({**SURE, "help": "x" * 5_000}), "at most 4000"),
        ({"question": "  "}, "question must not be empty"),
    ],
)
def test_bad_forms_are_refused_with_their_place(arguments: dict[str, Any], part: str) -> None:
    assert part in refusal(arguments)


@pytest.mark.clause("T19.7")
def test_duplicate_labels_fail_as_execution() -> None:
    with pytest.raises(ToolError) as caught:
        parse_questionnaire(form({**COLOR, "choices": ["a", " a"]}))
    assert caught.value.tool_kind is ToolErrorKind.EXECUTION


@pytest.mark.clause("G19", "T19.6")
@pytest.mark.parametrize(
    ("question", "default", "expected"),
    [
        (COLOR, " RED ", "red"),
        (COLOR, "  ", None),
        (COLOR, None, None),
        ({**COLOR, "allow_other": True}, "Green", "Green"),
        ({**COLOR, "choices": ["É"], "allow_other": True}, "é", "é"),
        (SIZES, "s", ("S",)),
        (SIZES, ["l", "S", "L"], ("L", "S")),
        ({**SIZES, "allow_other": True}, ["s", " XL "], ("S", "XL")),
        (SIZES, [], None),
        ({**SIZES, "choices": ["1", "true"]}, [1, True], ("1", "true")),
        (SURE, True, "yes"),
        (SURE, "N", "no"),
        (SURE, "TRUE", "yes"),
        (SURE, "", None),
    ],
)
def test_defaults_are_normalised(question: dict[str, Any], default: Any, expected: Any) -> None:
    (parsed,) = parse_questionnaire(form({**question, "default": default})).questions
    assert parsed.default_value == expected


@pytest.mark.clause("G20", "T19.13")
def test_a_fallback_is_attached_with_its_reason() -> None:
    optional = {**SURE, "id": "maybe", "required": False}
    request = parse_questionnaire(
        form(
            COLOR,
            SIZES,
            SURE,
            optional,
            on_timeout={
                "answers": {"color": "blue", "sizes": ["M", "L"], "sure": False},
                "reason": " Use blue for the reversible preview ",
            },
        )
    )
    assert request.timeout_reason == "Use blue for the reversible preview"
    fallback = request.timeout_fallback
    assert fallback is not None
    assert fallback.source is HostInputSource.TIMEOUT_FALLBACK
    assert dict(fallback.answers) == {"color": ("blue",), "sizes": ("M", "L"), "sure": ("no",)}


@pytest.mark.clause("G20", "T19.13", "T19.16")
@pytest.mark.parametrize(
    "on_timeout",
    [
        [],
        "blue",
        {"answers": {"color": "blue", "sizes": ["M"], "sure": True}},
        {"answers": {"color": "blue", "sizes": ["M"], "sure": True}, "reason": "  "},
        {"reason": "r"},
        {"answers": [], "reason": "r"},
        {"answers": {}, "reason": "r"},
        {"answers": {"color": "blue", "sizes": ["M"]}, "reason": "r"},
        {"answers": {"color": "Blue", "sizes": ["M"], "sure": True}, "reason": "r"},
        {"answers": {"color": "green", "sizes": ["M"], "sure": True}, "reason": "r"},
        {"answers": {"color": ["blue"], "sizes": ["M"], "sure": True}, "reason": "r"},
        {"answers": {"color": None, "sizes": ["M"], "sure": True}, "reason": "r"},
        {"answers": {"color": "blue", "sizes": "M", "sure": True}, "reason": "r"},
        {"answers": {"color": "blue", "sizes": [], "sure": True}, "reason": "r"},
        {"answers": {"color": "blue", "sizes": ["M", "M"], "sure": True}, "reason": "r"},
        {"answers": {"color": "blue", "sizes": ["XL"], "sure": True}, "reason": "r"},
        {"answers": {"color": "blue", "sizes": ["M"], "sure": "yes"}, "reason": "r"},
        {"answers": {"color": "blue", "sizes": ["M"], "sure": 1}, "reason": "r"},
        {"answers": {"color": "blue", "sizes": ["M"], "sure": True, "x": "y"}, "reason": "r"},
        {
            "answers": {"color": "blue", "sizes": ["M"], "sure": True},
            "reason": "r",
            "timeout_seconds": 5,
        },
    ],
)
async def test_a_bad_fallback_fails_before_the_form_opens(on_timeout: Any) -> None:
    host = Host()
    error = await asking(host).fail(**form(COLOR, SIZES, SURE, on_timeout=on_timeout))
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert "on_timeout" in error.message
    assert host.forms == []


@pytest.mark.clause("G20")
def test_a_fallback_needs_an_explicit_id_on_every_question() -> None:
    fallback = {"answers": {"q1": True}, "reason": "r"}
    for missing in ({}, {"id": None}, {"id": " "}):
        question = {"question": "Sure?", "type": "confirm", **missing}
        assert "explicit id" in refusal(form(question, on_timeout=fallback))
    assert "explicit id" in refusal({"question": "Name?", "on_timeout": fallback})


@pytest.mark.clause("T19.16")
def test_free_text_is_a_fallback_only_where_other_answers_are_allowed() -> None:
    question = {**COLOR, "allow_other": True}
    fallback = {"answers": {"color": "any tone"}, "reason": "r"}
    request = parse_questionnaire(form(question, on_timeout=fallback))
    assert request.timeout_fallback is not None
    blank = {"answers": {"color": " "}, "reason": "r"}
    assert "color" in refusal(form(question, on_timeout=blank))


@pytest.mark.clause("G21", "T19.12")
async def test_a_timed_out_form_says_so() -> None:
    host = Host(source=HostInputSource.TIMEOUT_FALLBACK, color=["blue"])
    fallback = {"answers": {"color": "blue"}, "reason": "r"}
    output = await asking(host).run(**form(COLOR, on_timeout=fallback))
    assert output.content.endswith('"source":"timeout_fallback"}')


@pytest.mark.clause("T19.17", "case:F2")
async def test_dismissal_and_cancellation_are_no_answers() -> None:
    async def dismiss(_request: HostInputRequest) -> HostInputResponse:
        raise HostInputDismissed

    error = await asking(dismiss).fail(**form(SURE))
    assert error.tool_kind is ToolErrorKind.EXECUTION
    assert error.message == DISMISSED_TEXT

    async def cancel(_request: HostInputRequest) -> HostInputResponse:
        raise Cancelled

    with pytest.raises(Cancelled):
        await asking(cancel).run(**form(SURE))
    cancelled = asking(Host())
    cancelled.cancellation.cancel()
    assert (await cancelled.fail(**form(SURE))).tool_kind is ToolErrorKind.CANCELLED


@pytest.mark.clause("T19.2")
def test_the_schema_is_closed_and_has_no_duration() -> None:
    schema = QuestionnaireTool().spec().input_schema
    assert schema["additionalProperties"] is False
    assert schema["required"] == ("questions",)
    questions = schema["properties"]["questions"]
    assert (questions["minItems"], questions["maxItems"]) == (1, 8)
    assert questions["items"]["required"] == ("question", "type")
    assert questions["items"]["properties"]["type"]["enum"] == ("choice", "multi_select", "confirm")
    assert "seconds" not in json.dumps(schema)


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(["", "a", "yes", "q1", "choice"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "question", "type", "choices", "label", "default", "answers", "reason"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=100)
@given(
    st.dictionaries(
        st.sampled_from(["questions", "on_timeout", "title", "question", "default"]), _VALUES
    )
)
def test_hostile_arguments_are_refused_or_make_a_valid_form(arguments: dict[str, Any]) -> None:
    try:
        request = parse_questionnaire(arguments)
    except ToolError:
        return
    assert 1 <= len(request.questions) <= 8
