"""The fixture that takes pictures of the app."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from rho_core.providers.contract import ModelProvider
from tests.tui.pictures import DARK, NORMAL, Picture, Play
from tests.tui.scene import Scene
from tests.tui.stage import Stage


@pytest.fixture
def picture(
    snap_compare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Picture]:
    """Plays a scene and compares what is on the screen at its end."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    stages: list[Stage] = []

    def compare(
        play: Play,
        *,
        size: tuple[int, int] = NORMAL,
        theme: str = DARK,
        provider: ModelProvider | None = None,
        timeout_seconds: int | None = None,
    ) -> bool:
        stage = Stage(tmp_path, theme=theme, provider=provider, timeout_seconds=timeout_seconds)
        stages.append(stage)
        monkeypatch.setenv("HOME", str(stage.home))

        async def run(pilot: Pilot) -> None:
            scene = Scene(stage, pilot)
            await play(scene)
            await scene.rest()

        return bool(snap_compare(stage.app(), terminal_size=size, run_before=run))

    yield compare
    for stage in stages:
        stage.close()
