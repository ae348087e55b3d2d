"""Reads configuration files: what fits applies, what does not is named (6.3, 6.4; cases J1-J3).

A file that is no TOML is an error. A key that is unknown or holds what does not fit is left out
and told of with its file and line, the rest of the file applies; what guards the user falls to
its strict side.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rho_tui.host.config import Config, ConfigError

#: What a project may set in `.rho/config.toml`; a repository is not trusted with more.
PROJECT_SAFE_KEYS: Final = frozenset({"display", "output", "questionnaire", "model.reasoning"})

_MAX_FILE_BYTES = 1024 * 1024
_MAX_WARNINGS = 12
"""Of one file; a hostile project could bring any number, and keys of any length."""
_MAX_KEY = 80


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A configuration and what the user should know about how it came to be."""

    config: Config
    warnings: tuple[str, ...] = ()


def load_config(
    user_file: Path, *, project_file: Path | None = None, required: bool = False
) -> LoadedConfig:
    """Read the user's file and the project's safe keys.

    A missing user file means the defaults, unless it is `required` (it was named by a flag).
    Raises `ConfigError` when the user's file cannot be read or is no TOML.
    """
    warnings: list[str] = []
    text = _read(user_file, required=required)
    data = _fitting(parse_toml(text, user_file), text, user_file, warnings)
    if project_file is not None:
        data = _merge(data, _project_part(project_file, warnings))
    if not data:
        return LoadedConfig(Config(), tuple(warnings))
    from rho_tui.host.config_faults import fit

    return LoadedConfig(fit(data).config, tuple(warnings))


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """The tables in `text`. Raises `ConfigError` with `path` and the place of the fault."""
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: not valid TOML: nested too deeply") from None


def _read(path: Path, *, required: bool = False) -> str:
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            # a link in a repository can lead to a device without end
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(f"{path}: cannot be read: not a file")
            data = file.read(_MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{path}: no such configuration file") from None
        return ""
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _MAX_FILE_BYTES:
        raise ConfigError(f"{path}: cannot be read: larger than 1 MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: the file is not UTF-8 text") from None


def _fitting(data: Mapping[str, Any], text: str, path: Path, warnings: list[str]) -> dict[str, Any]:
    """What applies of `data`, read from `text`; the rest is told of with its line."""
    if not data:
        return {}
    from rho_tui.host.config_faults import fit
    from rho_tui.host.toml_lines import line_of

    try:
        fitted = fit(data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    told = [(line_of(text, fault.path) or 0, fault) for fault in fitted.faults[:_MAX_WARNINGS]]
    for line, fault in sorted(told, key=lambda pair: pair[0]):
        warnings.append(f"{path}{f':{line}' if line else ''}: {fault.message}")
    _tell_of_more(len(fitted.faults), path, warnings)
    return fitted.data


def _project_part(path: Path, warnings: list[str]) -> dict[str, Any]:
    """The safe keys of a project's file. No fault in it keeps Rho from starting."""
    try:
        text = _read(path)
        safe, refused = _safe_part(parse_toml(text, path))
        for key in refused[:_MAX_WARNINGS]:
            warnings.append(f"{path}: {key[:_MAX_KEY]} is ignored, a project cannot set it")
        _tell_of_more(len(refused), path, warnings)
        return _fitting(safe, text, path, warnings)
    except ConfigError as error:
        warnings.append(f"{error}; the file is ignored")
        return {}


def _tell_of_more(count: int, path: Path, warnings: list[str]) -> None:
    if count > _MAX_WARNINGS:
        warnings.append(f"{path}: {count - _MAX_WARNINGS} more keys are ignored")


def _safe_part(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    safe: dict[str, Any] = {}
    refused: list[str] = []
    for table, value in data.items():
        if table in PROJECT_SAFE_KEYS:
            safe[table] = value
        elif isinstance(value, dict):
            for key, item in value.items():
                name = f"{table}.{key}"
                if name in PROJECT_SAFE_KEYS:
                    safe.setdefault(table, {})[key] = item
                else:
                    refused.append(name)
        else:
            refused.append(table)
    return safe, refused


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key] = _merge(below, value)
        else:
            merged[key] = value
    return merged
