"""`python -m benchmarks [NAME…]`: run all or the named figures, print a table, keep the JSON.

Exits with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from benchmarks.figures import Figure

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "latest.json"
NAMES = (
    "startup", "idle", "stream", "steps", "frame", "core_import", "core_turn", "core_events",
    "core_arguments", "core_parallel", "core_snapshot", "core_drop", "search",
)  # fmt: skip
_HEAD = ("figure", "value", "floor", "unit", "result", "target", "met")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    names = parser.parse_args(arguments).names or NAMES
    if unknown := sorted(set(names) - set(NAMES)):
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    # end as on ctrl+c, so that the programs and servers being measured are ended too
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    compile_bytecode()
    figures: list[Figure] = []
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        figures += import_module(f"benchmarks.{name}").run()
    print(table(figures))
    keep(figures)
    return 0 if all(figure.met for figure in figures) else 1


def compile_bytecode() -> None:
    """Installed programs have their bytecode; without it a start costs four times as much."""
    for package in ("rho_core", "rho_tui", "benchmarks", "tests/servers"):
        if not compileall.compile_dir(ROOT / package, quiet=1):
            raise RuntimeError(f"{package} does not compile")


def table(figures: Sequence[Figure]) -> str:
    """The figures in columns, each with its note."""
    rows = [_HEAD, *map(_row, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
             for row in rows]  # fmt: skip
    notes = ["", *(figure.note for figure in figures)]
    return "\n".join(f"{line}  {note}".rstrip() for line, note in zip(lines, notes, strict=True))


def _row(figure: Figure) -> tuple[str, ...]:
    sign = "+" if figure.kind == "excess" else "x"
    return (
        figure.name,
        f"{figure.value:.2f}",
        f"{figure.floor:.2f}",
        figure.unit,
        f"{sign}{figure.result:.2f}",
        f"{sign}{figure.target:g}",
        "yes" if figure.met else "NO",
    )


def keep(figures: Sequence[Figure]) -> None:
    """Write the figures to benchmarks/results/latest.json."""
    document = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "figures": [
            {**asdict(figure), "result": figure.result, "met": figure.met} for figure in figures
        ],
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(document, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
