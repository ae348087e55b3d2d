"""Sizes, themes and types of the snapshot tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.tui.scene import Scene

NORMAL, WIDE, NARROW = (80, 24), (120, 36), (40, 12)
DARK, LIGHT = "textual-dark", "textual-light"
Play = Callable[[Scene], Awaitable[None]]
Picture = Callable[..., bool]


def looks(*cases: tuple[tuple[int, int], str]) -> pytest.MarkDecorator:
    """Sizes and themes in which a picture is taken."""
    ids = [f"{w}x{h}-{theme.removeprefix('textual-')}" for (w, h), theme in cases]
    return pytest.mark.parametrize(("size", "theme"), cases, ids=ids)
