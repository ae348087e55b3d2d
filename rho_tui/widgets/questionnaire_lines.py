"""A questionnaire form as lines (APP4.6-4.8, 4.20); no Textual."""

from __future__ import annotations

from rho_core.questions import HostInputRequest
from rho_tui.transcript.rows import Run
from rho_tui.transcript.sanitize import clean_text
from rho_tui.transcript.wrap import crop_cells
from rho_tui.widgets.lines import Line, text_line
from rho_tui.widgets.questionnaire_state import QuestionnaireState, QuestionState

_TAB_LABEL = 16


def head_lines(state: QuestionnaireState) -> list[Line]:
    """Title and the bar of questions, which stay while options scroll."""
    lines: list[Line] = []
    if state.request.title:
        lines.append(text_line(state.request.title, "accent"))
    if state.has_review:
        lines.append(_tab_bar(state))
    return lines


def body_lines(state: QuestionnaireState) -> tuple[list[Line], int]:
    """The open question with its options, or the review; and the line to keep in view."""
    if state.in_review:
        return _review_lines(state)
    number = state.index + 1
    current = state.current
    lines = _wrapped(f"▸ {number}. " if state.has_review else "▸ ", current.question.prompt, "bold")
    meta = "" if current.question.required else "optional"
    if current.question.help:
        meta = f"{meta} · {current.question.help}" if meta else current.question.help
    if meta:
        lines.extend(_wrapped("  ", meta, "muted"))
    keep = 0
    for row in range(current.rows):
        if row == current.cursor:
            keep = len(lines)
        lines.extend(_option_lines(current, row))
    return lines, keep


def option_at(state: QuestionnaireState, line: int) -> int | None:
    """The option that a line of the body belongs to; None for the question's own lines."""
    if state.in_review:
        return None
    current = state.current
    lines, _keep = body_lines(state)
    heights = [len(_option_lines(current, row)) for row in range(current.rows)]
    at = len(lines) - sum(heights)
    for row, height in enumerate(heights):
        if at <= line < at + height:
            return row
        at += height
    return None


def footer_text(state: QuestionnaireState) -> str:
    """Which keys work here (APP4.8)."""
    if state.in_review:
        return "Enter submit · ↑ back · Esc dismiss"
    current = state.current
    parts = ["type your answer" if current.in_other else "↑↓ choose"]
    if current.many and not current.in_other:
        parts.append("Space toggle")
    if current.question.allow_other and not current.in_other:
        parts.append("type for other")
    if state.has_review:
        parts.append("Tab next")
    parts.append("Enter submit" if state.is_last else "Enter next")
    parts.append("Esc dismiss")
    return " · ".join(parts)


def timeout_lines(request: HostInputRequest) -> list[Line]:
    """What will be answered at the deadline, and why (APP4.20)."""
    fallback = request.timeout_fallback
    if fallback is None:
        return []
    lines = []
    for question in request.questions:
        values = fallback.answers.get(question.id)
        if values is None:
            continue
        labels = {choice.value: choice.label for choice in question.choices}
        shown = ", ".join(labels.get(value, value) for value in values) or "nothing"
        name = question.header or question.prompt
        lines.append(
            Line(((f"  {crop_cells(_one_line(name), 40)}: ", "muted"), (_one_line(shown), "")))
        )
    lines.append(
        Line((("  because ", "muted"), (_one_line(request.timeout_reason or ""), "")), hang=2)
    )
    return lines


def _tab_bar(state: QuestionnaireState) -> Line:
    runs: list[Run] = []
    for index, question in enumerate(state.questions):
        label = question.question.header or question.question.prompt
        label = crop_cells(_one_line(label), _TAB_LABEL)
        done = " ✓" if question.answer() else ""
        if index:
            runs.append((" │ ", "muted"))
        style = "accent" if index == state.index else "muted"
        runs.append((f"{index + 1} {label}{done}", style))
    runs.append((" │ ", "muted"))
    runs.append(("review", "accent" if state.in_review else "muted"))
    return Line(tuple(runs), hang=2)


def _review_lines(state: QuestionnaireState) -> tuple[list[Line], int]:
    lines = [text_line("Your answers", "bold")]
    for index, question in enumerate(state.questions):
        lines.append(
            Line(
                ((f"{index + 1}. ", "muted"), (_one_line(question.question.prompt), "muted")),
                hang=3,
            )
        )
        labels = question.labels()
        if labels:
            text = ", ".join(_one_line(label) for label in labels)
            lines.append(Line((("   ", ""), (text, "")), hang=3))
        elif question.question.required:
            lines.append(text_line("   not answered yet", "warning"))
        else:
            lines.append(text_line("   left out", "muted"))
    return lines, len(lines) - 1


def _option_lines(state: QuestionState, row: int) -> list[Line]:
    here = row == state.cursor
    style = "accent" if here else ""
    arrow = "→ " if here else "  "
    if row == state.other_index:
        return _other_lines(state, arrow, style)
    choice = state.question.choices[row]
    on, off = ("■", "□") if state.many else ("●", "○")
    mark = on if row in state.picked else off
    lead = f"{arrow}{mark} "
    runs: list[Run] = [(lead, style), (_one_line(choice.label), style)]
    if row == state.recommended:
        runs.append((" (recommended)", "success"))
    lines = [Line(tuple(runs), hang=4)]
    if choice.description:
        lines.extend(_wrapped("    ", choice.description, "muted"))
    return lines


def _other_lines(state: QuestionState, arrow: str, style: str) -> list[Line]:
    on, off = ("■", "□") if state.many else ("●", "○")
    used = bool(state.other.text.strip()) and (state.many or state.other_index in state.picked)
    lead = f"{arrow}{on if used else off} "
    if not state.in_other and not state.other.text:
        return [Line(((lead, style), ("other…", style)), hang=4)]
    runs: list[list[Run]] = [[(lead, style), ("other: ", style)]]
    caret = state.other.caret if state.in_other else None
    at = 0
    for number, part in enumerate(state.other.text.split("\n")):
        if number:
            runs.append([("    ", "")])
        if caret is not None and at <= caret <= at + len(part):
            split = caret - at
            under = part[split : split + 1] or " "
            runs[-1].extend([(part[:split], ""), (under, "reverse"), (part[split + 1 :], "")])
        else:
            runs[-1].append((part, ""))
        at += len(part) + 1
    return [Line(tuple(run), hang=4, exact=True) for run in runs]


def _wrapped(lead: str, text: str, style: str) -> list[Line]:
    parts = clean_text(text).split("\n")
    pad = " " * len(lead)
    return [
        Line(((pad if index else lead, style), (part, style)), hang=len(lead))
        for index, part in enumerate(parts)
    ]


def _one_line(text: str) -> str:
    return " ".join(clean_text(text).split("\n"))
