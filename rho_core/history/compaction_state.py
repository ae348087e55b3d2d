"""What the compactions of a session added up to (B36, J13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rho_core.ids import Revision

_U64_MAX = 2**64 - 1


class CompactionFigures(Protocol):
    """The figures of one compaction, as its outcome has them."""

    @property
    def removed_messages(self) -> int: ...

    @property
    def removed_tokens(self) -> int: ...

    @property
    def previous_tokens(self) -> int: ...

    @property
    def current_tokens(self) -> int: ...

    @property
    def cost_usd_micros(self) -> int | None: ...

    @property
    def revision(self) -> Revision: ...


@dataclass(frozen=True, slots=True)
class CompactionState:
    """What compactions of a session added up to; part of its snapshot (B36, J13)."""

    completed_compactions: int = 0
    removed_messages: int = 0
    removed_tokens: int = 0
    removed_cost_usd_micros: int = 0
    last_previous_tokens: int | None = None
    last_current_tokens: int | None = None
    last_revision: Revision | None = None

    def after(self, outcome: CompactionFigures) -> CompactionState:
        """The state once `outcome` is committed; counters saturate at 64 bits."""
        return CompactionState(
            completed_compactions=_saturate(self.completed_compactions + 1),
            removed_messages=_saturate(self.removed_messages + outcome.removed_messages),
            removed_tokens=_saturate(self.removed_tokens + outcome.removed_tokens),
            removed_cost_usd_micros=_saturate(
                self.removed_cost_usd_micros + (outcome.cost_usd_micros or 0)
            ),
            last_previous_tokens=outcome.previous_tokens,
            last_current_tokens=outcome.current_tokens,
            last_revision=outcome.revision,
        )


def _saturate(value: int) -> int:
    return min(value, _U64_MAX)
