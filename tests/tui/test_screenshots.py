"""The pictures of the README: up to date, the same at every drawing, and free of the machine."""

from __future__ import annotations

import getpass
import socket
import tempfile
from pathlib import Path

import pytest

from tests.screenshots import FOLDER, SHOTS, Shot, draw

_COMMON_NAMES = {"", "root", "user", "runner", "localhost"}


@pytest.mark.parametrize("shot", SHOTS, ids=[shot.name for shot in SHOTS])
def test_drawing_again_gives_the_same_picture(shot: Shot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    path = FOLDER / f"{shot.name}.svg"
    assert draw(shot) == path.read_text("utf-8"), "the app looks different: make screenshots"


def test_no_picture_knows_the_machine() -> None:
    names = {socket.gethostname(), getpass.getuser()} - _COMMON_NAMES
    secrets = {tempfile.gettempdir(), str(Path.home()), str(FOLDER.parent), "/tmp/"} | names
    pictures = [*FOLDER.glob("*.svg"), *Path(__file__).parent.glob("__snapshots__/*/*.svg")]
    assert len(pictures) > len(SHOTS)
    for picture in pictures:
        text = picture.read_text("utf-8")
        assert not [secret for secret in secrets if secret in text], picture.name
        assert len(text) < 150_000, picture.name
