"""The scripted Chat Completions server as a process of its own, and Rho pointed at it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.terminal_program import RHO, ROOT, program_environment


@contextmanager
def local_server(
    scenario: dict[str, Any], folder: Path, *, record: Path | None = None
) -> Iterator[str]:
    """Serve `scenario` (see tests/servers/scenario.py); yields the base URL.

    With `record` every request body becomes a line of that file.
    """
    file = folder / "scenario.json"
    file.write_text(json.dumps(scenario), "utf-8")
    command = [sys.executable, "-m", "tests.servers", "chat", "--scenario", str(file)]
    command += ["--until-stdin-closes"]
    if record is not None:
        command += ["--record", str(record)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=program_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield json.loads(process.stdout.readline())["base_url"]
        finally:
            process.stdin.close()
            process.wait(10)


def rho_with(url: str, home: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command that opens Rho on the server, and its environment."""
    env = program_environment(RHO_HOME=str(home), OPENAI_API_KEY="k", OPENAI_BASE_URL=url)
    return (*RHO, "--provider", "openai", "--model", "test-model"), env
