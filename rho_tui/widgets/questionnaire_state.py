"""What a questionnaire form knows and decides, without a screen (APP4.5-4.13)."""

from __future__ import annotations

from dataclasses import dataclass, field

from rho_core.errors import InvalidHostResponse
from rho_core.questions import (
    DefaultSelection,
    HostInputRequest,
    HostInputResponse,
    HostQuestion,
    SelectionMode,
)
from rho_tui.widgets.text_field import TextField

NO_CURSOR = -1
"""Nothing is highlighted: a confirmation without a default wants an explicit choice (test 123)."""


@dataclass(slots=True)
class QuestionState:
    """The answer to one question so far.

    Options are numbered from 0; with `allow_other` the row after the last choice is the own text.
    """

    question: HostQuestion
    cursor: int = 0
    picked: set[int] = field(default_factory=set)
    other: TextField = field(default_factory=TextField)
    recommended: int | None = None

    @property
    def many(self) -> bool:
        """Whether several choices may be ticked."""
        return self.question.selection is SelectionMode.MANY

    @property
    def other_index(self) -> int | None:
        """The row of the own text, None when only choices are allowed."""
        return len(self.question.choices) if self.question.allow_other else None

    @property
    def rows(self) -> int:
        """Number of rows to choose from."""
        return len(self.question.choices) + (1 if self.question.allow_other else 0)

    @property
    def in_other(self) -> bool:
        """Whether keys edit the own text."""
        return self.other_index is not None and self.cursor == self.other_index

    @property
    def is_confirm(self) -> bool:
        """A yes/no question (APP4.4)."""
        values = {choice.value.lower() for choice in self.question.choices}
        return not self.many and not self.question.allow_other and values == {"yes", "no"}

    def answer(self) -> tuple[str, ...]:
        """The values to submit: choices in their order, then the own text exactly as typed."""
        choices = self.question.choices
        values = [choices[at].value for at in sorted(self.picked) if at < len(choices)]
        text = self.other.text
        use_text = bool(text.strip()) and (self.many or self.other_index in self.picked)
        if use_text and text not in values:
            values.append(text)
        return tuple(values)

    def labels(self) -> tuple[str, ...]:
        """The answer as people read it."""
        labels = {choice.value: choice.label for choice in self.question.choices}
        return tuple(labels.get(value, value) for value in self.answer())

    def clear(self) -> None:
        """Forget the answer."""
        self.picked.clear()
        self.other.set("")

    def move_to(self, row: int) -> None:
        """Highlight a row; in single questions that also selects it (APP4.10)."""
        self.cursor = row
        if not self.many:
            self.picked = {row}

    def toggle(self, row: int) -> None:
        """Tick or untick a row of a multi-select; select it in a single question."""
        self.cursor = row
        if not self.many:
            self.picked = {row}
        elif row != self.other_index:
            self.picked ^= {row}

    def type_text(self, text: str) -> bool:
        """Write into the own text; False when none is allowed."""
        if self.other_index is None:
            return False
        self.move_to(self.other_index)
        self.other.insert(text)
        return True

    def problem(self) -> str | None:
        """Why the answer can't be submitted, None if it can (APP4.12)."""
        if self.answer() or not self.question.required:
            return None
        if self.other_index is not None and self.other_index in self.picked and not self.many:
            return "write your answer, or choose an option"
        return "select at least one option" if self.many else "choose an option"


class QuestionnaireState:
    """All questions of a form, which one is open, and how it ends.

    Raises nothing: a submit that isn't possible opens the first bad question and sets `error`.
    """

    def __init__(self, request: HostInputRequest) -> None:
        self.request = request
        self.questions = [_initial(question) for question in request.questions]
        self.index = 0
        self.error = ""

    @property
    def has_review(self) -> bool:
        """Several questions end with a page that shows all answers."""
        return len(self.questions) > 1

    @property
    def in_review(self) -> bool:
        """Whether the review is open."""
        return self.index == len(self.questions)

    @property
    def current(self) -> QuestionState:
        """The open question; the last one while the review is open."""
        return self.questions[min(self.index, len(self.questions) - 1)]

    @property
    def is_last(self) -> bool:
        """Whether Enter submits here."""
        return self.in_review or not self.has_review

    def go(self, index: int) -> None:
        """Open a question, or the review behind the last one."""
        last = len(self.questions) if self.has_review else len(self.questions) - 1
        self.index = max(0, min(last, index))
        self.error = ""

    def move(self, step: int) -> None:
        """Up or down by one; at the ends on to the question before or after (APP4.9)."""
        self.error = ""
        if self.in_review:
            if step < 0:
                self.go(self.index - 1)
            return
        state = self.current
        if state.cursor == NO_CURSOR:
            state.move_to(0 if step > 0 else state.rows - 1)
            return
        row = state.cursor + step
        if 0 <= row < state.rows:
            state.move_to(row)
        elif len(self.questions) > 1:
            self.go(self.index + (1 if step > 0 else -1))

    def confirm(self) -> HostInputResponse | None:
        """Enter: take the highlighted option, then go on; on the last page submit."""
        self.error = ""
        if self.in_review:
            return self.submit()
        state = self.current
        if not state.many and state.cursor != NO_CURSOR:
            state.picked = {state.cursor}
        problem = state.problem()
        if problem is not None:
            self.error = problem
            return None
        if self.is_last:
            return self.submit()
        self.go(self.index + 1)
        return None

    def submit(self) -> HostInputResponse | None:
        """The response, or None with `error` set and the first bad question open."""
        response = HostInputResponse()
        for index, state in enumerate(self.questions):
            problem = state.problem()
            if problem is not None:
                self.go(index)
                self.error = problem
                return None
            answer = state.answer()
            if answer:
                response = response.answer(state.question.id, answer)
        try:
            self.request.validate(response)
        except InvalidHostResponse as error:
            self.error = str(error)
            return None
        return response

    def clear_current(self) -> bool:
        """Forget the open question's answer; False when there was none."""
        state = self.current
        if self.in_review or not (state.picked or state.other.text):
            return False
        state.clear()
        self.error = ""
        return True


def _initial(question: HostQuestion) -> QuestionState:
    state = QuestionState(question)
    defaults = _default_values(question)
    indexes = []
    for value in defaults:
        index = _choice_index(question, value)
        if index is not None:
            indexes.append(index)
        elif question.allow_other and not state.other.text:
            state.other.set(value)
            indexes.append(len(question.choices))
    if indexes:
        state.cursor = indexes[0]
        if question.default_selection is DefaultSelection.SELECTED:
            keep = indexes if state.many else indexes[:1]
            state.picked = {at for at in keep if not state.many or at < len(question.choices)}
        else:
            state.recommended = indexes[0]
            state.other.set("")
    elif state.is_confirm:
        state.cursor = NO_CURSOR
    return state


def _default_values(question: HostQuestion) -> list[str]:
    # `default_value` is any JSON and not validated (G2): whatever isn't text is no default.
    value = question.default_value
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple):
        return [item for item in value if isinstance(item, str)]
    return []


def _choice_index(question: HostQuestion, value: str) -> int | None:
    wanted = value.strip().casefold()
    for index, choice in enumerate(question.choices):
        if choice.value == value:
            return index
    for index, choice in enumerate(question.choices):
        if wanted in (choice.value.casefold(), choice.label.casefold()):
            return index
    return None
