"""Colours that can be read on their background, whatever the theme makes of them."""

from __future__ import annotations

from textual.color import Color

LEGIBLE = 4.5
"""The contrast that WCAG asks of text (level AA)."""

_STEP = 0.05


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of two colours as WCAG defines it, 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def legible(color: Color, background: Color, foreground: Color) -> Color:
    """`color`, or as much of `foreground` in it as it takes to be read; at most all of it."""
    share = 0.0
    found = color
    while contrast(found, background) < LEGIBLE and share < 1:
        share = min(1.0, share + _STEP)
        found = color.blend(foreground, share, 1)
    return found


def _luminance(color: Color) -> float:
    return (
        0.2126 * _linear(color.r / 255)
        + 0.7152 * _linear(color.g / 255)
        + 0.0722 * _linear(color.b / 255)
    )


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
