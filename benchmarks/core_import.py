"""What `import rho_core` loads: nothing heavy, and in no time."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.figures import Figure
from benchmarks.terminal_program import ROOT, program_environment

HEAVY = ("httpx", "textual", "rich", "pydantic")


def run() -> list[Figure]:
    """How many of the heavy packages are loaded; none may be."""
    script = f"import rho_core, sys; print(*(n for n in {HEAVY!r} if n in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=program_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    note = f"loads {', '.join(loaded)}" if loaded else f"none of {', '.join(HEAVY)}"
    return [Figure("core_import", len(loaded), 0, "packages", 0, kind="excess", note=note)]
