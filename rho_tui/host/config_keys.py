"""The valid keys of the configuration: which there are, and which one a misspelled one may mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

from rho_tui.host.config import Config

KeyPath: TypeAlias = tuple[str, ...]

_MAX_SHOWN = 80


def names_at(path: KeyPath) -> list[str]:
    """The keys of the table at `path`, which must be one."""
    kind: Any = Config
    for part in path:
        kind = get_args(kind)[1] if get_origin(kind) is dict else get_type_hints(kind)[part]
    return [field.name for field in fields(kind)]


def nearest_key(path: KeyPath, *, is_table: bool) -> KeyPath | None:
    """The valid key that an unknown one may mean: in its table, else anywhere. None: no idea."""
    name, here = path[-1], names_at(path[:-1])
    anywhere = {key[-1]: key for key in _all_keys(Config)}
    if name in anywhere and not is_table:  # the right word in the wrong table
        return anywhere[name]
    if found := difflib.get_close_matches(name, here, 1):
        return (*path[:-1], found[0])
    found = difflib.get_close_matches(name, anywhere, 1)
    return anywhere[found[0]] if found else None


def value_at(config: Config, path: KeyPath) -> Any:
    """What a configuration holds under `path`."""
    value: Any = config
    for part in path:
        value = getattr(value, part)
    return value


def shown_key(path: KeyPath) -> str:
    """The dotted key, cut where somebody made it long."""
    key = ".".join(path)
    return key if len(key) <= _MAX_SHOWN else key[: _MAX_SHOWN - 1] + "…"


def _all_keys(kind: Any, above: KeyPath = ()) -> Iterator[KeyPath]:
    for name, inner in get_type_hints(kind).items():
        if is_dataclass(inner):
            yield from _all_keys(inner, (*above, name))
        else:
            yield (*above, name)
