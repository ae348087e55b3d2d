"""What one transcript entry is: plain, immutable data that the layout engine turns into rows.

A block carries untrusted text as it came; every path from here to the screen goes through
`sanitize`. Blocks know nothing of width, theme or widgets. `layout.lay_out` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal


class CardStatus(StrEnum):
    """State of a tool card; each has its own marker, so it survives without colour (APP2.20)."""

    RUNNING = "running"
    OK = "ok"
    ERROR = "error"
    INTERRUPTED = "interrupted"


Family = Literal["default", "file", "web", "skill", "form", "agent"]
"""Colour family of a card's verb (APP2.22)."""

Dialect = Literal["call", "shell", "status"]
"""Header grammar: `verb(primary)`, `$ command`, or `identity  detail` (APP2.21)."""

Tone = Literal["text", "meta", "error", "warning", "success", "diff_stat"]
"""Colour of a fact. `diff_stat` colours words by their leading `+` and `-`."""


@dataclass(frozen=True, slots=True)
class UserBlock:
    """A prompt: text shown as typed on a soft full-width band (APP1.14)."""

    text: str
    attachments: tuple[str, ...] = ()
    """One label a line under the text, such as `[image 1: shot.png]`."""


@dataclass(frozen=True, slots=True)
class AssistantBlock:
    """Model text as Markdown; while `streaming`, `TranscriptView.append_text` makes it grow."""

    text: str = ""
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """Model reasoning, dim (APP2.16-2.19).

    With `show_text` the text is shown, else `Thinking...` while streaming. `elapsed` in seconds
    adds a `Thought for 3.2s` line. A closed block with neither text shown nor elapsed takes no
    rows.
    """

    text: str = ""
    streaming: bool = False
    elapsed: float | None = None
    show_text: bool = True


@dataclass(frozen=True, slots=True)
class NoticeBlock:
    """A dim italic remark of the application (APP1.14)."""

    text: str
    tone: Literal["info", "warning"] = "info"


@dataclass(frozen=True, slots=True)
class ErrorBlock:
    """A failure; drawn bold with the literal prefix `error: ` (APP1.14)."""

    text: str


@dataclass(frozen=True, slots=True)
class SessionHeaderBlock:
    """The lines on top of the transcript (APP1.9, APP1.10)."""

    version: str
    hints: tuple[tuple[str, str], ...] = ()
    """Pairs of key and action."""
    headline: str = ""
    """Warning line, such as the need to sign in."""
    update_notice: str = ""


@dataclass(frozen=True, slots=True)
class CardHeader:
    """First line of a card. `verb` is `$` or `PS` for shell, an identity for `status`."""

    verb: str
    primary: str = ""
    """Path, command, query or detail; newlines are hard breaks."""
    family: Family = "default"
    dialect: Dialect = "call"


@dataclass(frozen=True, slots=True)
class Fact:
    """One line under a card's header, drawn as a branch of a tree (APP2.23)."""

    text: str
    tone: Tone = "text"


@dataclass(frozen=True, slots=True)
class TextBody:
    """Plain text, coloured as code when `path` or `language` names a known one."""

    text: str
    language: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class SearchBody:
    """Lines that a search found, `12 | text` under the path of their file.

    What matched is marked: it is found again in the lines that are drawn, with the call's pattern.
    """

    text: str
    pattern: str
    literal: bool = False
    case_sensitive: bool = True


@dataclass(frozen=True, slots=True)
class ShellBody:
    """Captured terminal output: ANSI is interpreted safely, colours kept."""

    text: str


@dataclass(frozen=True, slots=True)
class DiffBody:
    """A unified diff of one or more files (APP2.31)."""

    diff: str
    path: str = ""
    """Names the language when the diff has no `+++` header."""


@dataclass(frozen=True, slots=True)
class MarkdownBody:
    """Text of an agent or advisor, drawn as Markdown inside the card."""

    text: str


Body = TextBody | SearchBody | ShellBody | DiffBody | MarkdownBody


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool call: header, facts, bodies, in one visual slot over its life (APP2.20, APP2.26)."""

    header: CardHeader
    status: CardStatus = CardStatus.RUNNING
    facts: tuple[Fact, ...] = ()
    bodies: tuple[Body, ...] = ()

    @property
    def live(self) -> bool:
        """Whether the call is still running; ctrl+o prefers live cards (APP2.25)."""
        return self.status is CardStatus.RUNNING


Block = (
    UserBlock
    | AssistantBlock
    | ReasoningBlock
    | NoticeBlock
    | ErrorBlock
    | SessionHeaderBlock
    | ToolCard
)


def is_open(block: Block) -> bool:
    """Whether text may still be appended at the block's end (no spacer follows, APP1.13)."""
    return isinstance(block, AssistantBlock | ReasoningBlock) and block.streaming


def extended(block: Block, delta: str) -> Block:
    """The block with `delta` added: to its text, or to the last shell body of a card.

    Raises:
        TypeError: The block has no text that can grow.
    """
    if isinstance(block, AssistantBlock | ReasoningBlock):
        return replace(block, text=block.text + delta)
    if isinstance(block, ToolCard):
        if block.bodies and isinstance(last := block.bodies[-1], ShellBody):
            grown = ShellBody(last.text + delta)
            return replace(block, bodies=(*block.bodies[:-1], grown))
        return replace(block, bodies=(*block.bodies, ShellBody(delta)))
    raise TypeError(f"{type(block).__name__} has no text that can grow")


def finished(block: Block) -> Block:
    """The block with its stream closed; other blocks as they are."""
    if isinstance(block, AssistantBlock | ReasoningBlock) and block.streaming:
        return replace(block, streaming=False)
    return block


def growth(old: Block, new: Block) -> str | None:
    """Text by which `new` only extends `old` (streams stay as open as they are), else None."""
    rest: Block
    match old, new:
        case AssistantBlock(streaming=True), AssistantBlock():
            begins, ends = old.text, new.text
            rest = replace(new, text=old.text, streaming=True)
        case ReasoningBlock(streaming=True), ReasoningBlock():
            begins, ends = old.text, new.text
            rest = replace(new, text=old.text, streaming=True)
        case ToolCard(bodies=(*_, ShellBody())), ToolCard(bodies=(*_, ShellBody())):
            last_old, last_new = old.bodies[-1], new.bodies[-1]
            assert isinstance(last_old, ShellBody)
            assert isinstance(last_new, ShellBody)
            begins, ends = last_old.text, last_new.text
            rest = replace(new, bodies=(*new.bodies[:-1], last_old))
        case _:
            return None
    if rest != old or not ends.startswith(begins):
        return None
    return ends[len(begins) :]
