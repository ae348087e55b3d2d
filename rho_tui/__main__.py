"""`python -m rho_tui` is `rho`."""

from __future__ import annotations

import sys


def main() -> None:
    """The `rho` command."""
    from rho_tui.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
