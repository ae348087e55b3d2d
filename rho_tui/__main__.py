"""`python -m rho_tui` is `rho`."""

from __future__ import annotations

import sys


def main() -> None:
    """The `rho` command."""
    try:
        from rho_tui.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # Ctrl+C before anything else listens to it
        code = 128 + 2  # as shells have it: ended by SIGINT
    sys.exit(code)


if __name__ == "__main__":
    main()
