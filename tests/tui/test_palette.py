"""Text can be read in every theme."""

from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from rho_tui.transcript.contrast import LEGIBLE, contrast
from rho_tui.transcript.palette import Palette

WORDS = ("", "muted", "accent", "primary", "success", "error", "warning", "link", "code")
THEMES = sorted(name for name in BUILTIN_THEMES if not name.startswith("ansi"))


@pytest.mark.parametrize("theme", THEMES)
def test_words_stand_out_from_the_background(theme: str) -> None:
    palette = Palette(BUILTIN_THEMES[theme].to_color_system().generate())
    for word in WORDS:
        style = palette.style(word)
        assert style.color is not None
        assert style.bgcolor is not None
        text, ground = (Color.from_rich_color(part) for part in (style.color, style.bgcolor))
        assert contrast(text, ground) >= LEGIBLE, (word, text, ground)


def test_terminal_themes_leave_colours_to_the_terminal() -> None:
    palette = Palette(BUILTIN_THEMES["ansi-dark"].to_color_system().generate())
    assert palette.style("muted").dim


@pytest.mark.parametrize(
    ("one", "other", "ratio"), [("#000", "#fff", 21.0), ("#777", "#fff", 4.48), ("#fff", "#fff", 1)]
)
def test_contrast_is_the_ratio_of_wcag(one: str, other: str, ratio: float) -> None:
    assert contrast(Color.parse(one), Color.parse(other)) == pytest.approx(ratio, abs=0.01)
