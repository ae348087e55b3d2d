"""Reads the command line and hands over to the command's own module."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rho_core.version import __version__
from rho_tui.cli.exit_codes import EXIT_USAGE

MODES = ("supervised", "allow_edits", "plan", "bypass")
REASONING = ("off", "minimal", "low", "medium", "high", "xhigh", "max")

_COLLECT_AFTER = 10_000
"""New objects before the youngest are looked through for cycles.

The imports of the start make them by the ten thousand, all to stay; a step of a turn makes a few
hundred, most of them gone at its end without any looking.
"""


def run(argv: Sequence[str]) -> int:
    """Run `rho` with these arguments; returns the exit code."""
    gc.set_threshold(_COLLECT_AFTER)
    options = _parser().parse_args(argv)
    if options.command == "run":
        from rho_tui.cli.run import run_headless

        return run_headless(options)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print('rho needs a terminal; without one use: rho run "…"', file=sys.stderr)
        return EXIT_USAGE
    from rho_tui.cli.chat import run_chat

    return run_chat(options)


def _parser() -> argparse.ArgumentParser:
    from rho_tui.host.paths import RhoPaths

    parser = argparse.ArgumentParser(
        prog="rho",
        parents=[_choices()],
        description="A coding agent in your terminal.",
        epilog=f"Configuration: {RhoPaths.locate(os.environ).config_file}",
    )
    parser.add_argument("--version", action="version", version=f"rho {__version__}")
    parser.add_argument("--prompt", type=_prompt, metavar="TEXT", help="send TEXT at the start")
    parser.add_argument(
        "-R",
        "--resume",
        nargs="?",
        const="",
        metavar="ID",
        help="go on with a session: its id or the start of it; without one, the last one here",
    )
    parser.add_argument(
        "--or-demo",
        action="store_true",
        help="use the demo provider instead of the setup screen when none is configured",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    headless = commands.add_parser(
        "run",
        # suppressed, so that an absent flag here does not undo one given before the command
        parents=[_choices(argparse.SUPPRESS)],
        help="answer one prompt without a screen",
        description="Answer one prompt: the final answer on standard output, all else on "
        "standard error. Exit codes: 0 done, 1 failed, 2 wrong use, 124 time or step limit, "
        "130 interrupted.",
    )
    headless.add_argument("words", nargs="*", metavar="PROMPT", help="what to do")
    headless.add_argument("--stdin", action="store_true", help="read (more of) it from input")
    headless.add_argument("--timeout", type=_duration, metavar="D", help="such as 30s or 20m")
    headless.add_argument("--max-steps", type=_positive, metavar="N", help="model steps at most")
    return parser


def _choices(default: str | None = None) -> argparse.ArgumentParser:
    """The flags that `rho` and its commands share."""
    shared = argparse.ArgumentParser(add_help=False, argument_default=default)
    choose = shared.add_argument_group("choices for this run")
    choose.add_argument("--provider", metavar="P", help="openai, anthropic, demo or a custom name")
    choose.add_argument("--model", metavar="M", help="a model id of the provider")
    choose.add_argument("--reasoning", choices=REASONING, help="how hard the model thinks")
    choose.add_argument(
        "--permission-mode",
        type=lambda word: word.replace("-", "_"),
        choices=MODES,
        metavar="MODE",
        help=f"{', '.join(MODES)} (default: supervised)",
    )
    choose.add_argument("--config", type=Path, metavar="FILE", help="another config file")
    return shared


def _prompt(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("the prompt is blank")
    return text


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("give a whole number of at least 1")
    return int(text)


def _duration(text: str) -> float:
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "s")
    try:
        seconds = float(number) * units[unit]
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError("give a duration such as 30s, 20m or 1h")
    return seconds
