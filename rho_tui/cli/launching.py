"""From parsed arguments to a launch; shared by the commands."""

from __future__ import annotations

import argparse
import sys

from rho_tui.host.launch import Flags, Launch, prepare_launch


def launch_from(options: argparse.Namespace) -> Launch:
    """Read the configuration under the given flags. Raises `ConfigError`."""
    flags = Flags(
        provider=options.provider,
        model=options.model,
        reasoning=options.reasoning,
        permission_mode=options.permission_mode,
        config_file=options.config,
    )
    return prepare_launch(flags, or_demo=options.or_demo)


def complain(error: object) -> None:
    """Say on standard error why nothing was done; names in it may come from anywhere."""
    from rho_tui.transcript.sanitize import clean_line

    print(clean_line(f"rho: {error}"), file=sys.stderr)
