"""What the composer suggests for the token under the caret; no Textual (APP5.2, 5.47)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from rho_tui.widgets.lines import Line
from rho_tui.widgets.slash_commands import CommandRegistry

MAX_ROWS = 5
MAX_SUGGESTIONS = 50

_MENTION = re.compile(r"(?:^|(?<=\s))@([^\s@]*)\Z")
_COMMAND = re.compile(r"/([\w:.-]*)\Z")


class FileFinder(Protocol):
    """Finds files to mention."""

    async def find(self, query: str, limit: int) -> Sequence[str]:
        """At most `limit` paths for what stands behind the `@`, best first; bounded in time."""
        ...


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One completion: what is shown, and what replaces the token."""

    label: str
    insert: str
    detail: str = ""
    runs: bool = False
    """Whether Enter submits after completing."""


@dataclass(frozen=True, slots=True)
class Token:
    """The part of a line that a suggestion replaces: from `start` up to the caret."""

    kind: Literal["command", "mention"]
    start: int
    query: str


def token_at(lines: Sequence[str], row: int, column: int) -> Token | None:
    """The token that ends at the caret, if it asks for suggestions."""
    before = lines[row][:column]
    if len(lines) == 1 and (match := _COMMAND.match(before)):
        return Token("command", 0, match[1])
    if len(before) > 4096:
        before = before[-4096:]
    if match := _MENTION.search(before):
        return Token("mention", column - len(match[1]) - 1, match[1])
    return None


def command_suggestions(registry: CommandRegistry, query: str) -> list[Suggestion]:
    """Commands whose name starts with the query."""
    found = registry.complete(query)[:MAX_SUGGESTIONS]
    return [
        Suggestion(
            command.usage,
            f"/{command.name} " if command.hint else f"/{command.name}",
            command.help,
            runs=not command.needs_argument,
        )
        for command in found
    ]


def mention_suggestions(paths: Sequence[str]) -> list[Suggestion]:
    """Files to mention."""
    return [Suggestion(path, _mention(path)) for path in paths[:MAX_SUGGESTIONS]]


def suggestion_lines(suggestions: Sequence[Suggestion], selected: int) -> list[Line]:
    """Rows of the palette: mark, label column, detail (APP5.2)."""
    width = min(32, max((len(item.label) for item in suggestions), default=0))
    lines = []
    for index, item in enumerate(suggestions):
        here = index == selected
        style = "accent" if here else ""
        label = f"{'> ' if here else '  '}{item.label}"
        runs = [(label, style)]
        if item.detail:
            runs = [(f"{label:<{width + 2}}", style), (f"  {item.detail}", "muted")]
        lines.append(Line(tuple(runs), crop=True))
    return lines


def _mention(path: str) -> str:
    quoted = f'"{path}"' if any(char.isspace() for char in path) else path
    return f"@{quoted} "
