"""What the status line says in a given width; pure (APP1.33-1.39)."""

from __future__ import annotations

from dataclasses import dataclass

from rho_tui.transcript.rows import Run
from rho_tui.transcript.sanitize import clean_line
from rho_tui.transcript.wrap import cell_breaks, crop_cells, text_width
from rho_tui.widgets.divider import REASONING_COLOURS

_SEPARATOR = " · "
_GAP = 2
_VANISH = ("reasoning", "rate", "provider", "cost", "context", "model", "permission")
"""Fields in the order in which they go when the width is short (APP1.38)."""


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """Everything the status line may show.

    `cwd` is an absolute path, `home` is shown as `~`. `context_tokens` is None when unknown (after
    a compaction, APP1.35) and `context_window` None for an unknown window. `cost` is dollars,
    `rate` tokens per second; None leaves the field out. `permission_warns` styles the label as a
    warning (bypass). `signed_in` False replaces provider, model and reasoning.
    """

    cwd: str = ""
    home: str = ""
    branch: str = ""
    permission: str = "Supervised"
    permission_warns: bool = False
    provider: str = ""
    model: str = ""
    reasoning: str = ""
    context_tokens: int | None = 0
    context_window: int | None = None
    cost: float | None = None
    rate: float | None = None
    signed_in: bool = True
    note: str = ""
    """Right side of the first row, such as a goal or `read only`."""


@dataclass(frozen=True, slots=True)
class StatusRow:
    """Runs at the left end and at the right end of a row."""

    left: tuple[Run, ...] = ()
    right: tuple[Run, ...] = ()


def layout_status(facts: StatusFacts, width: int) -> tuple[StatusRow, StatusRow]:
    """Both rows at `width` cells; neither is ever wider."""
    return _place_row(facts, width), _facts_row(facts, width)


def format_tokens(count: int) -> str:
    """Raw under a thousand, then one decimal K, then one decimal M (APP1.39)."""
    if count < 1000:
        return str(count)
    if count < 999_950:
        return f"{count / 1000:.1f}K"
    return f"{count / 1_000_000:.1f}M"


def format_money(dollars: float) -> str:
    """3 decimals under $10, 2 under $100, none above (APP1.39)."""
    if dollars < 9.9995:
        return f"${dollars:.3f}"
    if dollars < 99.995:
        return f"${dollars:.2f}"
    return f"${dollars:,.0f}"


def shorten_place(path: str, branch: str, width: int) -> str:
    """Path and branch in `width` cells; the last segment goes last (APP1.33)."""
    with_branch = f" ({branch})" if branch else ""
    for suffix in (with_branch, ""):
        for shown in _elided(path):
            if text_width(shown + suffix) <= width:
                return shown + suffix
        if not suffix:
            break
    return _crop_start(path.rstrip("/").rsplit("/", 1)[-1] or path, width)


def _elided(path: str) -> list[str]:
    parts = path.rstrip("/").split("/")
    shown = [path]
    for drop in range(1, len(parts)):
        shown.append("…/" + "/".join(parts[drop:]))
    return shown


def _crop_start(text: str, width: int) -> str:
    if text_width(text) <= width:
        return text
    if width <= 1:
        return "…"[: max(0, width)]
    backwards = text[::-1] if text.isascii() else ""
    if backwards:
        return "…" + text[-(width - 1) :]
    start = 0
    while text_width(text[start:]) > width - 1:
        start = cell_breaks(text[start:], 1)[0][1] + start
    return "…" + text[start:]


def _place_row(facts: StatusFacts, width: int) -> StatusRow:
    cwd = facts.cwd
    if facts.home and (cwd == facts.home or cwd.startswith(facts.home.rstrip("/") + "/")):
        cwd = "~" + cwd[len(facts.home.rstrip("/")) :]
    note = crop_cells(clean_line(facts.note), width // 2) if facts.note else ""
    room = width - (text_width(note) + _GAP if note else 0)
    place = shorten_place(clean_line(cwd), clean_line(facts.branch), max(0, room))
    return StatusRow(((place, "muted"),), ((note, "accent"),) if note else ())


def _facts_row(facts: StatusFacts, width: int) -> StatusRow:
    left, right = _left_fields(facts), _right_fields(facts)
    for name in ("", *_VANISH):
        left.pop(name, None)
        right.pop(name, None)
        row = StatusRow(_joined(left), _joined(right))
        if _row_width(row) <= width:
            return row
    for name in [*left, *right]:  # the last to drop when signed out: `not signed in`
        runs = left.get(name) or right.get(name)
        if runs and name == "signed out":
            return StatusRow((), ((crop_cells(runs[0], width), runs[1]),))
    return StatusRow()


def _left_fields(facts: StatusFacts) -> dict[str, Run]:
    fields: dict[str, Run] = {}
    tokens, window = facts.context_tokens, facts.context_window
    if tokens is None:
        fields["context"] = ("?", "warning")
    elif window:
        share = 100 * tokens / window
        style = "error" if share >= 90 else "warning" if share >= 75 else "muted"
        fields["context"] = (f"{format_tokens(tokens)} ({share:.1f}%)", style)
    else:
        fields["context"] = (format_tokens(tokens), "muted")
    if facts.cost is not None:
        fields["cost"] = (format_money(facts.cost), "muted")
    if facts.rate is not None:
        fields["rate"] = (f"{facts.rate:.0f} tok/s", "muted")
    return fields


def _right_fields(facts: StatusFacts) -> dict[str, Run]:
    fields: dict[str, Run] = {}
    if facts.permission:
        style = "warning" if facts.permission_warns else "muted"
        fields["permission"] = (clean_line(facts.permission), style)
    if not facts.signed_in:
        fields["signed out"] = ("not signed in", "warning")
        fields["provider"] = ("/login", "accent")
        return fields
    if facts.provider:
        fields["provider"] = (clean_line(facts.provider), "muted")
    if facts.model:
        fields["model"] = (clean_line(facts.model), "muted")
    if facts.reasoning:
        style = REASONING_COLOURS.get(facts.reasoning, "muted")
        fields["reasoning"] = (clean_line(facts.reasoning), style)
    return fields


def _joined(fields: dict[str, Run]) -> tuple[Run, ...]:
    runs: list[Run] = []
    for run in fields.values():
        if runs:
            runs.append((_SEPARATOR, "muted"))
        runs.append(run)
    return tuple(runs)


def _row_width(row: StatusRow) -> int:
    left = sum(text_width(text) for text, _ in row.left)
    right = sum(text_width(text) for text, _ in row.right)
    return left + right + (_GAP if left and right else 0)
