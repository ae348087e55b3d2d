"""The command line itself: what it accepts, refuses and says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rho_tui.cli.main import _parser


def _rho(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rho_tui", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_version_is_the_package_version() -> None:
    from rho_core.version import __version__

    assert _rho("--version").stdout == f"rho {__version__}\n"


@pytest.mark.clause("APP6.14")
def test_without_a_terminal_it_points_to_rho_run() -> None:
    result = _rho()
    assert result.returncode == 2
    assert "rho run" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [["--prompt", "  "], ["--permission-mode", "yolo"], ["run", "--timeout", "0s", "x"], ["walk"]],
)
def test_wrong_use_exits_with_two(arguments: list[str]) -> None:
    assert _rho(*arguments).returncode == 2


def test_flags_count_on_either_side_of_the_command() -> None:
    before = _parser().parse_args(["--provider", "demo", "run", "hi"])
    after = _parser().parse_args(["run", "--provider", "demo", "hi"])
    assert before.provider == after.provider == "demo"
    assert _parser().parse_args(["run", "hi"]).provider is None


def test_modes_are_accepted_with_a_hyphen() -> None:
    assert _parser().parse_args(["--permission-mode", "allow-edits"]).permission_mode == (
        "allow_edits"
    )


def test_resume_takes_an_optional_id() -> None:
    assert _parser().parse_args(["--resume"]).resume == ""
    assert _parser().parse_args(["-R", "abc"]).resume == "abc"
    assert _parser().parse_args([]).resume is None
