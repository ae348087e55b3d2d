"""Input that waits: steers of this run and follow-ups for after it (APP1.23-1.25)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rho_tui.transcript.sanitize import clean_text
from rho_tui.widgets.line_view import LineView
from rho_tui.widgets.lines import Line

MAX_ITEMS = 3


@dataclass(frozen=True, slots=True)
class PendingItem:
    """One waiting input; `context` says what it waits for, such as `current run`."""

    kind: Literal["steer", "next"]
    text: str
    context: str = ""


class PendingInputPanel(LineView):
    """Shows the newest waiting inputs; hidden when there are none."""

    DEFAULT_CSS = """
    PendingInputPanel { display: none; max-height: 4; padding: 0 1; background: $surface; }
    """

    def __init__(
        self,
        *,
        hint: str = "alt+up edit",
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._hint = hint

    def show(self, items: Sequence[PendingItem]) -> None:
        """Replace what is shown."""
        self.set_lines(pending_lines(items, self._hint))
        self.display = bool(items)


def pending_lines(items: Sequence[PendingItem], hint: str = "") -> list[Line]:
    """Header and at most three rows, the newest last."""
    if not items:
        return []
    steers = sum(item.kind == "steer" for item in items)
    follow_ups = len(items) - steers
    parts = ["pending input"]
    if steers:
        parts.append(f"{steers} steer{'s' if steers > 1 else ''}")
    if follow_ups:
        parts.append(f"{follow_ups} follow-up{'s' if follow_ups > 1 else ''}")
    header = " · ".join(parts)
    lines = [Line(((header, "muted"), (f"   {hint}" if hint else "", "muted")), crop=True)]
    for item in items[-MAX_ITEMS:]:
        mark = ("STEER", "warning") if item.kind == "steer" else ("NEXT ", "accent")
        context = f" {item.context}" if item.context else ""
        lines.append(
            Line(
                (("  ", ""), mark, (context, "muted"), (f"  {_one_line(item.text)}", "")), crop=True
            )
        )
    return lines


def _one_line(text: str) -> str:
    return " ".join(clean_text(text[:300]).split())
