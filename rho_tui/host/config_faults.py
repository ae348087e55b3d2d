"""Fits tables to the configuration: keeps what is valid, names every fault and what it means."""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from rho_tui.host.config import (
    UNREADABLE_PROVIDER,
    UNUSABLE_URL,
    Config,
    ConfigError,
    address_problem,
)
from rho_tui.host.config_keys import KeyPath, names_at, nearest_key, shown_key, value_at

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_TOO_DEEP = "the configuration is nested too deeply"
_VENDORS = ("openai", "anthropic")
_WEEK = 7 * 24 * 60 * 60
#: Whole numbers with bounds: the smallest and, where there is one, the largest.
_RANGES: Final[Mapping[KeyPath, tuple[int, int | None]]] = {
    ("model", "max_steps"): (1, None),
    ("display", "max_tool_output_lines"): (1, None),
    ("display", "prompt_history_limit"): (0, 10_000),
    ("output", "max_output_bytes"): (1, None),
    ("questionnaire", "timeout_seconds"): (1, _WEEK),
}
#: What stands where one of these was meant and cannot be read, and what that means. Their defaults
#: would send keys and prompts elsewhere; the default permission mode is the strict one already.
_GUARDS: Final[Mapping[KeyPath, tuple[str, str]]] = {
    ("model", "provider"): (
        UNREADABLE_PROVIDER,
        "no provider is chosen before this is mended",
    ),
    **{
        ("providers", vendor, "base_url"): (
            UNUSABLE_URL,
            f"{vendor} cannot be used before this is mended",
        )
        for vendor in _VENDORS
    },
}


@dataclass(frozen=True, slots=True)
class ConfigFault:
    """A key that does not apply; the message names it, the cause and what holds instead."""

    path: KeyPath
    message: str


@dataclass(frozen=True, slots=True)
class Fitted:
    """What is left of some tables, the configuration they make, and what was left out."""

    config: Config
    data: dict[str, Any]
    faults: list[ConfigFault]


@dataclass(frozen=True, slots=True)
class _Blame:
    """A key and why it does not apply."""

    path: KeyPath
    cause: str
    is_unknown: bool = False


def fit(data: Mapping[str, Any]) -> Fitted:
    """Take every fault out of `data`. Raises `ConfigError` when no key can be blamed."""
    try:
        kept = copy.deepcopy(dict(data))
        judged = _judge(kept)
    except RecursionError:
        raise ConfigError(_TOO_DEEP) from None
    found: list[ConfigFault] = []
    while not isinstance(judged, Config):
        changed = False
        for blame in judged:
            meant = _meant(kept, blame)
            guards = _guards_of(kept, blame.path, meant)
            found.append(ConfigFault(blame.path, _message(blame, meant, guards)))
            changed |= _remove(kept, blame)
            for guard in guards:
                _put(kept, guard, _GUARDS[guard][0])
        if not changed:  # the validator blames the whole: it has a limit of its own
            raise ConfigError(_TOO_DEEP)
        judged = _judge(kept)
    return Fitted(judged, kept, found)


# -- finding faults -----------------------------------------------------------------------------


@functools.cache
def _adapter() -> TypeAdapter[Config]:
    from pydantic import TypeAdapter

    return TypeAdapter(Config)


def _judge(data: Mapping[str, Any]) -> Config | list[_Blame]:
    from pydantic import ValidationError

    try:
        # strict dataclasses accept tables only from JSON; TOML dates become (refused) strings
        config = _adapter().validate_json(json.dumps(_tidied(data), default=str))
    except ValidationError as error:
        return [_blame(fault) for fault in error.errors(include_url=False)]
    return list(_out_of_range(config)) or config


