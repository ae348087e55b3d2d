"""From the facts of a tool call to its card (APP2.20–2.30, T29).

Pure: the same call, live or resumed, gives the same card.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rho_core.tooling.values import (
    ToolCompletion,
    ToolFailed,
    ToolMetadata,
    ToolSucceeded,
    ToolUnavailable,
)
from rho_tui.host.live_output import output_tail
from rho_tui.transcript.blocks import (
    Body,
    CardHeader,
    CardStatus,
    DiffBody,
    Fact,
    Family,
    SearchBody,
    ShellBody,
    TextBody,
    ToolCard,
)
from rho_tui.transcript.command_cards import Drawn, process_result, shell_result
from rho_tui.transcript.edit_cards import DOCUMENT_TOOLS, document_primary, project

INTERRUPTED = "tool call interrupted before completion"
MAX_LIVE_OUTPUT = 256 * 1024
"""Characters of a running command's output that its card is drawn with."""

_MAX_ERROR_FACT = 160
_FAMILIES: Mapping[str, Family] = {
    "list_dir": "file",
    "read_file": "file",
    "grep": "file",
    "glob": "file",
    "write": "file",
    "str_replace": "file",
    "edit": "file",
    "apply_patch": "file",
    "skill": "skill",
    "questionnaire": "form",
}
_PRIMARY_KEYS: Mapping[str, str] = {
    "glob": "pattern",
    "skill": "name",
    "questionnaire": "title",
}


