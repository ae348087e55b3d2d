"""Saving choices into the user's own config file without touching the rest of it (6.5; case J4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rho_core.private_files import replace_private_file
from rho_tui.host.config import ConfigError
from rho_tui.host.config_faults import fit
from rho_tui.host.config_file import parse_toml


def save_settings(path: Path, values: Mapping[str, str | int | bool]) -> None:
    """Set dotted keys (`model.provider`) in the file at `path`; all else in it keeps its bytes.

    The result is read back before it replaces the file. Raises `ConfigError`.
    """
    from tomlkit.exceptions import TOMLKitError

    try:
        text = path.read_bytes().decode("utf-8") if path.exists() else ""
        changed = _with_values(text, values)
        _check(text, changed, values, path)
        replace_private_file(path, changed.encode())
    except (TOMLKitError, TypeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be edited: {error}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None


def _with_values(text: str, values: Mapping[str, str | int | bool]) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    for dotted, value in values.items():
        *tables, key = dotted.split(".")
        table: Any = document
        for name in tables:
            if name not in table:
                table[name] = tomlkit.table()
            table = table[name]
        table[key] = value
    changed = tomlkit.dumps(document)
    if "\r\n" in text and not re.search("(?<!\r)\n", text):
        changed = re.sub("(?<!\r)\n", "\r\n", changed)  # new lines come with a bare newline
    return changed


def _check(text: str, changed: str, values: Mapping[str, str | int | bool], path: Path) -> None:
    """Raise `ConfigError` unless `changed` holds `values` and no fault that `text` had not."""
    data = parse_toml(changed, path)
    known = fit(parse_toml(text, path)).faults
    for fault in fit(data).faults:
        if fault not in known:
            raise ConfigError(f"{path}: {fault.message}")
    for dotted, value in values.items():
        found: Any = data
        for part in dotted.split("."):
            found = found[part]
        if found != value:
            raise ConfigError(f"{path}: {dotted} cannot be set here")