def _tidied(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data with `behavior.edit_tool` trimmed and in lower case (T1.4)."""
    behavior = data.get("behavior")
    if not isinstance(behavior, dict) or not isinstance(behavior.get("edit_tool"), str):
        return data
    return {**data, "behavior": {**behavior, "edit_tool": behavior["edit_tool"].strip().lower()}}


def _blame(fault: Any) -> _Blame:
    path = tuple(str(part) for part in fault["loc"])
    match fault["type"]:
        case "unexpected_keyword_argument" | "extra_forbidden":
            return _Blame(path, "unknown key", is_unknown=True)
        case "dataclass_type" | "dict_type":
            return _Blame(path, "a table is needed")
        case "missing":
            return _Blame(path, "it is missing")
        case _:
            return _Blame(path, fault["msg"])


def _out_of_range(config: Config) -> Iterator[_Blame]:
    for path, (least, most) in _RANGES.items():
        value = value_at(config, path)
        if value is not None and value < least:
            yield _Blame(path, f"must be at least {least}")
        elif value is not None and most is not None and value > most:
            yield _Blame(path, f"must be at most {most}")
    for name, provider in config.providers.custom.items():
        entry = ("providers", "custom", name)
        if name in (*_VENDORS, "demo"):
            yield _Blame(entry, f"{name} is the name of a built-in provider")
        elif not re.fullmatch("[a-z0-9-]+", name):
            yield _Blame(entry, "use lowercase letters, digits and hyphens for the name")
        yield from _bad_address((*entry, "base_url"), provider.base_url)
        if provider.context_window is not None and provider.context_window < 1:
            yield _Blame((*entry, "context_window"), "must be at least 1")
    for vendor in _VENDORS:
        path = ("providers", vendor, "base_url")
        address = value_at(config, path)
        if address not in (None, UNUSABLE_URL):
            yield from _bad_address(path, address)
    for model, price in config.prices.items():
        for part in fields(price):
            amount = getattr(price, part.name)
            if amount is not None and not 0 <= amount < float("inf"):
                yield _Blame(("prices", model, part.name), "must be an amount of at least 0")


def _bad_address(path: KeyPath, url: str) -> Iterator[_Blame]:
    if problem := address_problem(url):
        yield _Blame(path, problem)


# -- what a fault means ---------------------------------------------------------------------------


def _meant(data: Mapping[str, Any], blame: _Blame) -> KeyPath | None:
    """The valid key that the blamed one is or may mean."""
    if not blame.is_unknown:
        return blame.path
    return nearest_key(blame.path, is_table=isinstance(_at(data, blame.path), dict))


def _guards_of(data: Mapping[str, Any], path: KeyPath, meant: KeyPath | None) -> list[KeyPath]:
    """The guards that only the value under `path` would set, if it stood under `meant`."""
    if not meant:
        return []
    return [
        guard
        for guard in _GUARDS
        if guard[: len(meant)] == meant
        and _holds(data, path, guard[len(meant) :])
        and (guard == path or not _holds(data, guard, ()))
    ]


def _holds(data: Any, path: KeyPath, rest: KeyPath) -> bool:
    """Whether there is something under `path` and, where that is a table, under `rest` in it."""
    value = _at(data, path)
    if value is not None and not isinstance(value, dict):
        return rest in ((), ("base_url",))  # `openai = "http://…"` for `openai.base_url`
    return value is not None and (not rest or _holds(value, rest, ()))


def _at(data: Any, path: KeyPath) -> Any:
    """What stands under `path` in tables; None: nothing."""
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return data


def _remove(data: dict[str, Any], blame: _Blame) -> bool:
    """Take the key out, with the entry that is of no use without it. False: it is not there."""
    path = blame.path
    if not blame.is_unknown:
        path = path[: _entry_length(path) or len(path)]
    table = _at(data, path[:-1])
    if not path or not isinstance(table, dict) or path[-1] not in table:
        return False
    del table[path[-1]]
    return True


def _put(data: dict[str, Any], path: KeyPath, value: str) -> None:
    for part in path[:-1]:
        data = data.setdefault(part, {})
    data[path[-1]] = value


def _entry_length(path: KeyPath) -> int:
    """How much of `path` names an entry that is of use only as a whole; 0: it is in none."""
    for length, tables in ((3, ("providers", "custom")), (2, ("prices",))):
        if len(path) >= length and path[: len(tables)] == tables:
            return length
    return 0


def _message(blame: _Blame, meant: KeyPath | None, guards: list[KeyPath]) -> str:
    key = shown_key(blame.path)
    strict = [_GUARDS[guard][1] for guard in guards]
    if blame.is_unknown:
        known = f"known here: {', '.join(names_at(blame.path[:-1]))}"
        advice = f"did you mean {shown_key(meant)}?" if meant else known
        return "; ".join([f"unknown key {key} is ignored", advice, *strict])
    if not strict:
        length = _entry_length(blame.path)
        entry = f"{shown_key(blame.path[:length])} is left out"
        strict = [entry if length else _default_shown(blame.path)]
    return "; ".join([f"{key}: {blame.cause}", *strict])


def _default_shown(path: KeyPath) -> str:
    default = value_at(Config(), path)
    if default is None or is_dataclass(default) or isinstance(default, dict):
        return "it is ignored"
    return f"using {json.dumps(default)}"
