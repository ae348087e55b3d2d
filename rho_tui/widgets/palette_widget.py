"""A widget that paints with the palette of the app's theme."""

from __future__ import annotations

from textual.widget import Widget

from rho_tui.transcript.palette import Palette


class PaletteWidget(Widget):
    """Keeps a `Palette` until the theme changes."""

    _palette: Palette | None = None

    @property
    def palette(self) -> Palette:
        """Styles of the current theme on the screen's background."""
        if self._palette is None:
            self._palette = Palette(self.app.theme_variables)
        return self._palette

    def notify_style_update(self) -> None:
        """Colours changed."""
        super().notify_style_update()
        self._palette = None
