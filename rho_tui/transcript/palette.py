"""Style keys to Rich styles, from the colours of the app's theme.

Rows carry keys such as `"md.h1 bold"` or `"syn.keyword bg:added"`. Only this module knows colours,
so a theme switch restyles rows without laying them out again.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.style import Style
from textual.color import Color, ColorParseError

from rho_tui.transcript.contrast import legible

_ATTRIBUTES = frozenset({"bold", "dim", "italic", "underline", "reverse", "strike"})

_FOREGROUND: Mapping[str, tuple[str, str]] = {
    "accent": ("text-accent", "bold"),
    "primary": ("text-primary", ""),
    "success": ("text-success", ""),
    "error": ("text-error", ""),
    "warning": ("text-warning", ""),
    "muted": ("foreground", "muted"),
    "border": ("foreground", "faint"),
    "link": ("text-primary", "underline"),
    "code": ("text-warning", ""),
    "web": ("text-primary", ""),
    "file": ("text-success", ""),
    "skill": ("text-secondary", ""),
    "md.bullet": ("text-primary", ""),
}
"""Key to theme variable and how it is used: an attribute, or a blend into the background."""

_ANSI_NAMES: Mapping[str, str] = {
    "md.h1": "magenta bold",
    "md.h2": "blue bold",
    "md.h3": "cyan bold",
    "md.h4": "green",
    "md.h5": "yellow",
    "md.h6": "bright_black",
    "syn.keyword": "magenta",
    "syn.name": "blue",
    "syn.type": "cyan",
    "syn.string": "green",
    "syn.number": "yellow",
    "syn.comment": "bright_black italic",
    "syn.operator": "",
    "syn.error": "",
}
"""Terminal colours (APP2.12); Textual maps them to its own palette outside ANSI themes."""

_BACKGROUND: Mapping[str, tuple[str, float]] = {
    "user": ("foreground", 0.10),
    "code": ("foreground", 0.05),
    "added": ("success", 0.13),
    "removed": ("error", 0.13),
    "added_word": ("success", 0.35),
    "removed_word": ("error", 0.35),
    "mark": ("warning", 0.35),
    "hover": ("foreground", 0.05),
    "selection": ("primary", 0.5),
}
"""Wash to the theme variable it takes and how much of it covers the background."""

_ANSI_BACKGROUND: Mapping[str, str] = {
    "added_word": "reverse",
    "removed_word": "reverse",
    "mark": "reverse",
    "selection": "reverse",
}
"""What a wash becomes where the background is the terminal's own and can't be blended."""

_BLEND = {"muted": 0.60, "faint": 0.38}


class Palette:
    """Styles of one theme. Unknown words of a key are ignored; answers are cached.

    Args:
        variables: The app's theme variables (`App.theme_variables`).
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._cache: dict[str, Style] = {}
        self._background = self._color("background")
        self._base = self._base_style()

    @property
    def base(self) -> Style:
        """Plain text on the transcript's background."""
        return self._base

    def style(self, key: str) -> Style:
        """The full style of a key, the base included."""
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) > 4096:  # hostile output may name every true colour
                self._cache.clear()
            found = self._base
            for word in key.split():
                found += self._word(word)
            self._cache[key] = found
        return found

    def _base_style(self) -> Style:
        foreground, background = self._color("foreground"), self._background
        return Style(
            color=foreground.rich_color if foreground else None,
            bgcolor=background.rich_color if background else None,
        )

    def _word(self, word: str) -> Style:
        if word in _ATTRIBUTES:
            return Style.parse(word)
        if word in _FOREGROUND:
            return self._foreground(*_FOREGROUND[word])
        if word in _ANSI_NAMES:
            return Style.parse(_ANSI_NAMES[word])
        if word.startswith("bg:"):
            name = word[3:]
            return self.wash(name) if name in _BACKGROUND else _ansi_style(name, background=True)
        if word.startswith("fg:"):
            return _ansi_style(word[3:], background=False)
        return Style.null()

    def _foreground(self, variable: str, use: str) -> Style:
        color = self._color(variable) or self._color(variable.removeprefix("text-"))
        amount = _BLEND.get(use)
        background = self._background
        if color is None or background is None or _is_terminal(color, background):
            plain = Style(color=color.rich_color) if color else Style.null()
            return Style(dim=True) if amount else plain + Style.parse(use)
        if amount is not None:
            color = background.blend(color, amount, 1)
        if use == "faint":  # rules and frames: there to be seen, not to be read
            return Style(color=color.rich_color)
        readable = legible(color, background, self._color("foreground") or color)
        return Style(color=readable.rich_color) + Style.parse("" if amount else use)

    def wash(self, name: str) -> Style:
        """The background of a wash alone, to lay over another style."""
        variable, amount = _BACKGROUND[name]
        color = self._color(variable)
        if color is None or self._background is None or _is_terminal(color, self._background):
            return Style.parse(_ANSI_BACKGROUND.get(name, ""))
        return Style(bgcolor=self._background.blend(color, amount, 1).rich_color)

    def _color(self, variable: str) -> Color | None:
        value = self._variables.get(variable, "")
        try:
            return Color.parse(value.split(" ")[0]) if value else None
        except ColorParseError:
            return None


def _is_terminal(*colors: Color) -> bool:
    return any(color.ansi is not None for color in colors)


def _ansi_style(name: str, *, background: bool) -> Style:
    """Style of a colour number (0-255) or `#rrggbb` from terminal output."""
    color = name if name.startswith("#") else f"color({name})"
    return Style(bgcolor=color) if background else Style(color=color)
