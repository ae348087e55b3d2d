"""One answer of the demo: Markdown, then tool calls. And how it quotes what tools returned."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rho_core.providers.demo.conversation import Conversation, Step

_LANGUAGES = {
    "py": "python",
    "md": "markdown",
    "toml": "toml",
    "json": "json",
    "rs": "rust",
    "js": "javascript",
    "ts": "typescript",
    "sh": "bash",
    "yml": "yaml",
    "yaml": "yaml",
    "html": "html",
    "css": "css",
    "c": "c",
    "go": "go",
}
_ROW = re.compile(r"^\s*\d+(?::| \|) ?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool call that the demo wants to make."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said, and what is called afterwards. Without a call the turn ends."""

    text: str
    calls: tuple[PlannedCall, ...] = ()


def calling(
    conversation: Conversation, text: str, name: str, arguments: Mapping[str, Any]
) -> Reply:
    """A reply that calls a tool, or says that the host does not offer it.

    Arguments that the tool's schema does not know are left out.
    """
    spec = conversation.tool(name)
    if spec is None:
        return Reply(
            f"For that I would call the tool `{name}`, but this session does not offer it. "
            "In plan mode, for instance, nothing can be changed or run."
        )
    known = spec.input_schema.get("properties")
    fitting = {
        key: value
        for key, value in arguments.items()
        if not isinstance(known, Mapping) or key in known
    }
    return Reply(text, (PlannedCall(name, fitting),))


def refusal(step: Step, what: str) -> str:
    """The answer to a denied or failed call, quoting what the tool said."""
    said = quoted(step.result.content, 6)
    if step.denied:
        return f"You (or the permission mode) said no to {what}, so nothing happened.\n\n{said}"
    return f"That did not work: {what} failed.\n\n{said}"


def quoted(text: str, lines: int) -> str:
    """The first lines as a quotation."""
    shown = text.strip().splitlines()[:lines] or ["(nothing)"]
    return "\n".join(f"> {line[:200]}" for line in shown)


def fenced(text: str, language: str = "", lines: int = 12) -> str:
    """The first lines in a code fence that no backtick inside can close."""
    rows = text.split("\n")
    body = "\n".join(row[:200] for row in rows[:lines])
    longest = max((len(run) for run in re.findall(r"`{3,}", body)), default=2)
    fence = "`" * (longest + 1)
    more = f"\n\n… and {len(rows) - lines} more lines." if len(rows) > lines else ""
    return f"{fence}{language}\n{body}\n{fence}{more}"


def file_text(result: str) -> str:
    """The lines of a numbered view without header, numbers and footer."""
    body = result.partition("\n")[2]
    rows = [row for row in body.split("\n") if _ROW.match(row)]
    return "\n".join(_ROW.sub("", row, count=1) for row in rows) if rows else body


def language_of(path: str) -> str:
    """The fence word for a path."""
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "")


def plural(count: int, noun: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def answers_in(result: str) -> dict[str, str]:
    """The answers of a questionnaire result by question id."""
    try:
        value = json.loads(result)
        found = value["answers"]
        return {
            str(item["id"]): ", ".join(item["answer"])
            if isinstance(item["answer"], list)
            else str(item["answer"])
            for item in found
        }
    except (ValueError, KeyError, TypeError):
        return {}


def answer_source(result: str) -> str:
    """`user`, `timeout_fallback`, or nothing when the result does not tell."""
    try:
        value = json.loads(result)
    except ValueError:
        return ""
    source = value.get("source") if isinstance(value, dict) else None
    return source if isinstance(source, str) else ""
