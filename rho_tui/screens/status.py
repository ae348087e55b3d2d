"""The facts of the status line that come from the configuration and the provider."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rho_tui.host.catalogue import ProviderChoice
from rho_tui.host.launch import Launch
from rho_tui.widgets.status_layout import StatusFacts

_MODE_LABELS = {
    "supervised": "Supervised",
    "allow_edits": "Allow edits",
    "plan": "Plan",
    "bypass": "Bypass",
}


def initial_status(launch: Launch) -> StatusFacts:
    """What is known before a provider is."""
    status = StatusFacts(
        cwd=str(launch.cwd), home=str(Path.home()), reasoning=launch.config.model.reasoning
    )
    return with_mode(status, launch.config.behavior.permission_mode)


def with_choice(status: StatusFacts, choice: ProviderChoice | None) -> StatusFacts:
    """The status under a provider, or signed out."""
    if choice is None:
        return replace(status, signed_in=False, provider="", model="")
    return replace(
        status,
        signed_in=True,
        provider=choice.label,
        model=choice.model,
        context_window=choice.context_window,
    )


def with_mode(status: StatusFacts, mode: str) -> StatusFacts:
    """The status under a permission mode."""
    return replace(
        status, permission=_MODE_LABELS.get(mode, mode), permission_warns=mode == "bypass"
    )