@dataclass(frozen=True, slots=True)
class CallFacts:
    """All that is known of one call at some moment.

    `arguments` may be incomplete while they stream. `live_output` is what a running command has
    printed so far; once there is a completion the result speaks for itself.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    metadata: ToolMetadata = field(default_factory=ToolMetadata)
    completion: ToolCompletion | None = None
    progress: str = ""
    live_output: str = ""
    interrupted: bool = False
    awaiting_approval: bool = False


def tool_card(call: CallFacts) -> ToolCard:
    """Draw a call: running while it has no completion."""
    header = _header(call)
    if call.interrupted:
        return _interrupted(header, call)
    match call.completion:
        case None:
            return ToolCard(header, CardStatus.RUNNING, _running_facts(call), _live_body(call))
        case ToolUnavailable():
            return ToolCard(header, CardStatus.ERROR, (Fact("no such tool", "error"),))
        case ToolFailed(message=message) if message in (INTERRUPTED, "tool call cancelled"):
            return _interrupted(header, call)
        case ToolFailed():
            return _failed(header, call, call.completion)
        case ToolSucceeded():
            return _succeeded(header, call, call.completion)


def _header(call: CallFacts) -> CardHeader:
    arguments = call.arguments
    if call.name == "bash":
        return CardHeader("$", _text(arguments, "command"), dialect="shell")
    if call.name == "process":
        return _process_header(call)
    family = _FAMILIES.get(call.name, "default")
    key = _PRIMARY_KEYS.get(call.name, "path")
    primary = _grep_primary(arguments) if call.name == "grep" else _text(arguments, key)
    if call.name in DOCUMENT_TOOLS:
        primary = document_primary(call.name, arguments) or ", ".join(call.metadata.affected_paths)
    if call.name == "read_file":
        primary += _line_range(call.metadata.details)
    return CardHeader(call.name, primary or _raw(call), family)


def _process_header(call: CallFacts) -> CardHeader:
    """The command, where it is known: a result of polling names what it polled."""
    command = _text(call.arguments, "command") or _text(call.metadata.details, "command")
    primary = command or _text(call.arguments, "process_id")
    action = _text(call.arguments, "action")
    return CardHeader(f"{call.name} {action}".rstrip(), primary)


def _grep_primary(arguments: Mapping[str, Any]) -> str:
    parts = [_text(arguments, "pattern"), _text(arguments, "path")]
    return ", ".join(part for part in parts if part)


def _line_range(details: Mapping[str, Any]) -> str:
    start, end = details.get("start_line"), details.get("end_line")
    return f":{start}-{end}" if start and end else ""


def _raw(call: CallFacts) -> str:
    """Unknown tools show their command summary, path or raw arguments (APP2.29)."""
    if call.name in _FAMILIES:
        return ""
    if call.metadata.command_summary:
        return call.metadata.command_summary
    if call.metadata.affected_paths:
        return ", ".join(call.metadata.affected_paths)
    return json.dumps(call.arguments, ensure_ascii=False) if call.arguments else ""


def _running_facts(call: CallFacts) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    if call.name == "bash":
        timeout = call.arguments.get("timeout_seconds")
        facts.append(Fact(f"timeout {timeout}s" if timeout else "timeout none", "meta"))
    if call.progress:
        facts.append(Fact(call.progress, "meta"))
    if call.awaiting_approval:
        facts.append(Fact("waiting for your approval", "warning"))
    return (*(_diff_stat(call.metadata) or _projected_stat(call)), *facts)


def _live_body(call: CallFacts) -> tuple[Body, ...]:
    if call.awaiting_approval:
        return ()  # the prompt shows what would happen; twice would be noise
    if call.live_output:
        return (ShellBody(output_tail(call.live_output, MAX_LIVE_OUTPUT)),)
    if not call.metadata.diff and (projection := project(call.name, call.arguments)):
        return (DiffBody(projection.diff, projection.files[0].shown),)
    return _diff_body(call.metadata)


def _interrupted(header: CardHeader, call: CallFacts) -> ToolCard:
    """A call without a result shows as much of its output as the session file keeps."""
    kept = replace(call, live_output=output_tail(call.live_output))
    return ToolCard(header, CardStatus.INTERRUPTED, (), _live_body(kept))


def _projected_stat(call: CallFacts) -> tuple[Fact, ...]:
    """What an edit that is still being written declares, and whether the files were looked at."""
    projection = project(call.name, call.arguments)
    if projection is None:
        return ()
    stat = Fact(f"+{projection.added} -{projection.removed} lines", "diff_stat")
    if not call.metadata.affected_paths:
        return (stat,)
    return (stat, Fact("not verified against the files", "meta"))


def _failed(header: CardHeader, call: CallFacts, failure: ToolFailed) -> ToolCard:
    if call.name == "bash" and "duration_seconds" in failure.metadata.details:
        # the command ran: its output and exit code say more than the first line would
        drawn = shell_result(failure.metadata, failure.message)
        return ToolCard(header, CardStatus.ERROR, *drawn)
    first, _, rest = failure.message.partition("\n")
    if len(first) > _MAX_ERROR_FACT:
        rest = f"{first}\n{rest}" if rest else first
        first = first[: _MAX_ERROR_FACT - 1] + "…"
    bodies: tuple[Body, ...] = (TextBody(rest),) if rest.strip() else ()
    return ToolCard(header, CardStatus.ERROR, (Fact(first, "error"),), bodies)


def _succeeded(header: CardHeader, call: CallFacts, success: ToolSucceeded) -> ToolCard:
    metadata = success.output.metadata
    done = replace(call, metadata=metadata)
    notices = tuple(Fact(text, "warning") for text in metadata.presentation_notices)
    draw = _RESULTS.get(call.name, _other_result)
    facts, bodies = draw(done, success.output.content)
    return ToolCard(_header(done), CardStatus.OK, (*notices, *facts), bodies)


def _count(key: str, singular: str, plural: str) -> Callable[[CallFacts, str], Drawn]:
    def draw(call: CallFacts, _content: str) -> Drawn:
        number = call.metadata.details.get(key)
        if number is None:
            return (), ()
        return (Fact(f"{number} {singular if number == 1 else plural}", "meta"),), ()

    return draw


def _search_result(call: CallFacts, content: str) -> Drawn:
    details = call.metadata.details
    matches, files = details.get("matches"), details.get("files")
    if matches is None:
        return (), ()
    text = f"{matches} match{'' if matches == 1 else 'es'}"
    summary = f"{matches} files"
    if call.name == "grep" and files is not None:
        text += f" in {files} file{'' if files == 1 else 's'}"
        summary = f"{matches} matches in {files} files"
    content = content.removesuffix(f"\n\n{summary}")  # the fact says it
    body: Body = TextBody(content)
    if call.name == "grep" and call.arguments.get("output_mode", "content") == "content":
        sensitive = call.arguments.get("case_sensitive", True) is not False
        literal = call.arguments.get("literal") is True
        body = SearchBody(content, _text(call.arguments, "pattern"), literal, sensitive)
    return (Fact(text, "meta"),), (body,) if matches and content.strip() else ()


def _edit_result(call: CallFacts, _content: str) -> Drawn:
    stat = _diff_stat(call.metadata)
    return stat or (Fact("no changes", "meta"),), _diff_body(call.metadata)


def _questionnaire_result(_call: CallFacts, content: str) -> Drawn:
    try:
        result = json.loads(content)
        rows = [f"{a['id']}: {_answer(a['answer'])}" for a in result["answers"]]
        timed_out = result.get("source") == "timeout_fallback"
    except (ValueError, KeyError, TypeError):
        return (), (TextBody(content),)
    facts = [Fact(row) for row in rows]
    if timed_out:
        facts.insert(0, Fact("answered by the timeout fallback, not by you", "warning"))
    return tuple(facts), ()


def _answer(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _other_result(call: CallFacts, content: str) -> Drawn:
    urls = tuple(Fact(url, "meta") for url in call.metadata.urls)
    body: tuple[Body, ...] = (TextBody(content),) if content.strip() else ()
    return (*_diff_stat(call.metadata), *urls), (*_diff_body(call.metadata), *body)


_RESULTS: Mapping[str, Callable[[CallFacts, str], Drawn]] = {
    "list_dir": _count("entries", "entry", "entries"),
    "read_file": _count("lines", "line", "lines"),
    "grep": _search_result,
    "glob": _search_result,
    "bash": lambda call, content: shell_result(call.metadata, content),
    "process": lambda call, content: process_result(call.metadata, content),
    "write": _edit_result,
    "str_replace": _edit_result,
    "edit": _edit_result,
    "apply_patch": _edit_result,
    "skill": lambda _call, _content: ((), ()),
    "questionnaire": _questionnaire_result,
}


def _diff_stat(metadata: ToolMetadata) -> tuple[Fact, ...]:
    details = metadata.details
    added, removed = details.get("added"), details.get("removed")
    if added is None or removed is None:
        if not metadata.diff:
            return ()
        added, removed = _count_changes(metadata.diff)
    return (Fact(f"+{added} -{removed} lines", "diff_stat"),)


def _count_changes(diff: str) -> tuple[int, int]:
    added = removed = 0
    for line in diff.splitlines():
        added += line.startswith("+") and not line.startswith("+++ ")
        removed += line.startswith("-") and not line.startswith("--- ")
    return added, removed


def _diff_body(metadata: ToolMetadata) -> tuple[Body, ...]:
    if not metadata.diff:
        return ()
    path = metadata.affected_paths[0] if metadata.affected_paths else ""
    return (DiffBody(metadata.diff, path),)


def _text(arguments: Mapping[str, Any], key: str) -> str:
    value = arguments.get(key)
    return value if isinstance(value, str) else ""
