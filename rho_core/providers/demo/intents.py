"""What the demo understands of a prompt: a handful of plain requests, by pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Read:
    """`read FILE`"""

    path: str


@dataclass(frozen=True, slots=True)
class ListDir:
    """`list [DIR]`"""

    path: str = "."


@dataclass(frozen=True, slots=True)
class Find:
    """`find TEXT`"""

    text: str


@dataclass(frozen=True, slots=True)
class Replace:
    """`replace [all] A with B in FILE`"""

    old: str
    new: str
    path: str
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """`run COMMAND`"""

    command: str


@dataclass(frozen=True, slots=True)
class AskMe:
    """`ask me`"""


@dataclass(frozen=True, slots=True)
class Plan:
    """`plan [WHAT]`"""

    what: str = ""


@dataclass(frozen=True, slots=True)
class Tour:
    """`tour`"""


@dataclass(frozen=True, slots=True)
class Help:
    """Anything else, greetings included."""


Intent: TypeAlias = Read | ListDir | Find | Replace | Run | AskMe | Plan | Tour | Help

_PART = r"(`[^`]+`|\"[^\"]+\"|'[^']+'|.+?)"
_REPLACE = re.compile(
    rf"(?:replace|change)\s+(all\s+)?{_PART}\s+(?:with|by|to)\s+{_PART}\s+in\s+(\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_ASK = re.compile(r"ask(?:\s+me)?(?:\s+.*)?|questions?", re.IGNORECASE)
_TOUR = re.compile(r"(?:the\s+|take\s+(?:a|the)\s+|start\s+(?:the\s+)?)?tour", re.IGNORECASE)
_LIST = re.compile(r"(?:list|ls|dir)(?:\s+(?:files|the\s+files))?(?:\s+in)?(?:\s+(.+))?", re.I)
_READ = re.compile(r"(?:read|show|open|cat)(?:\s+me)?\s+(?:the\s+file\s+)?(.+)", re.IGNORECASE)
_FIND = re.compile(r"(?:find|search|grep)(?:\s+for)?\s+(.+)", re.IGNORECASE | re.DOTALL)
_RUN = re.compile(r"(?:run|execute|exec)\s+(.+)|\$\s*(.+)", re.IGNORECASE | re.DOTALL)
_PLAN = re.compile(r"plan\b\s*(.*)", re.IGNORECASE | re.DOTALL)


def parse_intent(prompt: str) -> Intent:
    """What the prompt asks for. Quotes, backticks, a leading `@` and a final stop are ignored."""
    text = prompt.strip()
    text = re.sub(r"^(?:please|now|can you|could you)[\s,]+", "", text, flags=re.IGNORECASE)
    plain = text.rstrip(" .!?")
    if _TOUR.fullmatch(plain):
        return Tour()
    if _ASK.fullmatch(plain):
        return AskMe()
    if found := _REPLACE.fullmatch(text):
        everywhere, old, new, path = found.groups()
        return Replace(_bare(old), _bare(new), _path(path), bool(everywhere))
    if found := _RUN.fullmatch(text):
        return Run(_bare(found[1] or found[2]))
    if found := _FIND.fullmatch(text):
        return Find(_bare(found[1]))
    if found := _PLAN.fullmatch(text):
        return Plan(found[1].strip())
    if found := _READ.fullmatch(text):
        return Read(_path(found[1]))
    if found := _LIST.fullmatch(text):
        return ListDir(_path(found[1]) if found[1] else ".")
    return Help()


def _bare(text: str) -> str:
    text = text.strip()
    if len(text) > 2 and text[0] == text[-1] and text[0] in "`\"'":
        return text[1:-1]
    return text


def _path(text: str) -> str:
    text = text.strip()
    # a final full stop ends the sentence, unless it is the path itself
    if re.fullmatch(r".*[^./]\.", text, re.DOTALL):
        text = text[:-1]
    bare = _bare(text)
    return bare.removeprefix("@") or bare
