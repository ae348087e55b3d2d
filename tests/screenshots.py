"""Draws `screenshots/*.svg`: the real app with the built-in demo on a small real project.

Run by `make screenshots`. Nothing of the machine gets into the pictures, and drawing them twice
gives the same files.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from textual._doc import take_svg_screenshot
from textual.pilot import Pilot

from rho_core.providers.demo import DemoProvider
from tests.tui.scene import Scene
from tests.tui.stage import Stage

FOLDER = Path(__file__).parent.parent / "screenshots"
DARK, LIGHT = "textual-dark", "textual-light"


@dataclass(frozen=True)
class Shot:
    """One picture: its file's name without `.svg`, the size in cells, and what happens first."""

    name: str
    size: tuple[int, int]
    theme: str
    play: Callable[[Scene], Awaitable[None]]
    timeout_seconds: int | None = None


async def _start(scene: Scene) -> None:
    await scene.open()


async def _answer(scene: Scene) -> None:
    await scene.turn("plan whole-cent totals")


async def _approval(scene: Scene) -> None:
    await scene.turn("find DISCOUNT")
    scene.ask(
        "replace `amount -= amount * DISCOUNT` with `amount -= round(amount * RATE)` in pricing.py"
    )
    await scene.approval()
    scene.clock.now += 3


async def _question(scene: Scene) -> None:
    await scene.open()
    scene.ask("ask me")
    await scene.form()
    scene.clock.now += 11
    await scene.shows("within 18s")


async def _tools(scene: Scene) -> None:
    await scene.open()
    scene.ask("replace `0.20  # TODO: read it from the settings` with `0.25` in pricing.py")
    await scene.allow()
    await scene.ended()
    scene.ask("run sh tests.sh")
    await scene.allow()
    await scene.shows("cart …")
    scene.clock.now += 3


SHOTS = (
    Shot("approval-wide-dark", (120, 36), DARK, _approval),
    Shot("question-countdown-dark", (100, 30), DARK, _question, timeout_seconds=30),
    Shot("tools-dark", (100, 36), DARK, _tools),
    Shot("start-light", (100, 24), LIGHT, _start),
    Shot("answer-light", (100, 36), LIGHT, _answer),
)


def draw(shot: Shot) -> str:
    """The SVG of a shot. Sets `HOME` to a temporary folder while it runs."""
    home = os.environ.get("HOME")
    with tempfile.TemporaryDirectory(prefix="rho-") as root:
        stage = Stage(
            Path(root),
            theme=shot.theme,
            timeout_seconds=shot.timeout_seconds,
            provider=DemoProvider(seconds_per_word=0),
        )
        os.environ["HOME"] = str(stage.home)

        async def run(pilot: Pilot) -> None:
            scene = Scene(stage, pilot)
            await shot.play(scene)
            await scene.rest()

        try:
            svg = take_svg_screenshot(
                app=stage.app(), title="rho", terminal_size=shot.size, run_before=run
            )
        finally:
            stage.close()
            if home is None:
                del os.environ["HOME"]
            else:
                os.environ["HOME"] = home
    # Rich names the classes of a picture after a checksum that differs from run to run
    return re.sub(r"\bterminal-\d+-", "terminal-", svg)


def main() -> None:
    """Draw all of them."""
    os.environ.pop("NO_COLOR", None)
    FOLDER.mkdir(exist_ok=True)
    for shot in SHOTS:
        path = FOLDER / f"{shot.name}.svg"
        path.write_text(draw(shot), "utf-8")
        sys.stdout.write(f"{path.relative_to(FOLDER.parent)}\n")


if __name__ == "__main__":
    main()
