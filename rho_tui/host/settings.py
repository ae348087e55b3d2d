"""Saving choices into the user's own config file without touching the rest of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rho_core.private_files import replace_private_file
from rho_tui.host.config import ConfigError, check_config


def save_settings(path: Path, values: Mapping[str, str | int | bool]) -> None:
    """Set dotted keys (`model.provider`) in the file at `path`, keeping comments and layout.

    The result is validated before it replaces the file. Raises `ConfigError`.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        text = path.read_bytes().decode("utf-8") if path.exists() else ""
        document = tomlkit.parse(text)
        for dotted, value in values.items():
            *tables, key = dotted.split(".")
            table = document
            for name in tables:
                if name not in table:
                    table[name] = tomlkit.table()
                table = table[name]
            table[key] = value
        changed = tomlkit.dumps(document)
        check_config(changed, path)  # what could not be read back is not written
        replace_private_file(path, changed.encode())
    except (TOMLKitError, TypeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be edited: {error}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
