"""Importing the core is cheap: what is heavy loads where it is first needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pydantic", "httpx", "textual", "rich", "idna", "keyring", "pygments")
MODULES = (
    "rho_core.authority.pipeline", "rho_core.authority.policy", "rho_core.authority.workspace",
    "rho_core.diagnostics", "rho_core.history.snapshot", "rho_core.history.store",
    "rho_core.history.summarise", "rho_core.hooks.dispatch", "rho_core.secret",
    "rho_core.usage_recording",
)  # fmt: skip


@pytest.mark.clause("A28")
def test_authority_history_and_hooks_load_nothing_heavy() -> None:
    script = (
        f"import sys\nimport {', '.join(MODULES)}\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
