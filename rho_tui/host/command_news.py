"""What the user ran with `!` and the model has not been told of yet (APP5.54).

The records of a session say it, live and resumed alike: an included command that has ended is
told with the prompt that follows.
"""

from __future__ import annotations

from collections.abc import Iterable

from rho_core.errors import ToolErrorKind
from rho_core.tooling.values import ToolCompletion, ToolFailed, ToolSucceeded
from rho_tui.host.facts import INTERRUPTED_RESULT
from rho_tui.host.sessions import records as r

#: How every such text begins; it tells what a command printed from what a person wrote.
COMMAND_NEWS_HEAD = "The user ran a command since the last turn (this is no user input):"


class CommandNews:
    """Collects what is to be told with the next prompt. Feed it every record, in order."""

    def __init__(self, records: Iterable[r.Record] = ()) -> None:
        self._running: dict[str, r.UserCommandStarted] = {}
        self._texts: list[str] = []
        for record in records:
            self.note(record)

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Ids of commands of which no end is known."""
        return tuple(self._running)

    def note(self, record: r.Record) -> None:
        """A record was staged, or read."""
        match record:
            case r.UserCommandStarted(id=id):
                self._running[id] = record
            case r.UserCommandEnded(id=id, completion=completion):
                started = self._running.pop(id, None)
                if started is not None and started.included:
                    self._texts.append(command_text(started.command, completion))
            case r.MessageAppended(origin=r.MessageOrigin.PROMPT):
                self._texts.clear()
            case _:
                pass

    def take(self) -> tuple[str, ...]:
        """What is to be told now, oldest first; it is told once."""
        texts, self._texts = tuple(self._texts), []
        return texts

    def restore(self, texts: Iterable[str]) -> None:
        """It did not arrive: tell it with the next prompt."""
        self._texts[:0] = texts


def command_text(command: str, completion: ToolCompletion) -> str:
    """What the model reads of a command: the line, and what a tool result would say (T28.3)."""
    match completion:
        case ToolSucceeded(output=output):
            text = output.content
        case ToolFailed(kind=ToolErrorKind.CANCELLED, message=message):
            text = "interrupted" if message == INTERRUPTED_RESULT else "cancelled"
        case ToolFailed(message=message):
            text = message
        case _:
            text = ""
    return f"{COMMAND_NEWS_HEAD}\n$ {command}\n\n{text}"
