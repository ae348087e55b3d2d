"""What a scripted server answers: turns in order, or turns chosen by rules.

A scenario is plain data and can be read from JSON:

    {"turns": [{"text": "hi"}, {"calls": [{"name": "bash", "arguments": {"command": "ls"}}]}]}

    {"rules": [{"tool_results_below": 50, "turn": {"calls": [
                   {"name": "read_file", "arguments": {"path": "f{results}.txt"}}]}}],
     "otherwise": {"text": "read {results} files"}}

In text and arguments `{results}` is the number of tool results since the last prompt, `{n}` the
number of the request, from 0, and `{tag}` the tag of the last view of a file in the newest results.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Call:
    """A tool call. `raw_arguments` sends that text in place of the arguments."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    raw_arguments: str | None = None

    @property
    def text(self) -> str:
        if self.raw_arguments is not None:
            return self.raw_arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Usage:
    """`prompt` counts all prompt tokens, the cached ones too."""

    prompt: int = 100
    completion: int = 20
    cached: int = 0
    cache_write: int = 0


@dataclass(frozen=True)
class Turn:
    """One answer.

    Sent in this order: reasoning, text, calls. `status` other than 200 sends an error instead.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage | None = Usage()
    finish: str = ""  # the vendor's stop word; by default what fits the content
    chunk_chars: int = 4  # characters of text and reasoning in one event
    argument_chars: int = 16  # characters of arguments in one fragment
    interleave_calls: bool = False  # fragments of parallel calls take turns
    delay: float = 0.0  # seconds before each event
    first_delay: float = 0.0  # seconds before the first event
    hold: float = 0.0  # seconds of silence after the content, before the end mark
    keep_alive: float = 0.0  # send comments (pings) at this interval while silent
    end: bool = True  # whether the end marks are sent
    disconnect_after: int | None = None  # reset the connection after so many events
    status: int = 200
    retry_after: str = ""
    error: str = "scripted failure"
    error_code: str = ""
    raw: bytes | None = None  # the whole body of a 200 answer, in place of all above
    raw_chunk: int = 0  # cut `raw` into pieces of so many bytes, 0 for one piece
    content_type: str = "text/event-stream"
    signature: str = "c2lnbmF0dXJl"  # of the reasoning, where the vendor signs it

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Turn:
        known = {f.name for f in fields(cls)}
        if unknown := set(value) - known:
            raise ValueError(f"unknown keys of a turn: {sorted(unknown)}; known: {sorted(known)}")
        values = dict(value)
        values["calls"] = tuple(Call(**call) for call in value.get("calls", ()))
        if value.get("usage") is not None:
            values["usage"] = Usage(**value["usage"])
        if value.get("raw") is not None:
            values["raw"] = value["raw"].encode()
        return cls(**values)


@dataclass(frozen=True)
class Facts:
    """What a rule may look at. `last_results` are the texts of the newest tool results."""

    request: int
    results: int
    last_user: str
    last_results: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A turn, and when to give it: every condition that is set must hold."""

    turn: Turn
    request: int | None = None
    tool_results: int | None = None
    tool_results_below: int | None = None
    user_contains: str | None = None
    result_contains: str | None = None

    def matches(self, facts: Facts) -> bool:
        return (
            (self.request is None or facts.request == self.request)
            and (self.tool_results is None or facts.results == self.tool_results)
            and (self.tool_results_below is None or facts.results < self.tool_results_below)
            and (self.user_contains is None or self.user_contains in facts.last_user)
            and (
                self.result_contains is None
                or any(self.result_contains in text for text in facts.last_results)
            )
        )


@dataclass(frozen=True)
class Scenario:
    """Rules first, then `turns` in order of requests, then `otherwise` (else the last turn)."""

    turns: tuple[Turn, ...] = ()
    rules: tuple[Rule, ...] = ()
    otherwise: Turn | None = None

    @classmethod
    def of(cls, value: Scenario | list[Turn] | Turn) -> Scenario:
        if isinstance(value, Scenario):
            return value
        return cls((value,) if isinstance(value, Turn) else tuple(value))

    @classmethod
    def load(cls, path: Path) -> Scenario:
        return cls.from_json(json.loads(path.read_text("utf-8")))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Scenario:
        rules = tuple(
            Rule(**{**rule, "turn": Turn.from_json(rule["turn"])})
            for rule in value.get("rules", ())
        )
        turns = tuple(Turn.from_json(turn) for turn in value.get("turns", ()))
        otherwise = value.get("otherwise")
        return cls(turns, rules, None if otherwise is None else Turn.from_json(otherwise))

    def answer(self, facts: Facts) -> Turn:
        for rule in self.rules:
            if rule.matches(facts):
                return filled(rule.turn, facts)
        if facts.request < len(self.turns):
            return filled(self.turns[facts.request], facts)
        last = self.otherwise or (self.turns[-1] if self.turns else None)
        if last is None:
            return Turn(status=500, error="the scenario has no answer for this request")
        return filled(last, facts)


def filled(turn: Turn, facts: Facts) -> Turn:
    """The turn with its placeholders replaced, and an id for every call."""
    calls = tuple(
        replace(
            call,
            id=call.id or f"call_{facts.request}_{number}",
            arguments={key: _fill(value, facts) for key, value in call.arguments.items()},
        )
        for number, call in enumerate(turn.calls)
    )
    return replace(turn, text=_fill(turn.text, facts), calls=calls)


def _fill(value: Any, facts: Facts) -> Any:
    if not isinstance(value, str):
        return value
    tags = re.findall(r"^\[.+#([0-9A-F]{4})\]$", "\n".join(facts.last_results), re.MULTILINE)
    filled = {"results": facts.results, "n": facts.request, "tag": tags[-1] if tags else ""}
    for name, what in filled.items():
        value = value.replace(f"{{{name}}}", str(what))
    return value
