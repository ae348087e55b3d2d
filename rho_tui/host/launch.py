"""What the command line asked for, together with the configuration it meets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rho_tui.host.config import Config, with_overrides
from rho_tui.host.config_file import load_config
from rho_tui.host.git import project_root
from rho_tui.host.paths import RhoPaths


@dataclass(frozen=True, slots=True)
class Flags:
    """Choices for this run, None where the configuration decides."""

    provider: str | None = None
    model: str | None = None
    reasoning: str | None = None
    permission_mode: str | None = None
    config_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything a run of Rho starts from. `warnings` are for the user to read."""

    config: Config
    config_file: Path
    paths: RhoPaths
    cwd: Path
    environ: Mapping[str, str] = field(repr=False)
    or_demo: bool = False
    warnings: tuple[str, ...] = ()


def prepare_launch(
    flags: Flags,
    *,
    environ: Mapping[str, str] = os.environ,
    cwd: Path | None = None,
    or_demo: bool = False,
) -> Launch:
    """Read the configuration and put the flags over it. Raises `ConfigError`."""
    paths = RhoPaths.locate(environ)
    here = (cwd or Path.cwd()).resolve()
    config_file = flags.config_file or paths.config_file
    loaded = load_config(
        config_file,
        project_file=project_root(here) / ".rho" / "config.toml",
        required=flags.config_file is not None,
    )
    config = with_overrides(
        loaded.config,
        provider=flags.provider,
        model=flags.model,
        reasoning=flags.reasoning,
        permission_mode=flags.permission_mode,
    )
    return Launch(config, config_file, paths, here, environ, or_demo, loaded.warnings)


def reloaded(launch: Launch) -> Launch:
    """The launch with its file read again; choices for this run (the mode) stay. `ConfigError`."""
    project_file = project_root(launch.cwd) / ".rho" / "config.toml"
    config = load_config(launch.config_file, project_file=project_file).config
    mode = launch.config.behavior.permission_mode
    return replace(launch, config=with_overrides(config, permission_mode=mode))
